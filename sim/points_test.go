package sim_test

import (
	"testing"

	"pestle/broker/core"
	"pestle/faults"
	"pestle/sim"
)

// The points that scenarios name are those that the broker's core reports.
func TestPointsHaveOneTable(t *testing.T) {
	table := faults.Points()
	if len(table) != int(core.PointCount) {
		t.Fatalf("faults knows %d points, core %d", len(table), core.PointCount)
	}
	for i, p := range table {
		if name := core.Point(i).String(); name != p.Name {
			t.Errorf("point %d is %q in faults and %q in core", i, p.Name, name)
		}
	}
}

// A fault that waits for a point begins when the point is passed as often as
// it says.
func TestFaultsWaitForPoints(t *testing.T) {
	for _, point := range []string{"journal-sync", "ack", "ledger-written", "file-rotated"} {
		t.Run(point, func(t *testing.T) {
			p := withFaults(t, 1, func(int) faults.Fault {
				return faults.Fault{Kind: faults.Kill, Target: "broker-1", For: 500 * millisecond}
			})
			p.Faults = p.Faults[:1]
			p.Faults[0].Anchor = faults.Anchor{After: &faults.Event{Point: point, Count: 2, Process: "broker-1"}}
			result, err := sim.Run(sim.Options{Plan: p})
			if err != nil {
				t.Fatal(err)
			}
			if len(result.Faults) != 1 || result.Faults[0].Effective == faults.Never {
				t.Errorf("the fault did not begin: %+v; points: %v", result.Faults, result.Points)
			}
			if !passed(result, "journal-write") || !passed(result, point) {
				t.Errorf("points: %v", result.Points)
			}
		})
	}
}

func passed(r sim.Result, point string) bool {
	for _, c := range r.Points {
		if c.Name == point {
			return c.Times > 0
		}
	}
	return false
}
