package core

import (
	"fmt"
	"slices"

	"pestle/broker/journal"
	"pestle/broker/plant"
	"pestle/broker/replica"
)

// Recovery builds a Core from what an earlier one left in the journal.
//
//	r := core.NewRecovery(cfg)
//	sync the directory, so that no file goes with the power that was just found
//	for each journal file, in ascending order { err := r.Feed(number, content) }
//	c, err := r.Finish(now, &fx)
//
// An error means that the node must not start; it says why and what to do.
type Recovery struct {
	c      *Core
	reader journal.Reader
	failed error
	stamps []int64 // by group: node's log time of the last record that carries the group's
	absent []lostBody
	moved  []movedMessage

	foreign bool // the journal is another node's
}

// NewRecovery begins the life of a node.
func NewRecovery(cfg Config) *Recovery {
	cfg = cfg.withDefaults()
	c := &Core{
		cfg:       cfg,
		meta:      newMetadata(),
		cache:     cache{limit: cfg.CacheBytes},
		conns:     map[ConnID]*conn{},
		channels:  map[uint32]*channel{},
		works:     map[string]*topicWork{},
		claims:    map[uint64]*operation{},
		reads:     map[uint64]*item{},
		peerReads: map[uint64]fetchRead{},
		mover:     mover{reads: map[uint64]moving{}},
		fetchers:  map[fetcher]int{},
		witnesses: map[uint64]bool{},
		addresses: map[uint64]string{},
		heard:     map[uint64]uint64{},
	}
	c.writer = &writer{core: c, fileSize: cfg.FileSize, memory: cfg.Durability == Memory, batch: 1}
	r := &Recovery{c: c, reader: journal.Reader{Plant: cfg.Plant}}
	r.failed = cfg.check()
	return r
}

// check looks whether a configuration can be one.
func (cfg Config) check() error {
	if cfg.DataGroups > maxGroups {
		return fmt.Errorf("a node has at most %d data groups, not %d; lower Config.DataGroups", maxGroups, cfg.DataGroups)
	}
	seen := map[uint64]bool{}
	for _, m := range cfg.Cluster {
		if m.ID == 0 || seen[m.ID] || len(m.Address) > maxAddress {
			return fmt.Errorf("node %d of Config.Cluster is there twice, or has no id from 1, or an address longer than %d bytes", m.ID, maxAddress)
		}
		seen[m.ID] = true
	}
	if !seen[cfg.Node] {
		return fmt.Errorf("node %d is not in Config.Cluster; add it with its address", cfg.Node)
	}
	return nil
}

// Feed takes the whole content of one journal file; data is the Recovery's
// from then on. Files come in ascending order.
func (r *Recovery) Feed(file uint64, data []byte) error {
	if r.failed != nil {
		return r.failed
	}
	batches, err := r.reader.Feed(file, data)
	if err == nil {
		err = r.replay(file, int64(len(data)), batches)
	}
	r.failed = r.advise(err)
	return r.failed
}

// advise says what is to be done in a cluster about a journal from which a node
// cannot start: a copy of it would be another life of an id.
func (r *Recovery) advise(err error) error {
	switch {
	case err == nil:
		return nil
	case r.foreign:
		return fmt.Errorf("%w; give it its own data directory", err)
	case len(r.c.cfg.Cluster) > 1:
		return fmt.Errorf("%w. This is a node of a cluster: restore no copy, start a new node under a new id with --join and run pestle cluster replace %d --new ID --address HOST:PORT", err, r.c.cfg.Node)
	}
	return err
}

