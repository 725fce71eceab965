package checker

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pestle/history"
)

// clustered is the clean run with a cluster of three: broker-1 leads until it
// is killed at 300, then broker-2 does. Each consumer is connected to all.
var clustered = clean + script(`
25   o1 connected target=broker-1
25   o1 connected target=broker-2
25   o1 connected target=broker-3
25   s1 connected target=broker-1
25   s1 connected target=broker-2
25   s1 connected target=broker-3
25   s2 connected target=broker-1
25   s2 connected target=broker-2
25   s2 connected target=broker-3
301  o1 disconnected target=broker-1
301  s1 disconnected target=broker-1
301  s2 disconnected target=broker-1
1202 o1 connected target=broker-1
1202 o1 connected target=broker-2
1202 o1 connected target=broker-3
`)

// inCluster returns the history of an edited run of the cluster. Lines about
// deliveries that do not say which broker they came from are the leader's;
// connections that do not are to broker-1, which comes back at 600.
func inCluster(t *testing.T, edits ...string) []history.Event {
	t.Helper()
	const failover = (1000 + 300) * 1e6
	events := clustered.edit(t, edits...).events(t)
	for i := range events {
		e := &events[i]
		switch {
		case e.Target != "":
		case e.Pos != "" && e.T < failover, e.What == history.NoteConnected, e.What == history.NoteDisconnected:
			e.Target = "broker-1"
		case e.Pos != "":
			e.Target = "broker-2"
		}
	}
	return events
}

// isolated are edits that cut broker-1 off instead of killing it. It delivers
// p1-60 to p1-62, which were acked before, and takes the finish of p1-60, until
// it gives up at 550. Meanwhile broker-2 has taken over and acks p1-63 and
// p1-64; o1 reaches it only at 512.
var isolated = []string{
	"- 300 h fault kill broker-1 effective 1", "- 600 h fault kill broker-1 ended 1",
	"+ 300 h fault partition broker-1 effective 1", "+ 600 h fault partition broker-1 ended 1",
	"- 301 o1 disconnected target=broker-1", "+ 550 o1 disconnected target=broker-1",
	"+ 270 p1 attempt 60", "+ 271 p1 ack 60", "+ 272 p1 attempt 61", "+ 273 p1 ack 61", "+ 274 p1 attempt 62", "+ 275 p1 ack 62",
	"+ 310 o1 consume p1-60 @60 target=broker-1", "+ 310 o1 finish p1-60 @60 target=broker-1",
	"+ 311 o1 consume p1-61 @61 target=broker-1", "+ 312 o1 consume p1-62 @62 target=broker-1",
	"+ 490 p1 attempt 63", "+ 491 p1 ack 63", "+ 492 p1 attempt 64", "+ 493 p1 ack 64",
	"+ 505 o1 disconnected target=broker-2", "+ 512 o1 connected target=broker-2",
	"+ 513 o1 consume p1-60 @60", "+ 514 o1 consume p1-61 @61", "+ 515 o1 consume p1-62 @62",
	"+ 610 o1 consume p1-63 @63", "+ 611 o1 consume p1-64 @64",
	"+ 512 s1 consume p1-60 @60", "+ 512 s1 consume p1-61 @61", "+ 512 s1 consume p1-62 @62",
	"+ 513 s1 consume p1-63 @63", "+ 514 s1 consume p1-64 @64",
}

// forgotten is a delivery of what broker-1 had proven final, by broker-2.
const forgotten = "+ 604 o1 consume p1-1 @1 attempts=2"

// clusterRuns are saved in testdata/cluster.
var clusterRuns = []struct {
	name  string
	slug  string // the property that fails; no other does; empty: none does
	edits []string
}{
	{"failover", "", nil},
	{"acked-message-lost-in-a-failover", NoDataLoss, []string{"- 610 o1 consume p1-2 @3"}},
	{"refused-read-only-yet-seen", DeliveryGuarantee, []string{
		"- 311 p1 fail 3", "+ 311 p1 fail 3 text=READ_ONLY_DEGRADED", "- 640 p1 attempt 3", "- 645 p1 ack 3", "+ 645 p1 gave-up 3"}},
	{"finish-forgotten-by-a-new-leader", AckFinality, []string{forgotten}},
	{"finish-lost-with-an-isolated-leader", "", isolated},
}

