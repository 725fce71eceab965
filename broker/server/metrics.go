package server

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"pestle/broker/core"
)

// diskTimes is how long the journal's disk takes.
type diskTimes struct{ write, sync prometheus.Histogram }

// diskBuckets are the bounds of both histograms, in seconds: from a write into
// the page cache to a disk that should be replaced.
var diskBuckets = []float64{50e-6, 100e-6, 200e-6, 500e-6, 1e-3, 2e-3, 5e-3, 10e-3, 20e-3, 50e-3, 100e-3, 200e-3, 500e-3, 1}

func newDiskTimes() diskTimes {
	histogram := func(name, help string) prometheus.Histogram {
		return prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: diskBuckets})
	}
	return diskTimes{
		write: histogram("pestle_journal_write_seconds", "Time the operating system took for one write of the journal."),
		sync:  histogram("pestle_journal_sync_seconds", "Time the disk took to make the journal's writes durable."),
	}
}

// took observes the time since start.
func took(h prometheus.Observer, start time.Time) { h.Observe(time.Since(start).Seconds()) }

// metricsHandler is GET /metrics.
func (s *Server) metricsHandler() http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		collector{s}, s.disk.times.write, s.disk.times.sync, s.segments.vec,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
}

// collector asks the core for its statistics at every scrape, so that the
// numbers of one scrape fit together.
type collector struct{ server *Server }

// family is a metric's name and meaning.
type family struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
}

func gauge(name, help string, labels ...string) family {
	return family{prometheus.NewDesc("pestle_"+name, help, labels, nil), prometheus.GaugeValue}
}

func counter(name, help string, labels ...string) family {
	return family{prometheus.NewDesc("pestle_"+name+"_total", help, labels, nil), prometheus.CounterValue}
}

// The metrics of a node. Counts that the core keeps in replicated state go on
// over restarts; others begin anew with the process or with a new leader.
var (
	answered    = gauge("stats_answered", "1 when the broker gave its statistics for this scrape; without them only connections, peers, disk and process are told.")
	connections = gauge("connections", "Client connections open.")
	quarantined = gauge("quarantined", "1 when this node takes part in nothing and is to be replaced.")
	members     = gauge("cluster_members", "Nodes of the cluster, learners included.")

	topicMessages = counter("topic_messages", "Messages published since the topic was created.", "topic")
	topicBytes    = counter("topic_bytes", "Bytes of the bodies of these messages.", "topic")
	topicDepth    = gauge("topic_depth", "Messages of a topic without channels.", "topic")
	topicLeads    = gauge("topic_leads", "1 when this node leads the topic's group and dispatches its messages.", "topic")

	channelDepth    = gauge("channel_depth", "Messages that wait, without those in flight or deferred.", "topic", "channel")
	channelMessages = counter("channel_messages", "Messages the channel got.", "topic", "channel")
	channelFinished = gauge("channel_finished_below", "Every offset below it is finished.", "topic", "channel")
	channelInFlight = gauge("channel_in_flight", "Messages with consumers; told by the node that leads.", "topic", "channel")
	channelDeferred = gauge("channel_deferred", "Messages that are not due yet; told by the node that leads.", "topic", "channel")
	channelRequeues = counter("channel_requeues", "Messages given back by consumers.", "topic", "channel")
	channelTimeouts = counter("channel_timeouts", "Deliveries that were not answered in time.", "topic", "channel")
	channelClients  = gauge("channel_clients", "Consumers connected to this node.", "topic", "channel")

	groupRole    = gauge("group_role", "What this node is in the group: 0 follower, 1 candidate, 2 leader, 3 learner.", "group")
	groupState   = gauge("group_state", "What this node can say of the group: 0 healthy, 1 degraded, 2 read-only, 3 electing.", "group")
	groupTerm    = gauge("group_term", "Term of the group.", "group")
	groupLead    = gauge("group_leader", "Node that leads the group; 0: none known.", "group")
	groupFirst   = gauge("group_first_index", "First entry of the group's log in memory.", "group")
	groupCommit  = gauge("group_commit_index", "Last entry known to be committed.", "group")
	groupApplied = gauge("group_applied_index", "Last entry applied.", "group")
	groupLast    = gauge("group_last_index", "Last entry of the log.", "group")
	groupLag     = gauge("group_peer_lag", "Entries that a peer does not have on disk yet; told by the leader.", "group", "peer")
	groupActive  = gauge("group_peer_active", "1 when the leader heard of the peer within an election timeout; told by the leader.", "group", "peer")

	peerSentFrames     = counter("peer_sent_frames", "Frames for a peer that the network took.", "peer")
	peerSentBytes      = counter("peer_sent_bytes", "Bytes of these frames.", "peer")
	peerDropped        = counter("peer_dropped_frames", "Frames for a peer that were dropped: it cannot be reached, or does not keep up.", "peer")
	peerReceivedFrames = counter("peer_received_frames", "Frames that came from a peer.", "peer")
	peerReceivedBytes  = counter("peer_received_bytes", "Bytes of these frames.", "peer")
	peerConnects       = counter("peer_connects", "Connections made to a peer.", "peer")
)