func (r *Recovery) replay(file uint64, size int64, batches []journal.Batch) error {
	w := r.c.writer
	if len(batches) == 0 {
		return nil
	}
	first := len(w.files) == 0
	if records := batches[0].Records; first && (len(records) == 0 || records[0].Kind != recordIdentity) {
		return fmt.Errorf("journal file %d does not begin with what a node knows: keep the data directory and report it", file)
	}
	w.files = append(w.files, &journalFile{seq: file, size: size})
	w.checkpointLen = 0
	w.marked = len(batches[len(batches)-1].Records) == 0
	for i, b := range batches {
		for _, record := range b.Records {
			if i == 0 {
				w.checkpointLen += journal.RecordSize(len(record.Payload))
			}
			err := r.replayRecord(file, b.LogTime, record, first && i == 0)
			if r.foreign {
				return fmt.Errorf("journal file %d: %w", file, err)
			}
			if err != nil && !r.c.cfg.Plant.Is(plant.TornTailAccepted) {
				return fmt.Errorf("journal file %d, record at offset %d: %w; this program cannot have written it: keep the data directory and report it", file, record.At, err)
			}
		}
	}
	return nil
}

// replayRecord takes a record. The checkpoints of the oldest file are the state
// to begin with; later ones repeat what the records before them say.
func (r *Recovery) replayRecord(file uint64, stamp int64, record journal.Record, first bool) (err error) {
	c := r.c
	if record.Group > maxGroups {
		return fmt.Errorf("there is no group %d", record.Group)
	}
	s := c.seat(record.Group)
	switch record.Kind {
	case recordIdentity:
		if c.identity, err = decodeIdentity(record.Payload); err == nil && c.identity.node != c.cfg.Node {
			r.foreign = true
			err = fmt.Errorf("the journal is that of node %d, and this is to be node %d", c.identity.node, c.cfg.Node)
		}
		return err
	case recordBodies:
		return nil // the snapshot behind it says where they are
	case recordMoved:
		if s.id == 0 {
			return fmt.Errorf("a message is of the metadata")
		}
		x, err := decodeMoved(s.id, record.Payload, journal.Position{File: file, Offset: record.At})
		r.moved = append(r.moved, x)
		return err
	case recordHard:
		h, err := decodeHard(record.Payload)
		if err != nil {
			return err
		}
		commit := h.Commit
		h.Commit = max(h.Commit, s.applied) // it may be older than a snapshot that was on its way
		s.log.Hard = h
		return r.applyUpTo(s, commit)
	case recordCheckpoint:
		return r.checkpoint(s, record, first)
	case recordSnapshot:
		r.stamp(record.Group, stamp)
		return r.snapshot(s, record)
	}
	if record.Index <= s.applied {
		return fmt.Errorf("entry %d of group %d comes after it was committed", record.Index, record.Group)
	}
	if record.Kind == kindPublish || record.Kind == kindLedger {
		r.stamp(record.Group, stamp)
	}
	if c.cfg.Plant.Is(plant.TruncationForgotten) && record.Index <= s.log.Last() {
		return nil // what gave way to it is back
	}
	return s.log.Put(replica.FromRecord(record), journal.Position{File: file, Offset: record.At})
}

func (r *Recovery) stamp(group uint32, stamp int64) {
	for uint32(len(r.stamps)) <= group {
		r.stamps = append(r.stamps, 0)
	}
	r.stamps[group] = stamp
}

// applyUpTo applies what is known to be committed.
func (r *Recovery) applyUpTo(s *seat, index uint64) error {
	if index > s.log.Last() {
		return fmt.Errorf("entry %d of group %d is committed and the last one here is %d", index, s.id, s.log.Last())
	}
	for s.applied < index {
		e, err := s.log.Entry(s.applied + 1)
		if err == nil {
			err = r.apply(s, e)
		}
		if err != nil {
			return err
		}
		s.note(e)
	}
	s.log.Trim(r.c.cfg.LogBytes, s.applied)
	return nil
}

func (r *Recovery) apply(s *seat, e replica.Entry) error {
	c := r.c
	switch {
	case e.Kind == replica.KindEmpty:
		return nil
	case e.Kind == replica.KindConf:
		return s.log.ApplyConf(e)
	case s.id == 0:
		_, err := c.meta.apply(e.Kind, e.Payload)
		return err
	}
	group, payload := c.group(s.id), e.Payload
	switch {
	case c.cfg.Plant.Is(plant.FinishLostAtRecovery) && e.Kind == kindLedger:
		payload = withoutFinishes(group, payload)
	case c.cfg.Plant.Is(plant.TornTailAccepted) && e.Kind == kindPublish:
		payload = withSumsOfTheBodies(payload)
	}
	_, err := group.apply(e.Kind, payload, e.Where)
	return err
}

