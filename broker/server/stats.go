package server

import (
	"net/http"
	"runtime"
	"slices"
	"time"

	"pestle/broker/core"
)

// The JSON of GET /stats: NSQ's keys in NSQ's order, for its own admin page
// and every script that reads it. What this broker does not have (pausing,
// sampling, compression, a disk queue beside a memory queue) is there with
// its zero value. What NSQ does not have comes last.

type statsJSON struct {
	Version   string       `json:"version"`
	Health    string       `json:"health"`
	StartTime int64        `json:"start_time"` // s since the epoch
	Topics    []topicJSON  `json:"topics"`     // null for a topic that does not exist, [] when there is none
	Memory    *memoryJSON  `json:"memory,omitempty"`
	Producers []clientJSON `json:"producers"`

	Node       uint64        `json:"node"`
	Quarantine string        `json:"quarantine,omitempty"` // why this node takes part in nothing
	Groups     []GroupStatus `json:"groups"`
}

type topicJSON struct {
	Name         string        `json:"topic_name"`
	Channels     []channelJSON `json:"channels"`
	Depth        int64         `json:"depth"`
	BackendDepth int64         `json:"backend_depth"`
	MessageCount int64         `json:"message_count"`
	MessageBytes int64         `json:"message_bytes"`
	Paused       bool          `json:"paused"`
	Latency      latencyJSON   `json:"e2e_processing_latency"`
	Group        uint32        `json:"group"`
	Leads        bool          `json:"leads"` // this node leads the group: only then in flight and deferred counts are known
}

type channelJSON struct {
	Name          string       `json:"channel_name"`
	Depth         int64        `json:"depth"` // without what is in flight or deferred
	BackendDepth  int64        `json:"backend_depth"`
	InFlight      int64        `json:"in_flight_count"`
	Deferred      int64        `json:"deferred_count"`
	MessageCount  int64        `json:"message_count"`
	RequeueCount  int64        `json:"requeue_count"`
	TimeoutCount  int64        `json:"timeout_count"`
	ClientCount   int          `json:"client_count"`
	Clients       []clientJSON `json:"clients"` // null when not asked for
	Paused        bool         `json:"paused"`
	Latency       latencyJSON  `json:"e2e_processing_latency"`
	FinishedBelow int64        `json:"finished_below"` // not NSQ's: every offset below it is finished
}

type latencyJSON struct {
	Count       int        `json:"count"`
	Percentiles []struct{} `json:"percentiles"` // null: not measured
}

type clientJSON struct {
	ClientID       string `json:"client_id"`
	Hostname       string `json:"hostname"`
	Version        string `json:"version"`
	RemoteAddress  string `json:"remote_address"`
	State          int    `json:"state"`
	ReadyCount     int64  `json:"ready_count"`
	InFlightCount  int64  `json:"in_flight_count"`
	MessageCount   int64  `json:"message_count"`
	FinishCount    int64  `json:"finish_count"`
	RequeueCount   int64  `json:"requeue_count"`
	ConnectTime    int64  `json:"connect_ts"` // s since the epoch
	SampleRate     int    `json:"sample_rate"`
	Deflate        bool   `json:"deflate"`
	Snappy         bool   `json:"snappy"`
	UserAgent      string `json:"user_agent"`
	TopologyZone   string `json:"topology_zone"`
	TopologyRegion string `json:"topology_region"`

	TLS                           bool   `json:"tls"`
	TLSCipherSuite                string `json:"tls_cipher_suite"`
	TLSVersion                    string `json:"tls_version"`
	TLSNegotiatedProtocol         string `json:"tls_negotiated_protocol"`
	TLSNegotiatedProtocolIsMutual bool   `json:"tls_negotiated_protocol_is_mutual"`
}

type memoryJSON struct {
	HeapObjects       uint64 `json:"heap_objects"`
	HeapIdleBytes     uint64 `json:"heap_idle_bytes"`
	HeapInUseBytes    uint64 `json:"heap_in_use_bytes"`
	HeapReleasedBytes uint64 `json:"heap_released_bytes"`
	GCPauseUsec100    uint64 `json:"gc_pause_usec_100"`
	GCPauseUsec99     uint64 `json:"gc_pause_usec_99"`
	GCPauseUsec95     uint64 `json:"gc_pause_usec_95"`
	NextGCBytes       uint64 `json:"next_gc_bytes"`
	GCTotalRuns       uint32 `json:"gc_total_runs"`
}

