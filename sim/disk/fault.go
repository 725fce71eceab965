package disk

import (
	"fmt"
	"slices"
)

// Kind is one way in which a disk fails.
type Kind uint8

// The kinds.
const (
	Full        Kind = iota // creating a file and growing one fail: no space left on device
	ReadError               // reads fail; the bytes are there
	ShortWrite              // a write stores a part and fails
	SyncError               // a sync with something to do fails and drops it: see Disk.Sync
	Slow                    // operations take Factor times as long
	Stuck                   // operations do not begin; always all of them, until it is healed
	Lying                   // a sync is done at once and makes nothing durable, nor does one of the directory
	BitRot                  // one bit of what is stored turns, at once: Inject turns as many as Times says
	Misdirected             // what a sync writes lands elsewhere in the file; reads find the old bytes, and it there
	LostWrite               // what a sync writes does not land; reads find the old bytes
	kinds
)

// String returns the word of the fault catalog.
func (k Kind) String() string {
	switch k {
	case Full:
		return "disk-full"
	case ReadError:
		return "disk-read-error"
	case ShortWrite:
		return "disk-write-short"
	case SyncError:
		return "fsync-error"
	case Slow:
		return "disk-slow"
	case Stuck:
		return "disk-stuck"
	case Lying:
		return "disk-lying"
	case BitRot:
		return "bit-rot"
	case Misdirected:
		return "misdirected-write"
	case LostWrite:
		return "lost-write"
	}
	return fmt.Sprintf("disk fault %d", uint8(k))
}

// Fault is a failure to inject.
type Fault struct {
	Kind     Kind
	Permille int64 // of the operations it can bite, 1 to 1000; 0: all of them
	Times    int64 // it bites so often and is over; 0: until it is healed, or once for BitRot
	Factor   int64 // Slow: by how much, 2 to 10,000; else 0
}

// fault is the state of a kind.
type fault struct {
	Fault
	on    bool
	bites int64
}

// Inject sets a fault, in the place of one of its kind. It panics when the
// fault is not one: see Fault.
func (d *Disk) Inject(f Fault) {
	if f.Kind >= kinds || f.Permille < 0 || f.Permille > 1000 || f.Times < 0 {
		panic(fmt.Sprintf("disk: inject %s with %d permille, %d times: there is no such fault", f.Kind, f.Permille, f.Times))
	}
	if f.Kind == Stuck && (f.Permille%1000 != 0 || f.Times != 0) {
		panic("disk: inject disk-stuck with a chance or a number of times: nobody would tell when it is over; heal it")
	}
	if slow := f.Kind == Slow; slow && (f.Factor < 2 || f.Factor > 10_000) || !slow && f.Factor != 0 {
		panic(fmt.Sprintf("disk: inject %s with factor %d: it must be 2 to 10000 for %s and 0 for others", f.Kind, f.Factor, Slow))
	}
	if f.Kind == BitRot {
		for range max(f.Times, 1) {
			d.rot()
		}
		return
	}
	state := &d.faults[f.Kind]
	state.Fault, state.on = f, true
}

// Heal ends a fault. What it only hid is there again: the bytes that rotted,
// went elsewhere or did not land, as far as nothing was written over them.
// What it really lost, by a sync that failed or lied, stays lost.
func (d *Disk) Heal(kind Kind) {
	d.faults[kind].on = false
	d.eachFile(func(f *file) {
		f.damage = slices.DeleteFunc(f.damage, func(s damaged) bool { return s.kind == kind })
	})
}

// HealAll ends every fault.
func (d *Disk) HealAll() {
	for kind := range kinds {
		d.Heal(kind)
	}
}

// Bites counts how often faults of a kind changed how an operation went, or
// what is stored, since the disk was made.
func (d *Disk) Bites(kind Kind) int64 { return d.faults[kind].bites }

// strikes decides whether a fault bites an operation that it can bite.
func (d *Disk) strikes(kind Kind) bool {
	f := &d.faults[kind]
	if !f.on || f.Permille != 0 && !d.chance.Permille(f.Permille) {
		return false
	}
	f.bites++
	if f.Times > 0 {
		f.Times--
		f.on = f.Times > 0
	}
	return true
}