// maxGroups bounds the data groups of a node.
const maxGroups = 255

func (r *Recovery) checkpoint(s *seat, record journal.Record, first bool) error {
	conf, chain, state, err := cutState(record.Payload)
	if err != nil {
		return err
	}
	if !first {
		if err := r.applyUpTo(s, record.Index); err != nil {
			return err
		}
		if s.applied != record.Index || s.chain != chain && !r.c.cfg.Plant.Is(plant.TornTailAccepted) {
			return fmt.Errorf("the checkpoint of group %d after entry %d is not what the records before it say, which go to %d", record.Group, record.Index, s.applied)
		}
		return nil
	}
	s.log.Conf = conf
	s.log.Reset(record.Index, record.Term)
	s.applied, s.appliedTerm = record.Index, record.Term
	return r.c.load(s, &image{chain: chain, state: state})
}

// lostBody is a message of a snapshot whose body was in a file that is gone.
type lostBody struct {
	group, partition uint32
	offset           uint64
}

// snapshot goes over to the state of a snapshot. The file of a body in it may
// be gone, as the entry that allowed it to go comes later.
func (r *Recovery) snapshot(s *seat, record journal.Record) error {
	im, err := readImage(s.id, record.Payload, true)
	im.each(func(partition uint32, x *stub) {
		if last := r.c.writer.current().seq; x.where.File > last && err == nil {
			err = fmt.Errorf("message %d of a snapshot is in journal file %d, and this is file %d", x.offset, x.where.File, last)
		}
		if x.have && x.where.File < r.c.writer.files[0].seq {
			x.have, x.where = false, journal.Position{}
			r.absent = append(r.absent, lostBody{s.id, partition, x.offset})
		}
	})
	if err == nil {
		err = r.c.load(s, &im)
	}
	if err != nil {
		return err
	}
	s.log.Conf = im.conf
	s.log.Reset(record.Index, record.Term)
	s.applied, s.appliedTerm = record.Index, record.Term
	return nil
}

// Finish returns the Core. What it has to do before it can serve is in fx;
// from now on it wants to be stepped.
func (r *Recovery) Finish(now Time, fx *Effects) (*Core, error) {
	if r.failed != nil {
		return nil, r.failed
	}
	tail, err := r.reader.Finish()
	if err == nil {
		r.findMoved()
		err = r.c.checkWhole(r.absent)
	}
	if err != nil {
		return nil, r.advise(err)
	}
	c, w := r.c, r.c.writer
	c.now = now
	c.monoBase, c.startWall = now.Mono, now.Wall
	c.logBase = max(0, now.Wall)
	// The last goes first: a crash in between must leave no hole.
	empty := tail.Empty
	if tail.Spare >= w.fileSize {
		w.ahead = &journalFile{seq: empty[0], size: tail.Spare}
		empty = empty[1:]
	}
	for _, seq := range slices.Backward(empty) {
		fx.add(Effect{Kind: FxRemove, File: seq})
	}
	if tail.End == (journal.Position{}) {
		c.startEmpty(fx)
		return c, nil
	}
	c.logBase = tail.LogTime + max(0, now.Wall-tail.WallTime)
	r.setClocks()
	w.at, w.durable, w.current().salt = tail.End.Offset, tail.RewriteAt, tail.Salt
	if tail.Torn > 0 {
		fx.point(PointRecoveryTornTail)
		fx.log(Warn, "journal file %d: %d bytes of an unfinished write behind offset %d are cut off; nothing in them was acknowledged", tail.End.File, tail.Torn, tail.End.Offset)
	}
	if len(tail.Rewrite) > 0 {
		fx.point(PointRecoveryRewrite)
	}
	if rewrite := append(tail.Rewrite[:len(tail.Rewrite):len(tail.Rewrite)], make([]byte, tail.Torn)...); len(rewrite) > 0 {
		fx.add(Effect{Kind: FxWrite, File: tail.End.File, Offset: tail.RewriteAt.Offset, Data: rewrite})
	}
	w.sync(fx)
	return c, nil
}