func TestClusterRuns(t *testing.T) {
	cfg := testConfig()
	cfg.FaultKinds = nil
	for _, test := range clusterRuns {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join("testdata", "cluster", test.name+".ndjson")
			scripted := inCluster(t, test.edits...)
			if *update {
				var file []byte
				for _, e := range scripted {
					file = history.AppendLine(file, e)
				}
				if err := os.WriteFile(path, file, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			events := readHistory(t, path)
			if diff := cmp.Diff(scripted, events); diff != "" {
				t.Errorf("%s differs from its script; run go test ./checker -update (-script +file):\n%s", path, diff)
			}
			v := judge(t, cfg, events)
			for _, p := range v.Properties {
				want := Pass
				if p.Slug == test.slug {
					want = Fail
				}
				if p.Status != want {
					t.Errorf("%s: %s, want %s", p.Slug, p.Status, want)
				}
			}
			if t.Failed() {
				t.Log(explain(v))
			}
		})
	}
}

// TestFinalityInACluster: p1-1 was proven final by broker-1 at 258.
func TestFinalityInACluster(t *testing.T) {
	for _, test := range []struct {
		name  string
		edits []string
		total int64
	}{
		{"the new leader forgot it, as a later message of its tenure shows", []string{forgotten}, 1},
		{"each time", []string{forgotten, "+ 605 o1 consume p1-1 @1 attempts=3"}, 2},
		{"nothing shows that the other broker is not a leader of old", []string{forgotten, "+ 606 o1 connected target=broker-2"}, 0},
		{"not even that it is connected anew", []string{"+ 603 o1 connected target=broker-2", forgotten, "+ 606 o1 connected target=broker-2"}, 0},
		{"what shows it came before", []string{"+ 614 o1 consume p1-1 @1 attempts=2", "+ 615 o1 connected target=broker-2"}, 1},
		{"another broker's later message does not show it", []string{"+ 604 o1 consume p1-1 @1 attempts=2 target=broker-3"}, 0},
		{"its own does", []string{"+ 604 o1 consume p1-1 @1 attempts=2 target=broker-3", "+ 700 o1 consume p1-2 @3 attempts=2 target=broker-3"}, 1},

		{"the broker of the proof, on its old connection, with nothing newer", []string{
			"+ 290 o1 consume p1-1 @1 attempts=2", "+ 298 o1 consume p1-53 @43", "+ 287 p1 attempt 53 defer=1", "+ 288 p1 ack 53", "+ 298 s1 consume p1-53 @43"}, 0},
		{"the broker of the proof, on its old connection, behind something newer", []string{
			"+ 299 o1 consume p1-1 @1 attempts=2", "+ 298 o1 consume p1-53 @43", "+ 287 p1 attempt 53 defer=1", "+ 288 p1 ack 53", "+ 298 s1 consume p1-53 @43"}, 1},
		{"the broker of the proof, on its old connection, behind something newer and something older", []string{
			"+ 299 o1 consume p1-1 @1 attempts=2", "+ 297 o1 consume p1-53 @43", "+ 287 p1 attempt 53 defer=1", "+ 288 p1 ack 53", "+ 298 s1 consume p1-53 @43",
			"- 265 o1 consume p2-51 @41", "+ 298 o1 consume p2-51 @41"}, 1},
		{"the broker of the proof, on a new connection", []string{"+ 604 o1 consume p1-1 @1 attempts=2 target=broker-1"}, 1},

		{"proven by deliveries of two brokers", []string{"- 258 o1 consume p1-54 @44", "+ 258 o1 consume p1-54 @44 target=broker-2", forgotten}, 0},
		{"served by deliveries of two brokers", []string{"- 153 o1 consume p1-50 @40", "+ 153 o1 consume p1-50 @40 target=broker-2", forgotten}, 0},
		{"the finisher is connected anew to another broker", []string{"+ 160 o1 connected target=broker-2", forgotten}, 1},
		{"the finisher is connected anew to the broker", []string{"+ 160 o1 connected target=broker-1", forgotten}, 0},
		{"another broker's clock was wrong", []string{"+ 160 h fault clock-freeze broker-2 effective 9", "+ 235 h fault clock-freeze broker-2 ended 9", forgotten}, 1},
		{"the broker's clock was wrong", []string{"+ 160 h fault clock-freeze broker-1 effective 9", "+ 235 h fault clock-freeze broker-1 ended 9", forgotten}, 0},
	} {
		v := judge(t, testConfig(), inCluster(t, test.edits...))
		if p := v.property(t, AckFinality); p.Total != test.total {
			t.Errorf("%s: %d violations, want %d\n%s", test.name, p.Total, test.total, explain(v))
		}
	}
}

