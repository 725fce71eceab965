package overview

import (
	"fmt"
	"strings"

	"pestle/campaign/rate"
	"pestle/campaign/result"
	"pestle/checker"
	"pestle/reports"
)

const second = 1_000_000_000

// sample is a campaign in which everything is there to be told: two findings,
// doubts, failures of the harness, what was reached and what was not.
func sample() result.Campaign {
	command := func(scenario string, seed uint64) string {
		return fmt.Sprintf("pestle run scenarios/%s.yaml --seed %d", scenario, seed)
	}
	example := func(scenario string, seed uint64, events uint64) result.Example {
		return result.Example{
			Scenario: scenario, Seed: seed, PlanHash: "3f9a61d2", TraceHash: "9931aeba0e716a6d", Events: events, Elapsed: 41 * second, At: 40 * second,
			Detail:  "producer-1-178 was acked & lost <here>",
			Command: command(scenario, seed), Dir: fmt.Sprintf("runs/%s-%d", scenario, seed),
		}
	}
	c := result.Campaign{
		Schema: result.Schema, Status: reports.Failed, ExitCode: 1, Reason: "1013 of 4000 runs failed",
		Command: "pestle campaign first-light swarm --seeds 2000", Started: "2026-05-04T03:02:01Z", Ended: result.EndedBudget,
		From: 1, Seeds: 2_500, Settings: []string{"target.durability=memory"},
		Runs: result.Outcomes{Done: 4_000, Passed: 2_965, Failed: 1_013, Inconclusive: 17, HarnessError: 5},
		Scenarios: []result.Scenario{
			{Name: "first-light", File: "scenarios/first-light.yaml", World: "sim", Runs: result.Outcomes{Done: 2_000, Passed: 983, Failed: 1_012, HarnessError: 5}},
			{Name: "swarm", File: "scenarios/swarm.yaml", World: "sim", Runs: result.Outcomes{Done: 2_000, Passed: 1_982, Failed: 1, Inconclusive: 17}},
		},
		Findings: []result.Finding{
			{
				Fingerprint: "139fe18d", Property: checker.NoDataLoss, Class: checker.Safety, Cause: "acked but neither consumed nor stored after a proven drain",
				Rate: rate.Of(1_012, 3_995), PerWhere: []result.Where{{Scenario: "first-light", Rate: rate.Of(1_011, 1_995)}, {Scenario: "swarm", Rate: rate.Of(1, 2_000)}},
				AlsoSeen: []result.Symptom{{Property: checker.ConsumerProgress, Cause: "message of a quiet window not consumed in time", Runs: 7, Scenario: "swarm", Seed: 3}},
				First:    example("first-light", 1, 281_624), Shortest: example("swarm", 5, 12_886),
				Story: &result.Story{Dir: "runs/139fe18d-shrunk", Command: "pestle replay runs/139fe18d-shrunk", Faults: 1, Messages: 3, WasFaults: 17, WasMessages: 8_173, TraceHash: "00112233aabbccdd"},
			},
			{
				Fingerprint: "0badcafe", Property: checker.MessageOrdering, Class: checker.Safety, Cause: "first deliveries against the order of acks",
				Rate: rate.Of(1, 3_995), PerWhere: []result.Where{{Scenario: "first-light", Rate: rate.Of(1, 1_995)}}, AlsoSeen: []result.Symptom{},
				First: example("first-light", 77, 281_000), Shortest: example("first-light", 77, 281_000),
				Story: &result.Story{Error: "the time was up before it failed again"},
			},
		},
		Inconclusive:  []result.Reason{{Reason: "message-ordering: N pairs", Example: "message-ordering: 0 pairs", Runs: 17, Scenario: "swarm", Seed: 9, Command: command("swarm", 9)}},
		HarnessErrors: []result.Reason{{Reason: "the worker died: signal N", Example: "the worker died: signal 9", Runs: 5, Scenario: "first-light", Seed: 12, Command: command("first-light", 12)}},
		Cover: result.Cover{
			Points:  []result.Point{{Name: "journal-write", When: "a batch is written", Times: 1_234_567, Runs: 4_000}, {Name: "lease-expired", When: "a lease ran out", Times: 3, Runs: 2}, {Name: "deferral-due", When: "a deferred message is due"}},
			Reached: 2,
			Curve:   []result.Step{{Runs: 1, States: 57}, {Runs: 2, States: 81}, {Runs: 5, States: 130}, {Runs: 10, States: 210}, {Runs: 100, States: 700}, {Runs: 1_000, States: 1_205}, {Runs: 2_000, States: 1_300}, {Runs: 4_000, States: 1_340}},
		},
		Recoveries:   []result.Recovery{{Scenario: "swarm", Seed: 165, Kind: "power-loss", Took: 1_060_000_000, Command: command("swarm", 165)}},
		NotExercised: result.NotExercised{FaultKinds: []string{"bit-rot", "clog"}, Planned: []string{"clog"}, Claims: []string{"duplicate-consumed"}, Points: []string{"deferral-due"}},
		Bound:        result.Bound{Text: "1013 of 3995 judged runs failed: see the findings for their rates"},
		Determinism:  result.Determinism{Repeated: 1_150, Diverged: 1},
		Throughput:   result.Throughput{Workers: 2, Runs: 4_000, Elapsed: 600 * second, PerMinute: 400, Events: 900_000_000, Simulated: 120_000 * second, Worked: 1_180 * second},
		Environment:  reports.Environment{Go: "go1.26", OS: "linux", Arch: "amd64", CPUs: 2, Pestle: "0.1.0"},
	}
	for i := range c.Scenarios {
		s := &c.Scenarios[i]
		for k, entry := range []checker.Entry{{Slug: checker.NoDataCorruption, Class: checker.Safety}, {Slug: checker.MessageOrdering, Class: checker.Safety}, {Slug: checker.NoDataLoss, Class: checker.Safety}, {Slug: checker.ConsumerProgress, Class: checker.Liveness}} {
			p := result.Property{Slug: entry.Slug, Class: entry.Class, Required: k != 0, Passed: s.Runs.Done - s.Runs.HarnessError - int64(k), Failed: int64(k) / 2, Inconclusive: int64(k) - int64(k)/2}
			if entry.Slug == checker.MessageOrdering {
				p = result.Property{Slug: entry.Slug, Class: entry.Class, NotApplicable: p.Passed + p.Failed + p.Inconclusive}
			}
			s.Properties = append(s.Properties, p)
		}
	}
	return c
}