// setClocks lets every group's log time go on where it was: by as much as the
// node ran on behind the last entry that tells it, and by what the wall clock
// says that it was away.
func (r *Recovery) setClocks() {
	c := r.c
	for _, s := range c.seats {
		if s.id == 0 {
			continue
		}
		s.ownIndex = s.log.Last()
		s.ownTerm, _ = s.log.Term(s.ownIndex)
		log := c.group(s.id).log
		for i := s.applied + 1; i <= s.log.Last(); i++ {
			if e, err := s.log.Entry(i); err == nil {
				log = max(log, stampOf(e.Kind, e.Payload))
			}
		}
		if log == 0 {
			continue
		}
		away := int64(0)
		if s.id < uint32(len(r.stamps)) && r.stamps[s.id] != 0 {
			away = max(0, c.logBase-r.stamps[s.id])
		}
		s.clock = groupClock{log: log + away, mono: c.now.Mono}
	}
}

// startEmpty makes the first file of a journal.
func (c *Core) startEmpty(fx *Effects) {
	w := c.writer
	c.found()
	w.creating = c.token()
	w.making = &journalFile{seq: 1, size: w.fileSize}
	fx.add(Effect{Kind: FxCreate, File: w.making.seq, N: w.making.size, Token: w.creating})
}

// firstCreated goes on with the start of an empty journal.
func (c *Core) firstCreated(ev Event, fx *Effects) {
	w := c.writer
	if ev.Failed {
		c.exit(fx, "the first journal file cannot be made: "+ev.Text)
		return
	}
	w.creating = 0
	w.enter(w.making, fx)
	w.making = nil
}

// recovered begins to serve: the journal is durable up to its end.
func (c *Core) recovered(now Time, fx *Effects) {
	if c.writer.at == journal.FileHeaderSize {
		c.placeHead()
	}
	messages := 0
	for _, g := range c.groups {
		for _, p := range g.partitions {
			c.openChannels(now, p)
			messages += p.log.count()
		}
	}
	for _, s := range c.seats {
		if s.clock == (groupClock{}) {
			s.clock = groupClock{log: c.logTime(now), mono: now.Mono}
		}
	}
	for _, s := range c.seats {
		if c.clustered() {
			s.quorum.state = Electing
		}
	}
	c.ready = true
	if c.identity.born {
		c.takePart()
	}
	c.setTick(now)
	c.writer.createAhead(fx)
	fx.log(Info, "recovered: %d topics, %d channels, %d messages, %d journal files", len(c.meta.topics), len(c.channels), messages, len(c.writer.files))
	for _, r := range c.early {
		c.requested(now, r, fx)
	}
	c.early = nil
	for _, id := range sortedKeys(c.conns) {
		if cn := c.conns[id]; !cn.dead {
			c.serve(now, cn, fx)
		}
	}
}

// checkWhole looks whether every message that some channel needs is there: a
// file that was taken away at the front of the journal leaves no other trace.
func (c *Core) checkWhole(absent []lostBody) error {
	for _, b := range absent {
		if p := c.group(b.group).partition(b.partition); p != nil && p.log.lacks(b.offset) {
			return fmt.Errorf("message %d of topic %q is needed and is in none of the journal files: the oldest ones are missing; restore the data directory from a copy", b.offset, p.topic)
		}
	}
	for _, g := range c.groups {
		for _, p := range g.partitions {
			first := p.log.first(p.next)
			need := p.keepFrom
			for i, ch := range p.channels {
				if floor := ch.floor(); i == 0 || floor < need {
					need = floor
				}
			}
			if need < first {
				return fmt.Errorf("messages %d to %d of topic %q are needed and are in none of the journal files: the oldest ones are missing; restore the data directory from a copy", need, first-1, p.topic)
			}
		}
	}
	return nil
}
