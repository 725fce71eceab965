package core

import (
	"fmt"
	"slices"

	"pestle/broker/journal"
	"pestle/broker/plant"
)

// Recovery builds a Core from what an earlier one left in the journal.
//
//	r := core.NewRecovery(cfg)
//	for each journal file, in ascending order { err := r.Feed(number, content) }
//	c, err := r.Finish(now, &fx)
//
// An error means that the node must not start; it says why and what to do.
type Recovery struct {
	c      *Core
	reader journal.Reader
	failed error
}

// NewRecovery begins the life of a node.
func NewRecovery(cfg Config) *Recovery {
	cfg = cfg.withDefaults()
	c := &Core{
		cfg:      cfg,
		meta:     newMetadata(),
		cache:    cache{limit: cfg.CacheBytes},
		conns:    map[ConnID]*conn{},
		channels: map[uint32]*channel{},
		works:    map[string]*topicWork{},
		claims:   map[uint64]*operation{},
		reads:    map[uint64]*item{},
	}
	c.writer = &writer{core: c, fileSize: cfg.FileSize, memory: cfg.Durability == Memory}
	c.voter = newSoleVoter(c.writer)
	c.replicator = c.voter
	r := &Recovery{c: c, reader: journal.Reader{Plant: cfg.Plant}}
	if cfg.DataGroups > maxGroups {
		r.failed = fmt.Errorf("a node has at most %d data groups, not %d; lower Config.DataGroups", maxGroups, cfg.DataGroups)
	}
	return r
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
	r.failed = err
	return err
}

func (r *Recovery) replay(file uint64, size int64, batches []journal.Batch) error {
	w := r.c.writer
	if len(batches) == 0 {
		return nil
	}
	first := len(w.files) == 0
	if records := batches[0].Records; first && file > 1 && (len(records) == 0 || records[0].Kind != kindCheckpoint) {
		return fmt.Errorf("journal file %d does not begin with a checkpoint: keep the data directory and report it", file)
	}
	w.files = append(w.files, &journalFile{seq: file, size: size})
	w.checkpointLen = 0
	w.marked = len(batches[len(batches)-1].Records) == 0
	for i, b := range batches {
		for _, record := range b.Records {
			if record.Kind == kindCheckpoint {
				w.checkpointLen += journal.RecordSize(len(record.Payload))
			}
			err := r.replayRecord(file, record, first && i == 0)
			if err != nil && !r.c.cfg.Plant.Is(plant.TornTailAccepted) {
				return fmt.Errorf("journal file %d, record at offset %d: %w; this program cannot have written it: keep the data directory and report it", file, record.At, err)
			}
		}
	}
	return nil
}

// replayRecord applies a record. The checkpoints of the oldest file are the
// state to begin with; later ones repeat what the records before them say.
func (r *Recovery) replayRecord(file uint64, record journal.Record, first bool) error {
	c, last := r.c, r.c.voter.index[record.Group]
	if record.Kind == kindCheckpoint {
		if first {
			return r.load(record)
		}
		if record.Index != last {
			return fmt.Errorf("checkpoint of group %d after entry %d does not follow entry %d", record.Group, record.Index, last)
		}
		return nil
	}
	if record.Index != last+1 {
		return fmt.Errorf("entry %d of group %d does not follow entry %d", record.Index, record.Group, last)
	}
	c.voter.index[record.Group] = record.Index
	if record.Group == 0 {
		_, err := c.meta.apply(record.Kind, record.Payload)
		return err
	}
	if record.Group > maxGroups {
		return fmt.Errorf("there is no group %d", record.Group)
	}
	group, payload := c.group(record.Group), record.Payload
	switch {
	case c.cfg.Plant.Is(plant.FinishLostAtRecovery) && record.Kind == kindLedger:
		payload = withoutFinishes(group, payload)
	case c.cfg.Plant.Is(plant.TornTailAccepted) && record.Kind == kindPublish:
		payload = withSumsOfTheBodies(payload)
	}
	_, err := group.apply(record.Kind, payload, journal.Position{File: file, Offset: record.At})
	return err
}

// maxGroups bounds the data groups of a node.
const maxGroups = 255

func (r *Recovery) load(record journal.Record) (err error) {
	c := r.c
	c.voter.index[record.Group] = record.Index
	if record.Group == 0 {
		c.meta, err = loadMetadata(record.Payload)
		return err
	}
	if record.Group > maxGroups {
		return fmt.Errorf("there is no group %d", record.Group)
	}
	c.group(record.Group)
	c.groups[record.Group-1], err = loadDataGroup(record.Payload, c)
	return err
}

// Finish returns the Core. What it has to do before it can serve is in fx;
// from now on it wants to be stepped.
func (r *Recovery) Finish(now Time, fx *Effects) (*Core, error) {
	if r.failed != nil {
		return nil, r.failed
	}
	tail, err := r.reader.Finish()
	if err == nil {
		err = r.c.checkWhole()
	}
	if err != nil {
		return nil, err
	}
	c, w := r.c, r.c.writer
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

// startEmpty makes the first file of a journal.
func (c *Core) startEmpty(fx *Effects) {
	w := c.writer
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
	messages := 0
	for _, g := range c.groups {
		for _, p := range g.partitions {
			c.openChannels(now, p)
			messages += p.log.count()
		}
	}
	c.ready = true
	c.reopen()
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
func (c *Core) checkWhole() error {
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