// clean is a campaign in which nothing failed.
func clean() result.Campaign {
	c := sample()
	c.Status, c.ExitCode, c.Reason, c.Ended, c.Seeds = reports.Passed, 0, "", result.EndedDone, 2_000
	c.Runs = result.Outcomes{Done: 4_000, Passed: 4_000}
	c.Findings, c.Inconclusive, c.HarnessErrors, c.Recoveries = nil, nil, nil, nil
	c.NotExercised = result.NotExercised{}
	c.Bound = result.Bound{Runs: 4_000, PerMillion: 750, Text: "no failure in 4000 runs bounds the rate of failures below 3/4000 (95 % confidence), for these scenarios"}
	return c
}

// unseen is one of the process world, where nobody sees points or events.
func unseen() result.Campaign {
	c := clean()
	c.Cover, c.Determinism, c.Throughput.Events = result.Cover{}, result.Determinism{}, 0
	c.Scenarios[0].World, c.Scenarios[1].World = "process", "process"
	return c
}

const hostileText = `producer-1-1</script></title></style><script>alert(1)</script><img src="http://evil.example/x" onerror='a()'>" onload="b() ` + "`${c}` {{.Run}} \x00\x1b[2J\u202e\xff"

// hostile is a campaign in which every text is an attack on the page.
func hostile() result.Campaign {
	c, bad := sample(), hostileText
	c.Status, c.Reason, c.Command, c.Started, c.Ended, c.Settings = reports.Outcome(bad), bad, bad, bad, result.Ended(bad), []string{bad}
	c.Bound.Text, c.Environment = bad, reports.Environment{Go: bad, OS: bad, Arch: bad, Pestle: bad, Target: bad}
	for i := range c.Scenarios {
		s := &c.Scenarios[i]
		s.Name, s.File, s.World = bad, bad, bad
		for k := range s.Properties {
			s.Properties[k].Slug, s.Properties[k].Class = bad, checker.Class(bad)
		}
	}
	for i := range c.Findings {
		f := &c.Findings[i]
		f.Fingerprint, f.Property, f.Class, f.Cause = bad, bad, checker.Class(bad), bad
		f.PerWhere = []result.Where{{Scenario: bad}, {Scenario: bad}}
		f.AlsoSeen = []result.Symptom{{Property: bad, Cause: bad, Scenario: bad}}
		f.First = result.Example{Scenario: bad, PlanHash: bad, TraceHash: bad, Detail: bad, Command: bad, Dir: "javascript:alert(1)//" + bad}
		f.Shortest = f.First
		f.Shortest.Seed++
		f.Story = &result.Story{Dir: bad, Command: bad, TraceHash: bad}
	}
	c.Findings[1].Story.Error = bad
	reason := []result.Reason{{Reason: bad, Example: bad, Scenario: bad, Command: bad}}
	c.Inconclusive, c.HarnessErrors = reason, reason
	c.Cover.Points = []result.Point{{Name: bad, When: bad}}
	c.Recoveries = []result.Recovery{{Scenario: bad, Kind: bad, Command: bad}}
	c.NotExercised = result.NotExercised{FaultKinds: []string{bad}, Planned: []string{bad}, Claims: []string{bad}, Points: []string{bad}}
	return c
}

// huge is one with more of everything than a person reads.
func huge() result.Campaign {
	c := sample()
	long := strings.Repeat("é<", 50_000)
	finding, reason := c.Findings[0], c.Inconclusive[0]
	finding.Cause, finding.First.Detail, reason.Reason, reason.Example = long, long, long, long
	symptom := finding.AlsoSeen[0]
	symptom.Cause = long
	finding.AlsoSeen = nil
	for range 1_000 {
		finding.AlsoSeen = append(finding.AlsoSeen, symptom)
	}
	c.Findings, c.Inconclusive = nil, nil
	for range 5_000 {
		c.Findings = append(c.Findings, finding)
		c.Inconclusive = append(c.Inconclusive, reason)
	}
	return c
}
