package core

import (
	"fmt"

	"pestle/broker/journal"
)

const (
	idleMark     = 50 * millisecond // after the last sync, with nothing to write: see package journal
	createRetry  = 1000 * millisecond
	memoryGather = 1 << 20              // bytes that Memory gathers before it writes
	maxReserve   = 256 << 10            // bytes kept for ledger entries when no next file can be made …
	reserveShare = 8                    // … or this part of a file, if that is less
	sizeSteps    = 8                    // a file is so many times this part of the usual size, or more
	sealed       = 2 * journal.MarkSize // bytes at the end of a file for an idle mark and the last one
)

// journalFile is one file of this node's journal.
type journalFile struct {
	seq   uint64
	salt  uint64           // see package journal
	size  int64            // bytes; what is written beyond makes the file grow
	live  int64            // stored messages whose body is in it
	noted bool             // since live last became 0, it was written down how far the groups are committed …
	freed journal.Position // … up to here
}

// writer appends batches to the journal files and keeps them coming: it makes
// the next one ahead, goes over to it when the current one is full, and takes
// the oldest for the next when nothing in it is needed, or removes it.
type writer struct {
	core     *Core
	fileSize int64
	memory   bool

	files   []*journalFile // ascending; the last one is written to
	needed  int64          // bytes of the messages that keep files, about
	at      int64          // where in it the open batch begins
	open    []journal.Record
	openLen int64  // bytes of the open batch, header included
	urgent  bool   // the open batch says who the node is or whom it met: with Memory too that must be durable
	batch   uint64 // number of the open batch, from 1

	worn     *journalFile // the last one that nothing needed any more, to become the next when that is wanted; nil: none
	ahead    *journalFile // made, not yet written to
	creating uint64       // token of an outstanding FxCreate; 0: none
	making   *journalFile // what it makes
	why      string       // why the last FxCreate failed; empty: it did not
	retry    deadline

	durable      journal.Position
	durableBatch uint64 // number of the last batch that is durable
	syncing      uint64 // token of the outstanding FxSync; 0: none
	syncUpTo     journal.Position
	syncBatch    uint64 // number of the last batch it covers
	marked       bool   // the last batch written is a mark
	sealing      bool   // the current file got its last batch
	idle         deadline

	doubted       bool  // a planted bug has ignored a failed sync
	checkpointLen int64 // bytes of the checkpoint the current file begins with
}

func (w *writer) current() *journalFile { return w.files[len(w.files)-1] }

// end is where the last batch written ends.
func (w *writer) end() journal.Position {
	return journal.Position{File: w.current().seq, Offset: w.at}
}

// opened is where the open batch ends.
func (w *writer) opened() journal.Position {
	return journal.Position{File: w.current().seq, Offset: w.at + w.openLen}
}

// room is how many bytes of records the current file still takes.
func (w *writer) room() int64 {
	room := w.current().size - w.at - sealed
	return room - max(w.openLen, journal.BatchHeaderSize)
}

// reserve is the room that only what frees messages may use when there is no
// next file.
func (w *writer) reserve() int64 { return min(w.fileSize/reserveShare, maxReserve) }

// put adds a record to the open batch and returns where its payload stands;
// false when the file has no room for it. A record that is too large for any
// file makes a fresh one grow; the body of a message, which comes at any time,
// whichever there is.
func (w *writer) put(r journal.Record) (journal.Position, bool) {
	size := journal.RecordSize(len(r.Payload))
	grows := w.fresh() || r.Kind == recordBodies && 2*size > w.fileSize
	if w.sealing || size > w.room() && !grows {
		return journal.Position{}, false
	}
	if w.openLen == 0 {
		w.openLen = journal.BatchHeaderSize
	}
	where := journal.Position{
		File:   w.current().seq,
		Offset: w.at + w.openLen + journal.RecordHeaderSize,
	}
	w.open = append(w.open, r)
	w.openLen += size
	return where, true
}

// fresh reports that the current file has nothing but its checkpoint.
func (w *writer) fresh() bool {
	return w.at == journal.FileHeaderSize && w.openLen <= max(w.checkpointLen, journal.BatchHeaderSize)
}