// TestFinalityNeedsAnEndOrATakeover of the broker that delivers: what befalls
// the others is no exposure, nor does it ask for some.
func TestFinalityNeedsAnEndOrATakeover(t *testing.T) {
	noKill := []string{"- 300 h fault kill broker-1 effective 1", "- 600 h fault kill broker-1 ended 1"}
	for name, test := range map[string]struct {
		edits  []string
		leader string // in the place of broker-2
		before int64
		status Status
	}{
		"the leader ends":           {nil, "broker-1", 1, Pass},
		"another takes over":        {noKill, "broker-2", 1, Pass},
		"both":                      {nil, "broker-2", 1, Pass},
		"a follower ends":           {append(noKill, "+ 300 h exited broker-3"), "broker-1", 0, Pass},
		"the leader ends too early": {[]string{"- 103 o1 finish p1-1 @1", "+ 1211 o1 finish p2-5 @9"}, "broker-2", 0, Inconclusive},
	} {
		events := inCluster(t, test.edits...)
		for i := range events {
			if events[i].Pos != "" && events[i].Target == "broker-2" {
				events[i].Target = test.leader
			}
		}
		p := judge(t, testConfig(), events).property(t, AckFinality)
		if got := p.Exposure["finishes proven durable before their broker ended or another took over"]; got != test.before || p.Status != test.status {
			t.Errorf("%s: %d proven before, %s, want %d, %s", name, got, p.Status, test.before, test.status)
		}
	}
}