// Describe tells nothing, which makes the registry check each scrape instead:
// labels come and go.
func (collector) Describe(chan<- *prometheus.Desc) {}

// Collect makes the metrics of one scrape.
func (c collector) Collect(out chan<- prometheus.Metric) {
	m := metrics(out)
	st, trouble := c.server.alive(context.Background())
	m.flag(answered, trouble == "")
	m.put(connections, float64(c.server.clients.Load()))
	c.peers(m)
	if trouble != "" {
		return
	}
	m.flag(quarantined, st.Quarantine != "")
	m.put(members, float64(len(st.Cluster)))
	for i := range st.Topics {
		m.topic(&st.Topics[i])
	}
	for i := range st.Groups {
		m.group(&st.Groups[i])
	}
}

func (c collector) peers(m metrics) {
	for _, p := range c.server.peers.Stats() {
		peer := strconv.FormatUint(p.Node, 10)
		m.put(peerSentFrames, float64(p.SentFrames), peer)
		m.put(peerSentBytes, float64(p.SentBytes), peer)
		m.put(peerDropped, float64(p.DroppedFrames), peer)
		m.put(peerReceivedFrames, float64(p.ReceivedFrames), peer)
		m.put(peerReceivedBytes, float64(p.ReceivedBytes), peer)
		m.put(peerConnects, float64(p.Connects), peer)
	}
}

// metrics is where a scrape's metrics go.
type metrics chan<- prometheus.Metric

func (m metrics) put(f family, value float64, labels ...string) {
	m <- prometheus.MustNewConstMetric(f.desc, f.kind, value, labels...)
}

func (m metrics) flag(f family, set bool, labels ...string) {
	value := 0.0
	if set {
		value = 1
	}
	m.put(f, value, labels...)
}

func (m metrics) topic(t *core.TopicStats) {
	m.put(topicMessages, float64(t.MessageCount), t.Name)
	m.put(topicBytes, float64(t.MessageBytes), t.Name)
	m.put(topicDepth, float64(t.Depth), t.Name)
	m.flag(topicLeads, t.Leads, t.Name)
	for i := range t.Channels {
		m.channel(t, &t.Channels[i])
	}
}

func (m metrics) channel(t *core.TopicStats, ch *core.ChannelStats) {
	m.put(channelDepth, float64(ch.Depth), t.Name, ch.Name)
	m.put(channelMessages, float64(ch.MessageCount), t.Name, ch.Name)
	m.put(channelFinished, float64(ch.FinishedBelow), t.Name, ch.Name)
	m.put(channelRequeues, float64(ch.RequeueCount), t.Name, ch.Name)
	m.put(channelTimeouts, float64(ch.TimeoutCount), t.Name, ch.Name)
	m.put(channelClients, float64(len(ch.Clients)), t.Name, ch.Name)
	if t.Leads {
		m.put(channelInFlight, float64(ch.InFlight), t.Name, ch.Name)
		m.put(channelDeferred, float64(ch.Deferred), t.Name, ch.Name)
	}
}

func (m metrics) group(g *core.GroupStats) {
	group := groupName(g.Group)
	m.put(groupRole, float64(g.Role), group)
	m.put(groupState, float64(g.State), group)
	m.put(groupTerm, float64(g.Term), group)
	m.put(groupLead, float64(g.Lead), group)
	m.put(groupFirst, float64(g.First), group)
	m.put(groupCommit, float64(g.Commit), group)
	m.put(groupApplied, float64(g.Applied), group)
	m.put(groupLast, float64(g.Last), group)
	for _, p := range g.Peers {
		peer := strconv.FormatUint(p.Node, 10)
		m.put(groupLag, float64(g.Last)-float64(p.Match), group, peer)
		m.flag(groupActive, p.Active, group, peer)
	}
}
