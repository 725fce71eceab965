package journal

import (
	"fmt"

	"pestle/broker/plant"
)

// Reader reads the files of a journal in their order and decides whether a
// node may start from them. The zero value is ready.
type Reader struct {
	Plant plant.ID // bug to be planted; none

	first, last uint64 // sequence numbers fed; 0: none
	filled      uint64 // the last one that has a batch; 0: none
	end         int64  // of its content
	torn        int64  // of its content
	salt        uint64 // of it
	spare       int64  // size of the file behind it when there is nothing but a header in that; else 0
	data        []byte // of it
	claim       Position
	log, wall   int64
}

// Tail is how a journal ends.
type Tail struct {
	End      Position // where the next batch goes; zero: there is no batch at all
	Size     int64    // of the file End is in, in bytes
	Salt     uint64   // of that file
	LogTime  int64    // of the last batch
	WallTime int64    // of the last batch

	// Rewrite is what stands between the last durable position that the
	// journal itself proves and End. A crash may have left it readable and
	// not durable, so it is written again, at RewriteAt, and synced, before
	// anyone is told of it. Nil: nothing.
	Rewrite   []byte
	RewriteAt Position

	// Torn counts the bytes behind End that are to be overwritten with zeros:
	// up to the end of the last batch there of which the header can be read. It
	// must never be taken for what follows a batch that is yet to be written. No
	// other bytes can be, whatever stands there.
	Torn int64

	// Empty lists the files behind End that hold no batch, ascending.
	Empty []uint64

	// Spare is the size in bytes of the first of Empty when that may be written
	// to as if it had just been made; 0: it may not.
	Spare int64
}

// Feed takes the whole content of the next file and returns its batches. The
// data is the Reader's from then on, and records share it. An error means
// that the node must not start; it says why and what to do.
func (r *Reader) Feed(seq uint64, data []byte) ([]Batch, error) {
	if r.last != 0 && seq != r.last+1 {
		return nil, fmt.Errorf("journal file %d is missing between %d and %d; %s", r.last+1, r.last, seq, remedy)
	}
	c, err := scan(seq, data, r.Plant)
	if err != nil {
		return nil, err
	}
	if r.first == 0 {
		r.first = seq
	}
	r.last = seq
	r.claim = later(r.claim, c.claim)
	if err := r.checkClaim(seq, c.end); err != nil {
		return nil, err
	}
	if len(c.batches) == 0 {
		if r.filled != 0 && seq == r.filled+1 && !c.used {
			r.spare = int64(len(data))
		}
		return nil, nil
	}
	if seq > r.first {
		want := Position{r.filled, r.end}
		if (r.filled != seq-1 || c.batches[0].Durable != want) && !r.Plant.Is(plant.StaleRecordsReplayed) {
			return nil, fmt.Errorf("journal file %d does not go on where file %d ends, at offset %d; %s", seq, r.filled, r.end, remedy)
		}
	}
	r.filled, r.end, r.torn, r.salt, r.data, r.spare = seq, c.end, c.torn, c.salt, data, 0
	newest := c.batches[len(c.batches)-1]
	r.log, r.wall = newest.LogTime, newest.WallTime
	return c.batches, nil
}

// remedy is what to do about a journal that is not whole.
const remedy = "nothing was changed: restore the data directory from a copy, or move it away to start empty and lose what it holds"

// checkClaim looks whether something that was durable is not there any more,
// in the file just read, which ends at end, or in the one before it.
func (r *Reader) checkClaim(seq uint64, end int64) error {
	at := Position{seq, end}
	if r.filled != 0 && r.claim.File == r.filled {
		at = Position{r.filled, r.end}
	}
	if at.Before(r.claim) && r.claim.File <= seq {
		return fmt.Errorf("journal file %d is damaged at offset %d: what stood there was durable up to file %d offset %d; %s",
			at.File, at.Offset, r.claim.File, r.claim.Offset, remedy)
	}
	return nil
}

// Finish returns how the journal ends.
func (r *Reader) Finish() (Tail, error) {
	if r.last < r.claim.File {
		return Tail{}, fmt.Errorf("journal files after %d are missing: file %d was durable up to offset %d; %s", r.last, r.claim.File, r.claim.Offset, remedy)
	}
	var t Tail
	empty := r.filled + 1
	if r.filled == 0 {
		empty = r.first
	}
	for seq := empty; r.last != 0 && seq <= r.last; seq++ {
		t.Empty = append(t.Empty, seq)
	}
	if r.filled == 0 && r.first > 1 {
		return Tail{}, fmt.Errorf("journal file %d is the oldest and empty: those before it are missing; %s", r.first, remedy)
	}
	if r.filled == 0 {
		return t, nil
	}
	t.End = Position{r.filled, r.end}
	t.Size, t.Salt, t.Spare = int64(len(r.data)), r.salt, r.spare
	t.LogTime, t.WallTime = r.log, r.wall
	t.Torn = r.torn - r.end
	t.RewriteAt = Position{File: r.filled}
	if r.claim.File == r.filled {
		t.RewriteAt = r.claim
	}
	if t.RewriteAt.Before(t.End) {
		t.Rewrite = r.data[t.RewriteAt.Offset:r.end]
	}
	return t, nil
}