// TestWhatExplainsADuplicateInACluster: p1-70, which broker-2 delivered, comes
// again, from the same broker or from another.
func TestWhatExplainsADuplicateInACluster(t *testing.T) {
	const (
		same  = "+ 6120 s2 consume p1-70 @50 attempts=2"
		other = "+ 6120 s2 consume p1-70 @50 attempts=2 target=broker-3"
	)
	fault := func(kind, target string) []string {
		return []string{"+ 6105 h fault " + kind + " " + target + " effective 9", "+ 6110 h fault " + kind + " " + target + " ended 9"}
	}
	for _, test := range []struct {
		name  string
		again string
		edits []string
		total int64
	}{
		{"no cause", same, nil, 1},
		{"no cause, another broker", other, nil, 1},
		{"a fault on the broker", same, fault("kill", "broker-2"), 0},
		{"a fault on a follower", same, fault("kill", "broker-1"), 1},
		{"a fault on the broker before", other, fault("pause", "broker-2"), 0},
		{"a fault on the broker after", other, fault("pause", "broker-3"), 0},
		{"a fault on the third broker", other, fault("pause", "broker-1"), 1},
		{"a fault of the network on a follower", same, fault("partition", "broker-1"), 0},
		{"the broker's unasked exit", same, []string{"+ 6110 h exited broker-2"}, 0},
		{"a follower's unasked exit", same, []string{"+ 6110 h exited broker-3"}, 1},
		{"its connection is lost", same, []string{"+ 6110 s1 disconnected target=broker-2"}, 0},
		{"a follower's connection is lost", same, []string{"+ 6110 s1 disconnected target=broker-1"}, 1},
		{"its connection is lost a little later", same, []string{"+ 7119 s1 disconnected target=broker-2"}, 0},
		{"its connection is lost much later", same, []string{"+ 7121 s1 disconnected target=broker-2"}, 1},
		{"the old leader hears of nothing for a while", other, []string{"+ 11119 s1 disconnected target=broker-2"}, 0},
		{"but not for so long", other, []string{"+ 11121 s1 disconnected target=broker-2"}, 1},
		{"the old leader delivers what the new one has delivered", other, []string{"+ 6900 s1 disconnected target=broker-3"}, 0},
		{"the consumer is killed", same, fault("kill", "consumer-shared-1"), 0},
		{"a broker that nobody named", "+ 6120 s2 consume p1-70 @50 attempts=2 target=127.0.0.1:4150", fault("kill", "broker-1"), 0},
	} {
		edits := append([]string{
			"+ 6100 p1 attempt 70", "+ 6101 p1 ack 70", "+ 6102 o1 consume p1-70 @50", "+ 6103 s1 consume p1-70 @50",
			"- 9100 h phase end", "+ 13000 h phase end", test.again}, test.edits...)
		v := judge(t, testConfig(), inCluster(t, edits...))
		if p := v.property(t, DeliveryGuarantee); p.Total != test.total {
			t.Errorf("%s: %d violations, want %d\n%s", test.name, p.Total, test.total, explain(v))
		}
	}
}

// TestDueTimesInACluster: p1-70 is sent at 6100 to be held back until 6200, and
// comes at 6150 from broker-2, which has led all the time, or from broker-3.
func TestDueTimesInACluster(t *testing.T) {
	const steady, takeover = "broker-2", "broker-3"
	jump := func(broker, from, to string) []string {
		return []string{"+ " + from + " h fault clock-jump " + broker + " effective 9", "+ " + to + " h fault clock-jump " + broker + " ended 9"}
	}
	for _, test := range []struct {
		name  string
		from  string
		edits []string
		total int64
	}{
		{"clocks are right", steady, nil, 1},
		{"clocks are right, another leads", takeover, nil, 1},
		{"its clock was wrong", steady, jump("broker-2", "6110", "6120"), 0},
		{"its clock was wrong until it was sent", steady, jump("broker-2", "6010", "6100"), 0},
		{"its clock was wrong before", steady, jump("broker-2", "6010", "6020"), 1},
		{"another clock was wrong", steady, jump("broker-3", "6110", "6120"), 1},
		{"another clock was wrong, and that one leads", takeover, jump("broker-3", "6110", "6120"), 0},
		{"a clock was wrong before the other took over", takeover, jump("broker-1", "5010", "5020"), 0},
		{"it took over only to deliver what was sent before", takeover, append(jump("broker-1", "5010", "5020"),
			"+ 6090 p1 attempt 71 defer=1", "+ 6091 p1 ack 71", "+ 6120 o1 consume p1-71 @51 target=broker-3", "+ 6120 s1 consume p1-71 @51 target=broker-3"), 0},
		{"it led before", takeover, append(jump("broker-1", "5010", "5020"),
			"+ 6090 p1 attempt 71 defer=1", "+ 6091 p1 ack 71", "+ 6095 o1 consume p1-71 @51 target=broker-3", "+ 6095 s1 consume p1-71 @51 target=broker-3"), 1},
	} {
		edits := append([]string{
			"+ 6100 p1 attempt 70 defer=100", "+ 6101 p1 ack 70",
			"+ 6150 o1 consume p1-70 @50 target=" + test.from, "+ 6250 s1 consume p1-70 @50",
		}, test.edits...)
		v := judge(t, testConfig(), inCluster(t, edits...))
		if p := v.property(t, NotEarly); p.Total != test.total {
			t.Errorf("%s: %d violations, want %d\n%s", test.name, p.Total, test.total, explain(v))
		}
	}
}

