package core

import (
	"bytes"
	"fmt"
	"runtime/debug"
	"slices"
	"testing"

	"pestle/broker/journal"
)

// kept is what a node's journal holds, file by file.
type kept struct {
	cfg   Config
	files []keptFile
}

type keptFile struct {
	seq     uint64
	batches []journal.Batch
}

// keptByAll is the journals of a cluster in which a node was away for longer
// than the others keep: every kind of record is in them.
func keptByAll(t testing.TB) (list []kept) {
	c := newCluster(t, 3, Config{LogBytes: 2 << 10, FileSize: 8 << 10})
	c.publish(1, "OK", "first")
	lead := c.leader(1)
	away := c.other(lead)
	cl := c.consumer(lead, 3)
	c.kill(away)
	for i := range 20 {
		c.publish(lead, "OK", fmt.Sprint(i, string(make([]byte, 150))))
	}
	c.finishAll(cl)
	c.publish(lead, "OK", "deferred", "and another")
	c.start(away)
	c.pass(3 * second)
	c.publish(lead, "OK", "last")
	if c.nodes[away].points[PointSnapshotInstalled] == 0 {
		t.Fatal("no snapshot is in the journal")
	}
	for _, id := range sortedKeys(c.nodes) {
		r := c.nodes[id]
		k, reader := kept{cfg: r.cfg}, journal.Reader{}
		for _, seq := range sortedKeys(r.disk) {
			batches, err := reader.Feed(seq, bytes.Clone(r.disk[seq].cached))
			if err != nil {
				t.Fatal(err)
			}
			k.files = append(k.files, keptFile{seq, batches})
		}
		list = append(list, k)
	}
	return list
}

// records is how many records there are.
func (k kept) records() (n int) {
	for _, f := range k.files {
		for _, b := range f.batches {
			n += len(b.Records)
		}
	}
	return n
}

// replay recovers from the journal with one record changed; it must not panic.
func (k kept) replay(t testing.TB, at int, change func(*journal.Record)) (err error) {
	var changed journal.Record
	defer func() {
		if p := recover(); p != nil {
			t.Errorf("record %d of kind %d, group %d, index %d, payload %x: panic: %v\n%s", at, changed.Kind, changed.Group, changed.Index, changed.Payload, p, debug.Stack())
		}
	}()
	r := NewRecovery(k.cfg)
	for _, f := range k.files {
		var batches []journal.Batch
		for _, b := range f.batches {
			b.Records = slices.Clone(b.Records)
			if at >= 0 && at < len(b.Records) {
				x := &b.Records[at]
				x.Payload = bytes.Clone(x.Payload)
				change(x)
				changed = *x
			}
			at -= len(b.Records)
			batches = append(batches, b)
		}
		if err := r.replay(f.seq, 8<<10, batches); err != nil {
			return err
		}
	}
	r.setClocks()
	return r.c.checkWhole(r.absent)
}

// Whatever a record says, a node starts or says why it does not.
func TestRecordsThatCannotBe(t *testing.T) {
	for _, k := range keptByAll(t) {
		if err := k.replay(t, -1, nil); err != nil {
			t.Fatalf("the journal as it is: %v", err)
		}
		for at := range k.records() {
			size := 0
			for _, group := range []uint32{0, 1, 2, maxGroups, maxGroups + 1} {
				_ = k.replay(t, at, func(x *journal.Record) { size, x.Group = len(x.Payload), group })
			}
			for kind := range uint8(40) {
				_ = k.replay(t, at, func(x *journal.Record) { x.Kind = kind })
			}
			for _, by := range []uint64{1, 1 << 62, 1<<64 - 1} {
				_ = k.replay(t, at, func(x *journal.Record) { x.Index += by })
				_ = k.replay(t, at, func(x *journal.Record) { x.Term += by })
			}
			step := 1 + size/40
			for i := 0; i < size; i += step {
				_ = k.replay(t, at, func(x *journal.Record) { x.Payload = x.Payload[:i] })
				_ = k.replay(t, at, func(x *journal.Record) { x.Payload[i] ^= 1 })
				_ = k.replay(t, at, func(x *journal.Record) { x.Payload[i] = 0xff })
				_ = k.replay(t, at, func(x *journal.Record) { x.Payload[i]++ })
			}
			if t.Failed() {
				return
			}
		}
	}
}

// The note of how far a group is committed that was on its way to the disk when
// a snapshot was may be behind it and older: that is no way back.
func TestCommitNoteOlderThanASnapshot(t *testing.T) {
	noted := 0
	for _, k := range keptByAll(t) {
		r := NewRecovery(k.cfg)
		for _, f := range k.files {
			batches := slices.Clone(f.batches)
			for i := range batches {
				records := slices.Clone(batches[i].Records)
				for at := len(records) - 1; at >= 0; at-- {
					x := records[at]
					if x.Kind != recordSnapshot {
						continue
					}
					note := appendUint(appendUint(appendUint([]byte{entryVersion}, x.Term), 0), x.Index-1)
					records = slices.Insert(records, at+1, journal.Record{Group: x.Group, Kind: recordHard, Term: x.Term, Payload: note})
					noted++
				}
				batches[i].Records = records
			}
			if err := r.replay(f.seq, 8<<10, batches); err != nil {
				t.Fatal(err)
			}
		}
		for _, s := range r.c.seats {
			if s.log.Hard.Commit < s.applied {
				t.Errorf("node %d, group %d: %d entries are applied and %d committed", k.cfg.Node, s.id, s.applied, s.log.Hard.Commit)
			}
		}
	}
	if noted == 0 {
		t.Error("no journal has a snapshot: nothing was tested")
	}
}

func FuzzRecords(f *testing.F) {
	list := keptByAll(f)
	for n, k := range list {
		at := 0
		for _, file := range k.files {
			for _, b := range file.batches {
				for _, r := range b.Records {
					f.Add(uint8(n), uint16(at), r.Group, r.Kind, r.Index, r.Term, r.Payload)
					at++
				}
			}
		}
	}
	f.Fuzz(func(t *testing.T, n uint8, at uint16, group uint32, kind uint8, index, term uint64, payload []byte) {
		k := list[int(n)%len(list)]
		_ = k.replay(t, int(at)%k.records(), func(x *journal.Record) {
			x.Group, x.Kind, x.Index, x.Term, x.Payload = group, kind, index, term, payload
		})
	})
}
