package reports

import (
	"pestle/checker"
	"pestle/faults"
	"pestle/history"
	"pestle/scenarios"
)

// small is a run of three messages: one arrives, one is refused while the
// broker is down, one was acked and is lost. Its golden files are read by
// people.
func small() *synthetic {
	s := &synthetic{
		run: Run{
			ID: "small-7", Scenario: "small", Seed: 7, World: "process", PlanHash: "00112233445566778899aabbccddeeff",
			Command: "pestle run scenarios/small.yaml --seed 7", Started: "2026-05-04T03:02:01Z", Elapsed: 3 * second,
			Environment: Environment{Go: "go1.26", OS: "linux", Arch: "amd64", CPUs: 2, Pestle: "0.1.0", Target: "0.1.0"},
			FaultLog: []faults.Entry{
				{Ref: 1, Kind: faults.Kill, Target: "broker-1", Asked: 199 * millisecond, Effective: 201 * millisecond, Ended: 500 * millisecond, Lateness: millisecond},
				{Ref: 2, Kind: faults.Pause, Target: "broker-1", Asked: faults.Never, Effective: faults.Never, Ended: faults.Never, Note: "never due"},
			},
		},
		plan: scenarios.Plan{
			Target: scenarios.Target{Kind: "pestle", Durability: "memory"},
			Workload: scenarios.Workload{
				Topic: "orders", AtMostOnce: true,
				Producers: []scenarios.Producer{{Name: "producer-1", Interval: 400 * millisecond}},
				Consumers: []scenarios.Consumer{{Name: "consumer-a-1", Channel: "a"}},
			},
			Faults: []faults.Fault{
				{Ref: 1, Kind: faults.Kill, Target: "broker-1", Anchor: faults.Anchor{At: 200 * millisecond}, For: 300 * millisecond},
				{Ref: 2, Kind: faults.Pause, Target: "broker-1", Anchor: faults.Anchor{After: &faults.Event{Acks: 1, Delay: 50 * millisecond}}, For: second},
			},
		},
		verdict: checker.Verdict{
			Status: checker.Fail,
			Properties: []checker.Property{
				{Slug: "no-data-loss", Class: checker.Safety, Required: true, Status: checker.Fail, Total: 1,
					Exposure: checker.Exposure{"messages acked": 2, "open during kill": 1},
					Violations: []checker.Violation{{ID: "producer-1-2", Channel: "a", T: boot + 2_900*millisecond, Cause: "acked and lost",
						Detail: "producer-1-2 was acked and never delivered on channel a"}}},
				{Slug: "consumer-progress", Class: checker.Liveness, Status: checker.Inconclusive, Reason: "no quiet window", Exposure: checker.Exposure{"quiet windows": 0}},
				{Slug: "message-ordering", Class: checker.Safety, Status: checker.NotApplicable, Reason: "the target promises no order"},
			},
			Claims: []checker.Claim{{Name: "duplicate-consumed", Required: true}, {Name: "unknown-later-seen"}, {Name: "gave-up-after-last-retry", Required: true, Count: 1, Reached: true}},
		},
	}
	send := func(at int64, ev history.Kind, id, text string) {
		e := history.Event{Src: "producer-1", Ev: ev, ID: id, Try: 1, Topic: "orders", Text: text}
		if ev == history.Attempt {
			e.Size = 120
		}
		s.add(at, e)
	}
	receive := func(at int64, ev history.Kind, id string) {
		e := history.Event{Src: "consumer-a-1", Ev: ev, ID: id, Topic: "orders", Channel: "a", Consumer: "consumer-a-1", Pos: "0000100000000001"}
		if ev == history.Consume {
			e.Attempts = 1
		}
		s.add(at, e)
	}
	world := func(at int64, ev history.Kind, what, edge string) {
		e := history.Event{Src: "harness", Ev: ev, What: what, Edge: edge}
		if ev == history.Fault {
			e.Target, e.Ref = "broker-1", 1
		}
		s.add(at, e)
	}
	world(0, history.Phase, history.PhaseBoot, "")
	world(300*millisecond, history.Phase, history.PhaseChaos, "")
	send(400*millisecond, history.Attempt, "producer-1-1", "")
	send(402*millisecond, history.Ack, "producer-1-1", "")
	receive(403*millisecond, history.Consume, "producer-1-1")
	receive(404*millisecond, history.Finish, "producer-1-1")
	send(498*millisecond, history.Attempt, "producer-1-2", "")
	send(500*millisecond, history.Ack, "producer-1-2", "")
	world(501*millisecond, history.Fault, "kill", history.EdgeEffective)
	send(600*millisecond, history.Attempt, "producer-1-3", "")
	send(601*millisecond, history.Fail, "producer-1-3", "dial: connection refused")
	world(800*millisecond, history.Fault, "kill", history.EdgeEnded)
	world(1_000*millisecond, history.Phase, history.PhaseQuiet, "")
	world(2_000*millisecond, history.Phase, history.PhaseQuietEnd, "")
	world(2_000*millisecond, history.Phase, history.PhaseDrain, "")
	world(3_000*millisecond, history.Phase, history.PhaseEnd, "")
	return s
}
