package faults

import (
	"fmt"
	"slices"
)

// Unit is what a numeric parameter counts.
type Unit string

// The units.
const (
	InNanoseconds Unit = "ns"
	InPermille    Unit = "permille"
	InPPM         Unit = "ppm"
	InBytes       Unit = "bytes"
	InNumber      Unit = "" // a plain number
	NoNumber      Unit = "-"
)

// Param is one parameter of a kind. Name is its key in plans and scenarios.
type Param struct {
	Name     string
	Unit     Unit // NoNumber for shape, side and peer
	Is       string
	Min, Max int64 // of a number
	Optional bool
}

// Value returns a numeric parameter by its name.
func (f Fault) Value(name string) int64 { return *f.number(name) }

// Set sets a numeric parameter by its name.
func (f *Fault) Set(name string, v int64) { *f.number(name) = v }

func (f *Fault) number(name string) *int64 {
	switch name {
	case "rate":
		return &f.Rate
	case "count":
		return &f.Count
	case "delay":
		return &f.Delay
	case "jitter":
		return &f.Jitter
	case "offset":
		return &f.Offset
	case "drift":
		return &f.Drift
	case "factor":
		return &f.Factor
	case "bytes_per_second":
		return &f.BytesPerSecond
	}
	panic("faults: no numeric parameter is named " + name)
}

// Numbers lists the names of the numeric parameters.
func Numbers() []string {
	return []string{"rate", "count", "delay", "jitter", "offset", "drift", "factor", "bytes_per_second"}
}

// Param returns the parameter of that name, if the kind takes it.
func (s Spec) Param(name string) (Param, bool) {
	for _, p := range s.Params {
		if p.Name == name {
			return p, true
		}
	}
	return Param{}, false
}

// checkParams says which parameter of f is missing, out of its range or not
// for this kind.
func (s Spec) checkParams(f Fault) error {
	for _, name := range Numbers() {
		p, takes := s.Param(name)
		v := f.Value(name)
		switch {
		case !takes && v != 0:
			return fmt.Errorf("%s is %d; a %s takes none", name, v, s.Kind)
		case !takes, p.Optional && v == 0:
		case v < p.Min || v > p.Max:
			return fmt.Errorf("%s is %d; a %s takes %d..%d", name, v, s.Kind, p.Min, p.Max)
		}
	}
	if err := s.checkPeer(f); err != nil {
		return err
	}
	return s.checkShape(f)
}

func (s Spec) checkPeer(f Fault) error {
	p, takes := s.Param("peer")
	role, isProcess := TargetRole(f.Peer)
	switch {
	case !takes && f.Peer != "":
		return fmt.Errorf("peer is %q; a %s takes none", f.Peer, s.Kind)
	case !takes, f.Peer == "" && p.Optional:
		return nil
	case !isProcess || !Apart(f.Peer, f.Target):
		return fmt.Errorf("peer %q is no other process", f.Peer)
	case s.Among != "" && role != s.Among:
		return fmt.Errorf("peer is %q; a %s is among %ss only", f.Peer, s.Kind, s.Among)
	}
	return nil
}

func (s Spec) checkShape(f Fault) error {
	if s.Kind != Partition {
		if f.Shape != "" || len(f.Side) > 0 || f.Among != "" {
			return fmt.Errorf("shape, side and among are for a %s", Partition)
		}
		return nil
	}
	form, ok := FindShape(f.Shape)
	if !ok {
		return fmt.Errorf("unknown shape %q", f.Shape)
	}
	if role, _ := TargetRole(f.Target); f.Among != "" && (f.Among != Broker || role != Broker) || form.Brokers && f.Among != Broker {
		return fmt.Errorf("among is %q; shape %s of %s splits brokers, or every process", f.Among, f.Shape, f.Target)
	}
	for i, name := range f.Side {
		role, ok := TargetRole(name)
		switch {
		case !ok || slices.Contains(f.Side[:i], name):
			return fmt.Errorf("side: %q is no process or stands there twice", name)
		case f.Among != "" && role != f.Among:
			return fmt.Errorf("side: %s takes no part in a partition among brokers", name)
		}
	}
	switch contains := slices.Contains(f.Side, f.Target); {
	case form.SideIs == "" && len(f.Side) > 0:
		return fmt.Errorf("side: shape %s takes none", f.Shape)
	case form.SideIs != "" && len(f.Side) == 0:
		return fmt.Errorf("side: shape %s needs %s", f.Shape, form.SideIs)
	case f.Shape == Bridge && contains:
		return fmt.Errorf("side: %s is the bridge and stands on no side", f.Target)
	case f.Shape.splits() && !contains:
		return fmt.Errorf("side: %s, the target, is missing", f.Target)
	case f.Shape == Ring && f.Side[0] != f.Target:
		return fmt.Errorf("side: the ring has to begin with %s, the target", f.Target)
	}
	return nil
}
