package reports

import (
	"fmt"
	"slices"

	"pestle/checker"
	"pestle/faults"
	"pestle/history"
	"pestle/scenarios"
)

// synthetic is a small run made by arithmetic alone: three producers send for
// 40 s, two channels receive, a broker is killed, paused and stopped.
type synthetic struct {
	run     Run
	plan    scenarios.Plan
	verdict checker.Verdict
	events  []history.Event
}

// boot is where the synthetic clock starts: reports must not take it for 0.
const boot = 7_000 * second

func newSynthetic() *synthetic {
	s := &synthetic{
		run: Run{
			ID: "first-light-1", Scenario: "first-light", Seed: 1, World: "process",
			PlanHash: "3f9a61d2c84b07e5aa10c5b2f7d94e3c6b8a12f04d5e7c9b1a2d3e4f5a6b7c8d",
			Command:  "pestle run scenarios/first-light.yaml --world process --seed 1",
			Started:  "2026-05-04T03:02:01Z", Elapsed: 45_200 * millisecond,
			Environment: Environment{Go: "go1.26.8", OS: "linux", Arch: "amd64", CPUs: 2, Pestle: "0.1.0", Target: "0.1.0"},
		},
		plan: scenarios.Plan{
			Schema: scenarios.PlanSchema, Scenario: "first-light", Seed: 1,
			Target: scenarios.Target{Kind: "pestle", Durability: "fsync"},
			Workload: scenarios.Workload{
				Topic: "orders", Tries: 4,
				Producers: []scenarios.Producer{
					{Name: "producer-1", Interval: 50 * millisecond}, {Name: "producer-2", Interval: 50 * millisecond}, {Name: "producer-3", Interval: 50 * millisecond},
				},
				Consumers: []scenarios.Consumer{
					{Name: "consumer-ordered-1", Channel: "ordered"},
					{Name: "consumer-shared-1", Channel: "shared"}, {Name: "consumer-shared-2", Channel: "shared"},
				},
			},
			Phases: scenarios.Phases{Chaos: 35 * second},
			Faults: []faults.Fault{
				{Ref: 1, Kind: faults.Kill, Target: "broker-1", Anchor: faults.Anchor{At: 2 * second}, For: 400 * millisecond},
				{Ref: 2, Kind: faults.Kill, Target: "producer-2", Anchor: faults.Anchor{After: &faults.Event{Acks: 300, Delay: 120 * millisecond}}, For: 300 * millisecond},
				{Ref: 3, Kind: faults.Pause, Target: "broker-1", Anchor: faults.Anchor{At: 8 * second}, For: 900 * millisecond},
				{Ref: 4, Kind: faults.Kill, Target: "consumer-ordered-1", Anchor: faults.Anchor{After: &faults.Event{Fault: 3}}, For: 500 * millisecond},
				{Ref: 5, Kind: faults.Stop, Target: "broker-1", Anchor: faults.Anchor{At: 18 * second}, For: 700 * millisecond},
				{Ref: 6, Kind: faults.Kill, Target: "broker-1", Anchor: faults.Anchor{At: 24 * second}, For: 2_600 * millisecond},
				{Ref: 7, Kind: faults.Kill, Target: "broker-1", Anchor: faults.Anchor{After: &faults.Event{Attempts: 1_000_000}}, For: 400 * millisecond},
			},
		},
	}
	s.phases()
	s.faults()
	s.traffic()
	s.sort()
	s.verdict = passing()
	return s
}

func (s *synthetic) add(at int64, e history.Event) {
	e.T = boot + at
	s.events = append(s.events, e)
}

func (s *synthetic) sort() {
	slices.SortStableFunc(s.events, func(a, b history.Event) int {
		if a.Before(b) {
			return -1
		}
		if b.Before(a) {
			return 1
		}
		return 0
	})
}

func (s *synthetic) phases() {
	for _, p := range []struct {
		at   int64
		what string
	}{
		{0, history.PhaseBoot}, {600 * millisecond, history.PhaseWarmUp}, {3 * second, history.PhaseChaos},
		{13 * second, history.PhaseQuiet}, {18 * second, history.PhaseQuietEnd},
		{33 * second, history.PhaseQuiet}, {38 * second, history.PhaseQuietEnd},
		{38 * second, history.PhaseHeal}, {38_500 * millisecond, history.PhaseDrain}, {43 * second, history.PhaseVerify}, {44 * second, history.PhaseEnd},
	} {
		s.add(p.at, history.Event{Src: "harness", Ev: history.Phase, What: p.what})
	}
}