// write issues the open batch.
func (w *writer) write(now Time, fx *Effects) {
	f, from := w.current(), w.at
	salt, at := journal.Covered(f.salt, w.end(), w.core.cfg.Plant)
	data := journal.AppendBatch(make([]byte, 0, max(w.openLen, journal.MarkSize)), salt, at, journal.Batch{
		Durable: w.durable, LogTime: w.core.logTime(now), WallTime: now.Wall, Records: w.open,
	})
	w.at += int64(len(data))
	w.batch++
	w.marked = len(w.open) == 0
	if from == journal.FileHeaderSize && w.checkpointLen > 0 {
		fx.point(PointCheckpointWritten)
	}
	fx.point(PointJournalWrite)
	clear(w.open)
	w.open, w.openLen, w.urgent = w.open[:0], 0, false
	w.core.deadlines.cancel(&w.idle)
	fx.add(Effect{Kind: FxWrite, File: f.seq, Offset: from, Data: data})
}

// mark issues a batch without records.
func (w *writer) mark(now Time, fx *Effects) {
	if len(w.open) > 0 {
		panic("core: a mark would overtake records")
	}
	w.write(now, fx)
}

// sync makes all that was written durable. There must be none outstanding. The
// next file is asked for behind it: answers must not wait for its zeros.
func (w *writer) sync(fx *Effects) {
	if w.syncing != 0 {
		panic("core: two syncs of the journal at once")
	}
	w.syncing = w.core.token()
	w.syncUpTo, w.syncBatch = w.end(), w.batch-1
	fx.add(Effect{Kind: FxSync, File: w.current().seq, Token: w.syncing})
	w.createAhead(fx)
}

// synced notes a completed sync.
func (w *writer) synced(now Time) {
	w.syncing = 0
	w.durable, w.durableBatch = w.syncUpTo, w.syncBatch
	if w.durable == w.end() && !w.marked && !w.sealing && !w.memory {
		w.core.deadlines.set(&w.idle, now.Mono+idleMark, idleTimer{w})
	}
}

// idleTimer is due when nothing followed a sync for a while. The mark has its
// place: a file's last records leave sealed bytes free, or had to make it grow
// anyway. It needs no sync: the next batch's covers it, and what it protects is
// durable already.
type idleTimer struct{ w *writer }

func (t idleTimer) expire(_ *Core, now Time, fx *Effects) { t.w.mark(now, fx) }

// seal gives the current file its last batch, once a next file is there.
func (w *writer) seal(now Time, fx *Effects) {
	if w.ahead == nil {
		w.create(fx)
		return
	}
	if w.syncing != 0 || w.sealing {
		return
	}
	w.mark(now, fx)
	w.sealing = true
	w.sync(fx)
}

// turnable reports that the sealed file is durable: the next may begin.
func (w *writer) turnable() bool { return w.sealing && w.durable == w.end() }

// enter goes over to a file and gives it its header, which must be durable
// before anything else is in the file.
func (w *writer) enter(f *journalFile, fx *Effects) {
	f.salt = w.core.cfg.Salt
	w.files = append(w.files, f)
	w.at, w.checkpointLen = journal.FileHeaderSize, 0
	fx.add(Effect{Kind: FxWrite, File: f.seq, Data: w.header(f)})
	w.syncing, w.syncUpTo, w.syncBatch = w.core.token(), w.durable, w.batch-1
	fx.add(Effect{Kind: FxSync, File: f.seq, Token: w.syncing})
}

// header is what a file begins with, which it does before it has any batch.
func (w *writer) header(f *journalFile) []byte {
	return journal.AppendFileHeader(nil, f.seq, w.core.cfg.Salt)
}

// createAhead asks for the next file once half of the current one is used.
func (w *writer) createAhead(fx *Effects) {
	if 2*(w.at+w.openLen) >= w.current().size {
		w.create(fx)
	}
}

// create asks for the next file, if it is neither there nor asked for.
func (w *writer) create(fx *Effects) {
	if w.ahead != nil || w.creating != 0 || w.retry.isSet() {
		return
	}
	if w.worn != nil {
		w.recycle(fx)
		return
	}
	w.creating = w.core.token()
	w.making = &journalFile{seq: w.current().seq + 1, size: w.nextSize()}
	fx.add(Effect{Kind: FxCreate, File: w.making.seq, N: w.making.size, Token: w.creating})
}

