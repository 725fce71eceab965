package reports

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pestle/faults"
	"pestle/history"
	"pestle/scenarios"
)

// clusterPlan has a kill of the leader, of a named broker and a pause of the
// leader.
func clusterPlan() scenarios.Plan {
	return scenarios.Plan{Faults: []faults.Fault{
		{Ref: 1, Kind: faults.Kill, Target: faults.Leader},
		{Ref: 2, Kind: faults.Kill, Target: "broker-2"},
		{Ref: 3, Kind: faults.Pause, Target: faults.Leader},
		{Ref: 4, Kind: faults.Kill, Target: faults.Leader},
	}}
}

func TestFailovers(t *testing.T) {
	fault := func(t int64, ref int, edge string) history.Event {
		return history.Event{T: t, Ev: history.Fault, Ref: ref, What: "kill", Target: fmt.Sprintf("broker-%d", ref), Edge: edge}
	}
	send := func(t int64, ev history.Kind, id string, try int) history.Event {
		return history.Event{T: t, Ev: ev, ID: id, Try: try}
	}
	for name, c := range map[string]struct {
		events []history.Event
		want   []Failover
	}{
		"no fault": {[]history.Event{send(1, history.Attempt, "a", 1), send(2, history.Ack, "a", 1)}, nil},
		"the ack of a send that was under way proves nothing": {[]history.Event{
			send(90, history.Attempt, "a", 1), fault(100, 1, history.EdgeEffective), send(105, history.Attempt, "b", 1),
			send(110, history.Ack, "a", 1), send(150, history.Ack, "b", 1), send(160, history.Attempt, "c", 1), send(170, history.Ack, "c", 1),
		}, []Failover{{1, "broker-1", 50}}},
		"another try of it does": {[]history.Event{
			send(90, history.Attempt, "a", 1), fault(100, 1, history.EdgeEffective), send(110, history.Unknown, "a", 1),
			send(120, history.Attempt, "a", 2), send(190, history.Ack, "a", 2),
		}, []Failover{{1, "broker-1", 90}}},
		"other faults are no failover": {[]history.Event{
			fault(100, 2, history.EdgeEffective), fault(101, 3, history.EdgeEffective), fault(102, 9, history.EdgeEffective), fault(103, 1, history.EdgeEnded),
			send(110, history.Attempt, "a", 1), send(120, history.Ack, "a", 1),
		}, nil},
		"one ack ends all it comes after, and only those": {[]history.Event{
			fault(100, 1, history.EdgeEffective), fault(200, 4, history.EdgeEffective),
			send(210, history.Attempt, "a", 1), send(240, history.Ack, "a", 1),
		}, []Failover{{1, "broker-1", 140}, {4, "broker-4", 40}}},
		"none until the end": {[]history.Event{
			fault(100, 1, history.EdgeEffective), send(110, history.Attempt, "a", 1), send(120, history.Ack, "a", 1),
			fault(200, 4, history.EdgeEffective), send(210, history.Attempt, "b", 1), send(220, history.Fail, "b", 1),
		}, []Failover{{1, "broker-1", 20}, {4, "broker-4", faults.Never}}},
	} {
		if diff := cmp.Diff(c.want, Failovers(clusterPlan(), c.events)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestFailoverWords(t *testing.T) {
	const ms = 1_000_000
	var hundred []Failover
	for i := range int64(100) {
		hundred = append(hundred, Failover{FirstAck: (100 - i) * 10 * ms})
	}
	for want, list := range map[string][]Failover{
		"": nil,
		"1 leader kill · p50 300 ms · p99 300 ms · max 300 ms":                               {{FirstAck: 300 * ms}},
		"100 leader kills · p50 500 ms · p99 990 ms · max 1.00 s":                            hundred,
		"2 leader kills · p50 300 ms · p99 never · max never · no ack followed 1 of them":    {{FirstAck: faults.Never}, {FirstAck: 300 * ms}},
		"1 leader kill · p50 never · p99 never · max never · no ack followed 1 of them":      {{FirstAck: faults.Never}},
		"101 leader kills · p50 510 ms · p99 1.00 s · max never · no ack followed 1 of them": append([]Failover{{FirstAck: faults.Never}}, hundred...),
	} {
		if got := FailoverWords(list); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