// outages are the faults that took effect: chaos begins 3 s into the run.
var outages = []struct {
	ref      int
	kind     string
	target   string
	from, to int64
}{
	{1, "kill", "broker-1", 5_001 * millisecond, 5_460 * millisecond},
	{2, "kill", "producer-2", 7_300 * millisecond, 7_650 * millisecond},
	{3, "pause", "broker-1", 11_002 * millisecond, 11_902 * millisecond},
	{4, "kill", "consumer-ordered-1", 11_100 * millisecond, 11_700 * millisecond},
	{5, "stop", "broker-1", 21_003 * millisecond, 21_950 * millisecond},
	{6, "kill", "broker-1", 27_001 * millisecond, 29_700 * millisecond},
}

func (s *synthetic) faults() {
	for _, o := range outages {
		s.add(o.from, history.Event{Src: "harness", Ev: history.Fault, What: o.kind, Target: o.target, Edge: history.EdgeEffective, Ref: o.ref})
		s.add(o.to, history.Event{Src: "harness", Ev: history.Fault, What: o.kind, Target: o.target, Edge: history.EdgeEnded, Ref: o.ref})
		s.run.FaultLog = append(s.run.FaultLog, faults.Entry{
			Ref: o.ref, Kind: faults.Kind(o.kind), Target: o.target, Asked: o.from - 3*second - millisecond,
			Effective: o.from - 3*second, Ended: o.to - 3*second, Lateness: int64(o.ref) * millisecond,
		})
	}
	s.run.FaultLog = append(s.run.FaultLog, faults.Entry{
		Ref: 7, Kind: faults.Kill, Target: "broker-1", Asked: faults.Never, Effective: faults.Never, Ended: faults.Never,
		Note: "never due: chaos ended first",
	})
}

func hit(target string, at int64) bool {
	for _, o := range outages {
		if o.target == target && at >= o.from && at < o.to {
			return true
		}
	}
	return false
}

func (s *synthetic) traffic() {
	for p := 1; p <= 3; p++ {
		src := fmt.Sprintf("producer-%d", p)
		counter := 0
		for at := 700*millisecond + int64(p)*11*millisecond; at < 38_400*millisecond; at += 50 * millisecond {
			if hit(src, at) {
				continue
			}
			counter++
			id := fmt.Sprintf("%s-%d", src, counter)
			s.message(src, id, at, counter)
		}
	}
}

// message is one message that ends well, or ends refused or unknown because
// the broker is away.
func (s *synthetic) message(src, id string, at int64, counter int) {
	base := history.Event{Src: src, ID: id, Try: 1, Topic: "orders"}
	attempt := base
	attempt.Ev, attempt.Size = history.Attempt, 100+counter%1_000
	s.add(at, attempt)
	if hit("broker-1", at) {
		bad := base
		bad.Ev, bad.Text = history.Fail, "dial: connection refused"
		if counter%7 == 0 {
			bad.Ev, bad.Text = history.Unknown, "no answer within 400 ms"
		}
		s.add(at+3*millisecond, bad)
		return
	}
	ack := base
	ack.Ev = history.Ack
	s.add(at+2*millisecond+int64(counter%5)*300*microsecond, ack)
	s.deliver(id, "ordered", "consumer-ordered-1", at+4*millisecond, counter)
	s.deliver(id, "shared", fmt.Sprintf("consumer-shared-%d", 1+counter%2), at+5*millisecond, counter)
}

func (s *synthetic) deliver(id, channel, consumer string, at int64, counter int) {
	for hit(consumer, at) || hit("broker-1", at) {
		at += 10 * millisecond
	}
	e := history.Event{Src: consumer, ID: id, Topic: "orders", Channel: channel, Consumer: consumer, Pos: fmt.Sprintf("%016x", 1<<44+counter)}
	e.Ev, e.Attempts = history.Consume, 1
	s.add(at, e)
	e.Ev, e.Attempts = history.Finish, 0
	s.add(at+millisecond, e)
}

// drop removes the lines about a message that keep returns false for.
func (s *synthetic) drop(id string, keep func(history.Event) bool) {
	s.events = slices.DeleteFunc(s.events, func(e history.Event) bool { return e.ID == id && !keep(e) })
}

