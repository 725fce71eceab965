package faults

import "fmt"

// MaxFaults is the largest number of faults in one plan. Drawing and scheduling
// compare faults with one another; this keeps them quick.
const MaxFaults = 1000

// Validate says what is wrong with the faults and quiet windows of a plan
// whose chaos is that long, or nil. A plan that passes can be scheduled; that
// its faults fit between the windows is the expansion's promise, not checked
// here.
func Validate(faults []Fault, quiet []Window, chaos int64) error {
	if len(faults) > MaxFaults {
		return fmt.Errorf("%d faults; a plan holds %d at most", len(faults), MaxFaults)
	}
	end := int64(0)
	for i, w := range quiet {
		if w.From < end || w.To <= w.From || w.To > chaos {
			return fmt.Errorf("quiet window %d (%d..%d ns) is not after the one before it and inside the chaos of %d ns", i+1, w.From, w.To, chaos)
		}
		end = w.To
	}
	for i, f := range faults {
		if f.Ref != i+1 {
			return fmt.Errorf("fault %d has ref %d; refs count from 1 in order", i+1, f.Ref)
		}
		spec, ok := Find(f.Kind)
		if !ok {
			return fmt.Errorf("fault %d: unknown kind %q", f.Ref, f.Kind)
		}
		if err := spec.check(f); err != nil {
			return fmt.Errorf("fault %d: %w", f.Ref, err)
		}
		if err := f.Anchor.check(f.Ref, faults, chaos); err != nil {
			return fmt.Errorf("fault %d: %w", f.Ref, err)
		}
	}
	return nil
}

func (a Anchor) check(ref int, faults []Fault, chaos int64) error {
	if a.After == nil {
		if a.At < 0 || a.At >= chaos {
			return fmt.Errorf("at is %d ns, outside the chaos of %d ns", a.At, chaos)
		}
		return nil
	}
	e := a.After
	_, isPoint := FindPoint(e.Point)
	set := 0
	for _, on := range []bool{e.Acks != 0, e.Attempts != 0, e.Fault != 0, e.Point != ""} {
		if on {
			set++
		}
	}
	switch {
	case set != 1 || e.Acks < 0 || e.Attempts < 0:
		return fmt.Errorf("after needs exactly one of acks, attempts, fault and point, greater than 0")
	case e.Point == "" && (e.Count != 0 || e.Process != ""):
		return fmt.Errorf("after.count and after.process are for a point")
	case e.Point != "" && !isPoint:
		return fmt.Errorf("after.point is %q, which the broker does not have", e.Point)
	case e.Point != "" && e.Count < 1:
		return fmt.Errorf("after.count is %d; it counts from 1", e.Count)
	case e.Delay < 0 || e.Delay > chaos:
		return fmt.Errorf("after.delay is %d ns, outside the chaos of %d ns", e.Delay, chaos)
	case a.At != 0:
		return fmt.Errorf("both at and after are set")
	case e.Point != "" && e.Process != AnyProcess && roleOf(e.Process) != Broker:
		return fmt.Errorf("after.process is %q; points are passed by brokers", e.Process)
	case e.Fault == 0:
		return nil
	case e.Fault < 1 || e.Fault > len(faults) || e.Fault == ref:
		return fmt.Errorf("after.fault %d is no other fault of the plan", e.Fault)
	}
	if on := faults[e.Fault-1].Anchor.After; on != nil && on.Fault != 0 {
		return fmt.Errorf("after.fault %d waits for a fault itself; chains are not allowed", e.Fault)
	}
	return nil
}
