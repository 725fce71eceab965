package disk

import (
	"math/bits"

	"pestle/sim/random"
)

// policy is a rule of what a power loss keeps.
type policy uint8

const (
	prefix  policy = iota // the first operations
	paged                 // each page as after one of its writes, or before
	torn                  // as paged, but half of the pages by sector
	garbled               // as torn, and garbage in some of these sectors
	policies
)

// lot is the draw that decides what a power loss keeps. Of n pending
// operations, it gives each part of the disk a number: the operations before
// it happened to that part, the others did not.
type lot struct {
	Policy policy
	First  int // prefix
	N      int
	Key    uint64
}

func drawLot(seed uint64, pending int) lot {
	s := random.New(seed, "power-loss")
	return lot{
		Policy: policy(s.Below(int64(policies))),
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

func (l lot) hash(part, owner, index uint64) uint64 {
	return random.Mix(random.Mix(random.Mix(l.Key^part)^owner) ^ index)
}

// cut is the number of a part. A quarter of the parts keep everything and a
// quarter nothing, however many operations there are.
func (l lot) cut(part, owner, index uint64) int {
	if l.Policy == prefix {
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

// name is the number of a group of names.
func (l lot) name(group string) int {
	return l.cut(partName, random.New(l.Key, group).Uint64(), 0)
}

// size is the number of the length of a file.
func (l lot) size(file uint64) int { return l.cut(partSize, file, 0) }

// tears reports whether the sectors of a page have numbers of their own.
func (l lot) tears(file uint64, sector int64) bool {
	return l.Policy >= torn && l.hash(partTorn, file, pageOf(sector))%2 == 0
}

func pageOf(sector int64) uint64 { return uint64(sector) / (pageSize / sectorSize) }

// sector is the number of a sector.
func (l lot) sector(file uint64, sector int64) int {
	if l.tears(file, sector) {
		return l.cut(partSector, file, uint64(sector))
	}
	return l.cut(partPage, file, pageOf(sector))
}

// garbage reports whether a write that the sector lost left garbage.
func (l lot) garbage(file uint64, sector int64) bool {
	return l.Policy == garbled && l.tears(file, sector) && l.hash(partGarbage, file, uint64(sector))%2 == 0
}
