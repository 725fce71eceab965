// Package lot is the draw that decides what a power loss keeps of what was
// written to a disk and not synced: of the simulated disk and of the real files
// that stand in for one alike. It knows operations and parts of a disk by their
// numbers only.
//
//	l := lot.Draw(stream, len(pending))
//	for i, o := range pending {
//		for s := o.from; s < o.to; s++ {
//			if i < l.Sector(o.file, s) {
//				land(o, s) // this operation happened to this sector
//			}
//		}
//	}
//
//det:ring0
package lot

import (
	"math/bits"

	"pestle/sim/random"
)

// Sizes in bytes; see Policy.
const (
	SectorSize = 512  // that the medium writes whole or not at all
	PageSize   = 4096 // that the kernel writes back together
)

// Policy is a rule of what a power loss keeps.
type Policy uint8

// The policies.
const (
	Prefix   Policy = iota // the first operations
	Paged                  // each page as after one of its writes, or before
	Torn                   // as Paged, but half of the pages by sector
	Garbled                // as Torn, and garbage in some of these sectors
	Policies               // how many there are
)

// Lot is one draw. Of N pending operations, it gives each part of the disk a
// number: the operations before it happened to that part, the others did not.
type Lot struct {
	Policy Policy
	First  int // Prefix
	N      int
	Key    uint64
}

// Draw draws what becomes of so many pending operations.
func Draw(s *random.Stream, pending int) Lot {
	return Lot{
		Policy: Policy(s.Below(int64(Policies))),
		First:  int(s.Below(int64(pending) + 1)),
		N:      pending,
		Key:    s.Uint64(),
	}
}

// Parts of a disk that are kept or lost apart from each other.
const (
	partName uint64 = iota + 1
	partSize
	partPage
	partTorn
	partSector
	partGarbage
)

func (l Lot) hash(part, owner, index uint64) uint64 {
	return random.Mix(random.Mix(random.Mix(l.Key^part)^owner) ^ index)
}

// cut is the number of a part. A quarter of the parts keep everything and a
// quarter nothing, however many operations there are.
func (l Lot) cut(part, owner, index uint64) int {
	if l.Policy == Prefix {
		return l.First
	}
	switch h := l.hash(part, owner, index); h % 4 {
	case 0:
		return 0
	case 1:
		return l.N
	default:
		hi, _ := bits.Mul64(random.Mix(h), uint64(l.N)+1)
		return int(hi)
	}
}

// Name is the number of what a name stands for.
func (l Lot) Name(name uint64) int { return l.cut(partName, name, 0) }

// Size is the number of the length of a file.
func (l Lot) Size(file uint64) int { return l.cut(partSize, file, 0) }

// Sector is the number of a sector of a file: that of its page, unless the page
// is torn.
func (l Lot) Sector(file uint64, sector int64) int {
	if l.tears(file, sector) {
		return l.cut(partSector, file, uint64(sector))
	}
	return l.cut(partPage, file, pageOf(sector))
}

// Garbage reports whether a write that the sector lost left garbage.
func (l Lot) Garbage(file uint64, sector int64) bool {
	return l.Policy == Garbled && l.tears(file, sector) && l.hash(partGarbage, file, uint64(sector))%2 == 0
}

// tears reports whether the sectors of a page have numbers of their own.
func (l Lot) tears(file uint64, sector int64) bool {
	return l.Policy >= Torn && l.hash(partTorn, file, pageOf(sector))%2 == 0
}

func pageOf(sector int64) uint64 { return uint64(sector) / (PageSize / SectorSize) }
