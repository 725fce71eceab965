package server

import (
	"fmt"
	"runtime"
	"strings"
	"time"
)

// text is the form of the statistics for a terminal: nsqd's layout, which
// people have scripts for.
func (st *statsJSON) text(now time.Time) string {
	var b strings.Builder
	start := time.Unix(st.StartTime, 0)
	fmt.Fprintf(&b, "nsqd v%s (built w/%s)\n", st.Version, runtime.Version())
	fmt.Fprintf(&b, "start_time %s\n", start.Format(time.RFC3339))
	fmt.Fprintf(&b, "uptime %s\n", now.Sub(start).Truncate(time.Second))
	fmt.Fprintf(&b, "\nHealth: %s\n", st.Health)
	if m := st.Memory; m != nil {
		b.WriteString("\nMemory:\n")
		for _, row := range []struct {
			name  string
			value uint64
		}{
			{"heap_objects", m.HeapObjects},
			{"heap_idle_bytes", m.HeapIdleBytes},
			{"heap_in_use_bytes", m.HeapInUseBytes},
			{"heap_released_bytes", m.HeapReleasedBytes},
			{"gc_pause_usec_100", m.GCPauseUsec100},
			{"gc_pause_usec_99", m.GCPauseUsec99},
			{"gc_pause_usec_95", m.GCPauseUsec95},
			{"next_gc_bytes", m.NextGCBytes},
			{"gc_total_runs", uint64(m.GCTotalRuns)},
		} {
			fmt.Fprintf(&b, "   %-25s\t%d\n", row.name, row.value)
		}
	}
	b.WriteString(heading("Topics", len(st.Topics)))
	for _, t := range st.Topics {
		t.text(&b, now)
	}
	b.WriteString(heading("Producers", len(st.Producers)))
	for _, c := range st.Producers {
		c.text(&b, now)
	}
	st.clusterText(&b)
	return b.String()
}

// clusterText is not nsqd's, and behind all that is.
func (st *statsJSON) clusterText(b *strings.Builder) {
	b.WriteString(heading("Groups", len(st.Groups)))
	for _, g := range st.Groups {
		fmt.Fprintf(b, "   [%-15s] %-9s %-9s term: %-5d leader: %-3d first: %-8d commit: %-8d applied: %-8d last: %-8d\n",
			g.Name(), g.Role, g.State, g.Term, g.Lead, g.First, g.Commit, g.Applied, g.Last)
	}
	fmt.Fprintf(b, "\nNode: %d\n", st.Node)
	if st.Quarantine != "" {
		fmt.Fprintf(b, "Quarantine: %s\n", st.Quarantine)
	}
}

func heading(what string, count int) string {
	if count == 0 {
		return "\n" + what + ": None\n"
	}
	return "\n" + what + ":\n"
}

func (t *topicJSON) text(b *strings.Builder, now time.Time) {
	fmt.Fprintf(b, "   [%-15s] depth: %-5d be-depth: %-5d msgs: %-8d e2e%%: \n",
		t.Name, t.Depth, t.BackendDepth, t.MessageCount)
	for _, c := range t.Channels {
		fmt.Fprintf(b, "      [%-25s] depth: %-5d be-depth: %-5d inflt: %-4d def: %-4d re-q: %-5d timeout: %-5d msgs: %-8d e2e%%: \n",
			c.Name, c.Depth, c.BackendDepth, c.InFlight, c.Deferred, c.RequeueCount, c.TimeoutCount, c.MessageCount)
		for _, client := range c.Clients {
			client.text(b, now)
		}
	}
}

func (c *clientJSON) text(b *strings.Builder, now time.Time) {
	fmt.Fprintf(b, "        [%s %-21s] state: %d inflt: %-4d rdy: %-4d fin: %-8d re-q: %-8d msgs: %-8d connected: %s\n",
		c.Version, c.ClientID, c.State, c.InFlightCount, c.ReadyCount, c.FinishCount, c.RequeueCount, c.MessageCount,
		now.Sub(time.Unix(c.ConnectTime, 0)).Truncate(time.Second))
}