// TestDelayOfARequeueInACluster: p1-70, sent at 6100, is given back to broker-2
// at 6104 for half a second, and comes at 6300.
func TestDelayOfARequeueInACluster(t *testing.T) {
	const again = "+ 6300 s1 consume p1-70 @50 attempts=2"
	for _, test := range []struct {
		name  string
		again string
		edits []string
		total int64
	}{
		{"nothing else happens", again, nil, 1},
		{"another broker delivers it", again + " target=broker-3", nil, 0},
		{"a fault on a follower", again, []string{"+ 6110 h fault pause broker-1 effective 9", "+ 6111 h fault pause broker-1 ended 9"}, 1},
		{"a follower ends by itself", again, []string{"+ 6110 h exited broker-1"}, 1},
		{"a follower's clock was wrong", again, []string{"+ 6110 h fault clock-jump broker-1 effective 9", "+ 6111 h fault clock-jump broker-1 ended 9"}, 1},
		{"a fault on the broker that is over before", again, []string{"+ 6090 h fault pause broker-2 effective 9", "+ 6099 h fault pause broker-2 ended 9"}, 1},
		{"a fault on the broker", again, []string{"+ 6110 h fault pause broker-2 effective 9", "+ 6111 h fault pause broker-2 ended 9"}, 0},
		{"a fault of the network on a follower", again, []string{"+ 6110 h fault cut broker-1 effective 9", "+ 6111 h fault cut broker-1 ended 9"}, 0},
		{"the connection to the broker is lost", again, []string{"+ 6310 s1 disconnected target=broker-2"}, 0},
		{"a connection to a follower is lost", again, []string{"+ 6310 s1 disconnected target=broker-1"}, 1},
		{"nobody knows who led, and a follower had a fault", again, []string{
			"+ 6099 s1 connected target=broker-2", "+ 6110 h fault pause broker-1 effective 9", "+ 6111 h fault pause broker-1 ended 9"}, 0},
	} {
		edits := append([]string{
			"+ 6100 p1 attempt 70", "+ 6101 p1 ack 70", "+ 6102 o1 consume p1-70 @50", "+ 6103 s1 consume p1-70 @50",
			"+ 6104 s1 requeue p1-70 @50 defer=500", test.again}, test.edits...)
		v := judge(t, testConfig(), inCluster(t, edits...))
		if p := v.property(t, NotEarly); p.Total != test.total {
			t.Errorf("%s: %d violations, want %d\n%s", test.name, p.Total, test.total, explain(v))
		}
	}
}

// TestFoldedMessagesKeepTheirBroker: what a settled message came from is
// known when it comes again.
func TestFoldedMessagesKeepTheirBroker(t *testing.T) {
	for follower, total := range map[string]int64{"broker-1": 1, "broker-2": 0} {
		v := judge(t, testConfig(), inCluster(t, "+ 6500 s2 consume p1-7 @12 attempts=2", "+ 6400 h exited "+follower))
		if p := v.property(t, DeliveryGuarantee); p.Total != total {
			t.Errorf("%s ended: %d violations, want %d\n%s", follower, p.Total, total, explain(v))
		}
	}
}

// A broker whose number does not fit counts as any.
func TestBrokerNumbers(t *testing.T) {
	b := brokerNumbers{}
	for i := range maxBrokers {
		if got := b.of("broker-" + strings.Repeat("1", i+1)); got != i+1 {
			t.Fatalf("broker %d has number %d", i+1, got)
		}
	}
	for _, name := range []string{"", "127.0.0.1:4150", "consumer-shared-1", "broker-", "broker-2"} {
		if got := b.of(name); got != anyBroker {
			t.Errorf("%q has number %d", name, got)
		}
	}
}
