package sim_test

import (
	"fmt"
	"slices"
	"testing"

	"pestle/checker"
	"pestle/faults"
	"pestle/scenarios"
	"pestle/sim"
)

const (
	millisecond = int64(1_000_000)
	second      = 1000 * millisecond
)

// example is a fault of each kind, hard enough to be felt.
func example(k faults.Kind) faults.Fault {
	f := faults.Fault{Kind: k, Target: "broker-1", For: 600 * millisecond}
	switch k {
	case faults.DiskSlow:
		f.Factor = 50
	case faults.DiskReadError, faults.Loss, faults.MisdirectedWrite, faults.LostWrite:
		f.Rate = 300
	case faults.DiskWriteShort, faults.FsyncError:
		f.Count = 1
	case faults.BitRot:
		f.Count = 5
	case faults.Partition:
		f.Shape = faults.Isolate
	case faults.Cut:
		f.Peer = "producer-1"
	case faults.Clog:
		f.Peer, f.BytesPerSecond = "producer-1", 2000
	case faults.Reorder:
		f.Rate, f.Delay = 300, 100*millisecond
	case faults.Duplicate, faults.Corrupt:
		f.Rate = 300
	case faults.CPUSlow:
		f.Factor = 100
	case faults.Latency:
		f.Delay, f.Jitter = 100*millisecond, 100*millisecond
	case faults.Reset:
		f.For = 0
	case faults.ClockJump:
		f.Offset = -3600 * second
	case faults.ClockDrift:
		f.Drift = 100_000
	}
	return f
}

// withFaults is first-light's plan of a seed, shorter and with other faults:
// one every two seconds.
func withFaults(t testing.TB, seed uint64, make func(i int) faults.Fault) scenarios.Plan {
	p := plan(t, firstLight, seed)
	p.Claims = nil
	p.Phases.Chaos = 14 * second
	p.Phases.Quiet = []scenarios.Quiet{{From: 9 * second, To: 13 * second}}
	p.Target.Knobs = &scenarios.Knobs{FileSize: 128 << 10, Cache: 1 << 10}
	p.Faults = nil
	for i := range 4 {
		f := make(i)
		f.Ref, f.Anchor.At = i+1, int64(2*i)*second+200*millisecond
		p.Faults = append(p.Faults, f)
	}
	if err := faults.Validate(p.Faults, p.Phases.Quiet, p.Phases.Chaos); err != nil {
		t.Fatal(err)
	}
	return p
}

// One broker survives every kind of fault but those of the medium, of which it
// must not deliver what they corrupted.
func TestEveryKind(t *testing.T) {
	for _, spec := range faults.Kinds() {
		if !spec.In("sim") || spec.Cluster {
			continue
		}
		t.Run(string(spec.Kind), func(t *testing.T) {
			for seed := uint64(1); seed <= 2; seed++ {
				p := withFaults(t, seed, func(i int) faults.Fault {
					if spec.Kind == faults.DiskReadError && i%2 == 0 { // a backlog, so that there is something to read
						return faults.Fault{Kind: faults.Kill, Target: "consumer-ordered-1", For: 1500 * millisecond}
					}
					return example(spec.Kind)
				})
				result, verdict, err := judged(p, sim.Options{})
				if err != nil {
					t.Errorf("seed %d: %v", seed, err)
					continue
				}
				if spec.Class == faults.OfMedia {
					i := slices.IndexFunc(verdict.Properties, func(p checker.Property) bool { return p.Slug == "no-data-corruption" })
					if verdict.Properties[i].Status != checker.Pass {
						t.Errorf("seed %d: %+v", seed, verdict.Properties[i])
					}
					continue
				}
				if why := weakness(verdict); why != "" {
					t.Errorf("seed %d: %s: %s", seed, verdict.Status, why)
				}
				for _, e := range result.Faults {
					if e.Effective == faults.Never || e.Ended == faults.Never {
						t.Errorf("seed %d: %+v", seed, e)
					}
				}
				if spec.Class == faults.OfDisk && len(result.Bites) == 0 {
					t.Errorf("seed %d: it never made a difference", seed)
				}
			}
		})
	}
}

// weakness says which properties do not pass. That no send was retried is the
// fault's mildness, not the broker's failure.
func weakness(v checker.Verdict) (text string) {
	for _, p := range v.Properties {
		if p.Status != checker.Pass && p.Status != checker.NotApplicable && !(p.Status == checker.Inconclusive && p.Slug == "delivery-guarantee") {
			text += fmt.Sprintf("\n%s %s: %s %+v", p.Slug, p.Status, p.Reason, p.Violations)
		}
	}
	return text
}