// nextSize is how large the next file is to be: what it begins with may be
// twice as much as what this one does. In steps, so that a file can follow one
// that began with a little less.
func (w *writer) nextSize() int64 {
	step := w.fileSize / sizeSteps
	return (w.fileSize + 2*w.checkpointLen + step - 1) / step * step
}

// recycle makes the worn file the next one: no zeros have to be written for it.
func (w *writer) recycle(fx *Effects) {
	from := w.worn
	w.creating, w.worn = w.core.token(), nil
	w.making = &journalFile{seq: w.current().seq + 1, size: from.size}
	fx.point(PointFileRecycled)
	fx.add(Effect{Kind: FxRecycle, From: from.seq, File: w.making.seq, Data: w.header(w.making), Token: w.creating})
}

// created notes how an FxCreate went.
func (w *writer) created(now Time, ev Event, fx *Effects) {
	if ev.Token != w.creating {
		panic(fmt.Sprintf("core: a file is created that was not asked for: token %d, not %d", ev.Token, w.creating))
	}
	w.creating = 0
	if ev.Failed {
		if w.why == "" {
			fx.log(Error, "no room for the next journal file; publishes are refused when the current one is full, until it can be made: %s", ev.Text)
		}
		w.why = ev.Text
		w.core.deadlines.set(&w.retry, now.Mono+createRetry, createTimer{w})
		return
	}
	if w.why != "" {
		fx.log(Info, "the next journal file was made: publishes are accepted again")
	}
	w.why = ""
	w.ahead, w.making = w.making, nil
}

// createTimer is due when a failed FxCreate is to be tried again.
type createTimer struct{ w *writer }

func (t createTimer) expire(_ *Core, _ Time, fx *Effects) { t.w.create(fx) }

// close ends the journal, of which everything was written, with a durable mark.
func (w *writer) close(now Time, fx *Effects) {
	if w.at == journal.FileHeaderSize {
		return // nothing was ever written to the journal
	}
	if !w.marked {
		w.mark(now, fx)
	}
	if w.durable != w.end() {
		w.sync(fx)
	}
}

// stored and forgot count what keeps a file.
func (w *writer) stored(m *message) {
	if m.where.File != 0 {
		w.file(m).live++
		w.needed += int64(m.size) + indexCost
	}
}

func (w *writer) forgot(m *message) {
	if m.where.File == 0 {
		return
	}
	f := w.file(m)
	f.live--
	if f.live < 0 {
		panic(fmt.Sprintf("core: journal file %d holds %d messages", f.seq, f.live))
	}
	f.noted = false
	w.needed -= int64(m.size) + indexCost
}

func (w *writer) file(m *message) *journalFile {
	i := m.where.File - w.files[0].seq
	if m.where.File < w.files[0].seq || i >= uint64(len(w.files)) {
		panic(fmt.Sprintf("core: message %d is in journal file %d, which is gone", m.offset, m.where.File))
	}
	return w.files[i]
}

// retire puts the oldest files aside that nothing needs any more, once the
// journal is durable without them: the next file with the state it begins with,
// and that the entries by which the last messages were finished are committed.
// The newest of them is kept for the file to come: an older one would leave a
// hole in the journal.
func (w *writer) retire(fx *Effects) {
	for len(w.files) > 1 && w.files[0].live == 0 && w.files[0].noted {
		durable := w.durable
		if durable.File < w.files[1].seq || durable.Before(w.files[0].freed) {
			return
		}
		w.dropWorn(fx)
		w.worn, w.files = w.files[0], w.files[1:]
		if w.worn.size < w.nextSize() || w.worn.size > 2*w.nextSize() {
			w.dropWorn(fx)
		}
		w.recycleAhead(fx)
	}
}

// dropWorn removes the file that was kept.
func (w *writer) dropWorn(fx *Effects) {
	if w.worn == nil {
		return
	}
	fx.point(PointFileRemoved)
	fx.add(Effect{Kind: FxRemove, File: w.worn.seq})
	w.worn = nil
}

// recycleAhead makes the worn file the next one as soon as there is one, if
// there is no next.
func (w *writer) recycleAhead(fx *Effects) {
	if w.worn != nil && w.ahead == nil && w.creating == 0 {
		w.core.deadlines.cancel(&w.retry) // it takes no room
		w.recycle(fx)
	}
}
