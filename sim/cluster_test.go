package sim_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pestle/checker"
	"pestle/faults"
	"pestle/scenarios"
	"pestle/sim"
)

// cluster is a plan of several brokers, with faults two seconds apart, and
// sends that have the time of an election.
func cluster(t testing.TB, seed uint64, nodes int, make func(i int) faults.Fault) scenarios.Plan {
	p := withFaults(t, seed, make)
	p.Target.Nodes = nodes
	p.Workload.Timeout, p.Workload.Tries = 1500*millisecond, 6
	p.Phases.Recovery = 4 * second
	p.Faults = p.Faults[:3]
	p.Phases.Chaos = 13 * second
	p.Phases.Quiet = []scenarios.Quiet{{From: 7 * second, To: 12 * second}}
	return p
}

// on is an example of a fault on a target.
func on(target string, k faults.Kind) faults.Fault {
	f := example(k)
	f.Target = target
	if f.Kind == faults.Partition {
		f.Among = faults.Broker
	}
	return f
}

// unharmed fails when something bad happened, in or out of time.
func unharmed(t *testing.T, verdict checker.Verdict) {
	t.Helper()
	for _, property := range verdict.Properties {
		if property.Class == checker.Safety && property.Total > 0 {
			t.Errorf("%s: %+v", property.Slug, property.Violations)
		}
	}
}

// A cluster without any fault: every broker has everything, nothing fails, and
// the same plan is the same run.
func TestCluster(t *testing.T) {
	for _, nodes := range []int{3, 5} {
		p := cluster(t, 1, nodes, func(int) faults.Fault { return example(faults.Kill) })
		p.Faults = nil
		result, verdict, err := judged(p, sim.Options{})
		if err != nil {
			t.Fatalf("%d brokers: %v", nodes, err)
		}
		unharmed(t, verdict)
		if len(result.Logs) != nodes {
			t.Errorf("%d brokers have %d logs", nodes, len(result.Logs))
		}
		again, err := sim.Run(sim.Options{Plan: p})
		if err != nil || again.TraceHash != result.TraceHash {
			t.Errorf("%d brokers: the same plan has the hashes %016x and %016x, %v", nodes, result.TraceHash, again.TraceHash, err)
		}
	}
}

// A cluster survives every kind of fault on one of its brokers, whoever that
// is, and a run with faults is the same twice.
func TestEveryKindInACluster(t *testing.T) {
	for _, spec := range faults.Kinds() {
		if !spec.In("sim") || !slices.Contains(spec.Roles, faults.Broker) {
			continue
		}
		t.Run(string(spec.Kind), func(t *testing.T) {
			for seed, target := range []string{"leader", "follower-1"} {
				p := cluster(t, uint64(seed)+1, 3, func(int) faults.Fault { return on(target, spec.Kind) })
				if spec.Class == faults.OfMedia { // of which a minority may be hit
					p.Faults = p.Faults[:1]
					p.Faults[0].Target = "broker-2"
				}
				result, verdict, err := judged(p, sim.Options{})
				if err != nil {
					t.Errorf("%s: %v", target, err)
					continue
				}
				if damages := spec.Class == faults.OfMedia && !spec.Cluster; damages {
					unharmed(t, verdict)
				} else if why := weakness(verdict); why != "" {
					t.Errorf("%s: %s: %s", target, verdict.Status, why)
				}
				for _, e := range result.Faults {
					if e.Effective == faults.Never || e.Ended == faults.Never {
						t.Errorf("%s: %+v", target, e)
					}
				}
				if target != "leader" {
					continue
				}
				again, err := sim.Run(sim.Options{Plan: p})
				if err != nil || again.TraceHash != result.TraceHash {
					t.Errorf("%s: the same plan has the hashes %016x and %016x, %v", target, result.TraceHash, again.TraceHash, err)
				}
			}
		})
	}
}

// A fault on the leader is carried out on who leads then, and says so; the
// next one, two seconds later, finds another.
func TestFaultOnTheLeader(t *testing.T) {
	p := cluster(t, 1, 3, func(int) faults.Fault { return on("leader", faults.Kill) })
	result, _, err := judged(p, sim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	targets := map[string]int{}
	for _, e := range result.Faults {
		targets[e.Target]++
	}
	if len(targets) < 2 || targets["leader"] > 0 {
		t.Errorf("the kills were of %v", targets)
	}
}

// While a majority is away, publishes are refused and nothing acknowledged is
// lost; then it goes on by itself.
func TestMajorityAway(t *testing.T) {
	p := cluster(t, 1, 3, func(i int) faults.Fault {
		f := on(fmt.Sprintf("broker-%d", i%2+1), faults.Kill)
		f.For = 3 * second
		return f
	})
	p.Faults = p.Faults[:2]
	p.Faults[1].Anchor.At = p.Faults[0].Anchor.At + 10*millisecond
	result, verdict, err := judged(p, sim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	unharmed(t, verdict)
	refused := 0
	for _, s := range result.Histories {
		for _, e := range s.Events {
			if strings.Contains(e.Text, "READ_ONLY_DEGRADED") {
				refused++
			}
		}
	}
	if refused == 0 {
		t.Error("no publish was refused for want of a majority")
	}
}

// A broker that was replaced has another in its place, which leads like any
// other when its turn comes.
func TestReplace(t *testing.T) {
	p := cluster(t, 1, 3, func(int) faults.Fault { return on("leader", faults.Replace) })
	p.Faults = p.Faults[:1]
	result, verdict, err := judged(p, sim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if why := weakness(verdict); why != "" {
		t.Error(why)
	}
	names := []string{}
	for _, log := range result.Logs {
		names = append(names, log.Name)
		if log.Name == "broker-4" && len(log.Content) == 0 {
			t.Error("broker-4 never ran")
		}
	}
	if !slices.Contains(names, "broker-4") {
		t.Errorf("logs of %v", names)
	}
}

// A broker that lost its disk says that it takes part in nothing.
func TestWipe(t *testing.T) {
	p := cluster(t, 1, 3, func(int) faults.Fault { return on("broker-2", faults.Wipe) })
	p.Faults = p.Faults[:1]
	result, verdict, err := judged(p, sim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if why := weakness(verdict); why != "" {
		t.Error(why)
	}
	if !strings.Contains(string(result.Logs[1].Content), "quarantine") {
		t.Errorf("broker-2 logged:\n%s", result.Logs[1].Content)
	}
}

// A frame in which a bit turned on its way is noticed and does no harm, and one
// that comes twice does none either.
func TestFramesThatCameWrong(t *testing.T) {
	for kind, noticed := range map[faults.Kind]func(lines []string) bool{
		faults.Corrupt: func(lines []string) bool {
			return slices.ContainsFunc(lines, func(l string) bool { return strings.HasSuffix(l, "its checksum is wrong") })
		},
		faults.Duplicate: func(lines []string) bool {
			told, came := 0, 0
			for _, l := range lines {
				if strings.Contains(l, " effect tell ") {
					told++
				}
				if strings.Contains(l, " event told ") {
					came++
				}
			}
			return came > told*105/100
		},
	} {
		p := cluster(t, 1, 3, func(int) faults.Fault { return on("leader", kind) })
		for i := range p.Faults {
			p.Faults[i].Rate = 900
		}
		var lines []string
		_, verdict, err := judged(p, sim.Options{Log: func(line string) { lines = append(lines, line) }})
		if err != nil {
			t.Fatal(err)
		}
		if why := weakness(verdict); why != "" {
			t.Errorf("%s: %s", kind, why)
		}
		if !noticed(lines) {
			t.Errorf("%s: nothing of it is in the log", kind)
		}
	}
}
