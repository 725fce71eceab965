package disk

import (
	"errors"
	"fmt"

	"pestle/faults"
	"pestle/sim/random"
)

// fault is a fault that is imposed.
type fault struct {
	faults.Fault
	draw  *random.Stream
	left  int64 // it bites so often, when Count counts operations
	bites int64
}

// Imposed is a fault that is under way, and how often it changed how an
// operation went, or what is stored.
type Imposed struct {
	Ref   int         `json:"ref"`
	Kind  faults.Kind `json:"kind"`
	Bites int64       `json:"bites"`
}

// Does reports whether a Dir can carry a kind of fault out. A power loss is a
// call of its own.
func Does(k faults.Kind) bool {
	switch k {
	case faults.DiskFull, faults.DiskSlow, faults.DiskStuck, faults.DiskReadError, faults.DiskWriteShort,
		faults.FsyncError, faults.BitRot, faults.MisdirectedWrite, faults.LostWrite:
		return true
	}
	return false
}

// ErrUnderWay says that another fault of a kind has to be lifted first.
var ErrUnderWay = errors.New("is of the same kind and under way")

// Impose begins a fault of a kind that Does knows, with the parameters that
// the catalog gives it; seed decides all that is drawn. A fault that was
// imposed already, and damage of its Ref that is still there, stay as they are.
// Another fault of the kind has to be lifted first.
func (d *Dir) Impose(f faults.Fault, seed uint64) error {
	if err := check(f); err != nil {
		return err
	}
	d.lock()
	defer d.mu.Unlock()
	if now := d.faults[f.Kind]; now != nil {
		if now.Ref == f.Ref {
			return nil
		}
		return fmt.Errorf("impose %s of fault %d: fault %d %w; lift it first", f.Kind, f.Ref, now.Ref, ErrUnderWay)
	}
	state := &fault{Fault: f, left: f.Count, draw: random.New(seed, string(f.Kind))}
	d.faults[f.Kind] = state
	if f.Kind != faults.BitRot || len(d.m.damaged(f.Ref)) > 0 {
		return nil
	}
	if err := d.rot(state); err != nil {
		delete(d.faults, f.Kind)
		return err
	}
	return nil
}

// check says what is wrong with the parameters of f.
func check(f faults.Fault) error {
	spec, known := faults.Find(f.Kind)
	if !known || !Does(f.Kind) {
		return fmt.Errorf("impose %q: it is no fault of a disk", f.Kind)
	}
	if f.Ref < 1 {
		return fmt.Errorf("impose %s: ref is %d; faults are numbered from 1", f.Kind, f.Ref)
	}
	for _, p := range spec.Params {
		if v := f.Value(p.Name); v < p.Min || v > p.Max {
			return fmt.Errorf("impose %s: %s is %d; it takes %d to %d", f.Kind, p.Name, v, p.Min, p.Max)
		}
	}
	return nil
}

// Lift ends a fault and returns how often it bit in this process. What it only
// hid is there again: the bytes that rotted, went elsewhere or did not land, as
// far as nothing was written over them. A fault that is not there is lifted
// already.
func (d *Dir) Lift(ref int) (bites int64, err error) {
	d.lock()
	defer d.mu.Unlock()
	for kind, f := range d.faults {
		if f.Ref == ref {
			bites = f.bites
			delete(d.faults, kind)
			close(d.changed)
			d.changed = make(chan struct{})
		}
	}
	return bites, d.heal(ref)
}

// Faults lists what is imposed, in the order of the catalog. It answers also
// when the power is lost.
func (d *Dir) Faults() []Imposed {
	d.mu.Lock()
	defer d.mu.Unlock()
	list := []Imposed{}
	for _, spec := range faults.Kinds() {
		if f := d.faults[spec.Kind]; f != nil {
			list = append(list, Imposed{f.Ref, f.Kind, f.bites})
		}
	}
	return list
}

// strikes decides whether a fault bites an operation that it can bite.
func (d *Dir) strikes(kind faults.Kind) bool {
	f := d.faults[kind]
	if f == nil || f.Rate != 0 && !f.draw.Permille(f.Rate) {
		return false
	}
	if f.Count > 0 {
		if f.left == 0 {
			return false
		}
		f.left--
	}
	f.bites++
	return true
}

// Lying tells that the disk makes nothing durable.
func (d *Dir) Lying() bool { return d.options.Lying }