func passing() checker.Verdict {
	return checker.Verdict{
		Status: checker.Pass,
		Properties: []checker.Property{
			{Slug: "no-data-corruption", Class: checker.Safety, Required: true, Status: checker.Pass, Exposure: checker.Exposure{"messages consumed": 4_284, "sizes seen": 998}},
			{Slug: "no-phantom-messages", Class: checker.Safety, Required: true, Status: checker.Pass, Exposure: checker.Exposure{"messages consumed": 4_284}},
			{Slug: "message-ordering", Class: checker.Safety, Required: true, Status: checker.Pass, Exposure: checker.Exposure{"pairs compared": 2_139, "pairs separated by a fault": 17}},
			{Slug: "no-data-loss", Class: checker.Safety, Required: true, Status: checker.Pass, Exposure: checker.Exposure{"messages acked": 2_142, "channels drained": 2, "open during kill": 14, "open during pause": 9, "open during stop": 3}},
			{Slug: "producer-progress", Class: checker.Liveness, Required: true, Status: checker.Pass, Exposure: checker.Exposure{"quiet windows": 2, "producers": 3}},
			{Slug: "consumer-progress", Class: checker.Liveness, Required: true, Status: checker.Pass, Exposure: checker.Exposure{"quiet windows": 2, "channels": 2}},
			{Slug: "delivery-guarantee", Class: checker.Safety, Required: true, Status: checker.Pass, Exposure: checker.Exposure{"messages consumed": 4_284, "duplicates explained": 6, "retries": 81}},
		},
		Claims: []checker.Claim{
			{Name: "retried-failed-send", Required: true, Count: 81, Reached: true},
			{Name: "gave-up-after-last-retry", Required: true, Count: 4, Reached: true},
			{Name: "duplicate-consumed", Required: true, Count: 6, Reached: true},
			{Name: "unknown-later-seen", Required: true, Count: 2, Reached: true},
			{Name: "consumer-resumed-after-kill", Required: true, Count: 1, Reached: true},
			{Name: "producer-killed-between-attempt-and-ack", Required: true, Count: 1, Reached: true},
		},
	}
}

// failing is a run that lost messages acked just before a kill, delivered one
// that nobody sent, and stalled in a quiet window.
func failing() *synthetic {
	s := newSynthetic()
	lost := &s.verdict.Properties[3]
	lost.Status, lost.Total = checker.Fail, 7
	for _, id := range []string{"producer-1-86", "producer-2-86", "producer-3-85", "producer-3-86"} {
		s.drop(id, func(e history.Event) bool {
			return e.Ev == history.Attempt || e.Ev == history.Ack || e.Channel == "ordered" && id == "producer-2-86"
		})
		lost.Violations = append(lost.Violations, checker.Violation{
			ID: id, Channel: "shared", T: boot + 43_100*millisecond, Cause: "acked and neither delivered nor stored",
			Detail: id + " was acked at 4.953 s and never delivered on channel shared, whose drain was proven at 43.100 s",
		})
	}
	phantom := &s.verdict.Properties[1]
	phantom.Status, phantom.Total = checker.Fail, 1
	s.deliver("producer-2-9000", "shared", "consumer-shared-1", 16_040*millisecond, 9_000)
	phantom.Violations = []checker.Violation{{
		ID: "producer-2-9000", Channel: "shared", Pos: "0000100000002328", T: boot + 16_040*millisecond,
		Cause: "consumed without an attempt", Detail: "producer-2-9000 was delivered on channel shared and no attempt of it is recorded",
	}}
	order := &s.verdict.Properties[2]
	order.Status, order.Total = checker.Fail, 1
	order.Violations = []checker.Violation{{
		ID: "producer-1-300", Channel: "ordered", T: boot + 15_900*millisecond, Cause: "first deliveries against the order of acks",
		Detail: "producer-1-300 was acked before producer-1-301 was attempted and delivered after it on channel ordered",
	}}
	for i := range s.events {
		if e := &s.events[i]; e.ID == "producer-1-300" && e.Channel == "ordered" {
			e.T = order.Violations[0].T // its delivery and finish move behind producer-1-301's
		}
	}
	stalled := &s.verdict.Properties[4]
	stalled.Status, stalled.Total = checker.Fail, 1
	stalled.Violations = []checker.Violation{{
		T: boot + 38*second, Cause: "no ack in a quiet window",
		Detail: "producer-3 attempted 40 sends in the quiet window from 33.000 s to 38.000 s and none was acked within 2.00 s",
	}}
	s.sort()
	s.verdict.Status = checker.Fail
	s.run.Command += " --set target.durability=memory"
	s.plan.Target.Durability = "memory"
	return s
}

// doubtful is a run that broke nothing and proved too little.
func doubtful() *synthetic {
	s := newSynthetic()
	s.verdict.Status, s.verdict.Reason = checker.Inconclusive, "message-ordering and the claim duplicate-consumed had too little exposure"
	order := &s.verdict.Properties[2]
	order.Status, order.Reason = checker.Inconclusive, "no pair of messages was separated by a fault"
	order.Exposure["pairs separated by a fault"] = 0
	s.verdict.Claims[2].Count, s.verdict.Claims[2].Reached = 0, false
	s.verdict.Properties[6].Status, s.verdict.Properties[6].Required = checker.NotApplicable, false
	s.verdict.Properties[6].Reason = "the target promises no delivery mode"
	s.verdict.Properties[6].Exposure = nil
	return s
}