// stats is GET /stats, as JSON or as text.
func (s *Server) stats(r *http.Request) (any, error) {
	values, err := parameters(r)
	if err != nil {
		return nil, err
	}
	topic := values.Get("topic")
	reply, err := s.ask(r.Context(), core.Request{
		Kind: core.ReqStats, Topic: topic, Channel: values.Get("channel"),
	})
	if err != nil {
		return nil, err
	}
	out := s.describe(reply.Stats, topic, flag(values, "include_clients", true, true))
	if flag(values, "include_mem", true, true) {
		out.Memory = readMemory()
	}
	if values.Get("format") == "json" {
		return out, nil
	}
	return out.text(time.Now()), nil
}

// describe turns the core's snapshot into NSQ's words.
func (s *Server) describe(st *core.Stats, filter string, clients bool) statsJSON {
	out := statsJSON{
		Version: s.limits.Version, Health: st.Health, StartTime: s.started.Unix(),
		Node: st.Node, Quarantine: st.Quarantine, Groups: describeGroups(st.Groups),
	}
	if len(st.Topics) > 0 || filter == "" {
		out.Topics = make([]topicJSON, 0, len(st.Topics))
	}
	for _, t := range st.Topics {
		out.Topics = append(out.Topics, describeTopic(t, clients))
	}
	if clients {
		out.Producers = describeClients(st.Producers)
	}
	return out
}

func describeTopic(t core.TopicStats, clients bool) topicJSON {
	out := topicJSON{
		Name: t.Name, Channels: make([]channelJSON, 0, len(t.Channels)),
		Depth: t.Depth, MessageCount: t.MessageCount, MessageBytes: t.MessageBytes,
		Group: t.Group, Leads: t.Leads,
	}
	for _, c := range t.Channels {
		channel := channelJSON{
			Name: c.Name, Depth: c.Depth, InFlight: c.InFlight, Deferred: c.Deferred,
			MessageCount: c.MessageCount, RequeueCount: c.RequeueCount, TimeoutCount: c.TimeoutCount,
			ClientCount: len(c.Clients), FinishedBelow: c.FinishedBelow,
		}
		if clients {
			channel.Clients = append([]clientJSON{}, describeClients(c.Clients)...)
		}
		out.Channels = append(out.Channels, channel)
	}
	return out
}

func describeClients(clients []core.ClientStats) []clientJSON {
	var out []clientJSON
	for _, c := range clients {
		out = append(out, clientJSON{
			ClientID: c.ClientID, Hostname: c.Hostname, Version: "V2", RemoteAddress: c.RemoteAddress,
			State: c.State, ReadyCount: c.Ready, InFlightCount: c.InFlight,
			MessageCount: c.MessageCount, FinishCount: c.FinishCount, RequeueCount: c.RequeueCount,
			ConnectTime: c.ConnectedWall / int64(time.Second), UserAgent: c.UserAgent,
		})
	}
	return out
}

func readMemory() *memoryJSON {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	pauses := m.PauseNs[:min(int(m.NumGC), len(m.PauseNs))] // a ring: its order does not matter here
	slices.Sort(pauses)
	return &memoryJSON{
		HeapObjects: m.HeapObjects, HeapIdleBytes: m.HeapIdle, HeapInUseBytes: m.HeapInuse,
		HeapReleasedBytes: m.HeapReleased, NextGCBytes: m.NextGC, GCTotalRuns: m.NumGC,
		GCPauseUsec100: percentile(pauses, 100) / 1000,
		GCPauseUsec99:  percentile(pauses, 99) / 1000,
		GCPauseUsec95:  percentile(pauses, 95) / 1000,
	}
}

// percentile returns the smallest value that p % of the sorted values do not
// exceed; 0 of none.
func percentile(sorted []uint64, p int) uint64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[max(0, (len(sorted)*p+99)/100-1)]
}
