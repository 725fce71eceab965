package core

import (
	"encoding/binary"
	"fmt"

	"pestle/broker/journal"
	"pestle/broker/plant"
)

// A node id is used once. Whoever votes or acknowledges under an id must still
// have what it said under it before, so a node that has lost its data must not
// go on as if it had just been made. It cannot know that by itself; the others
// can. Each node has a random instance number of its own, made with its journal
// and kept there, and remembers durably which instance it met under which id.
// A new node is born, and only then takes part in anything, when more than half
// of the others have remembered it: of any two such halves one node is in both,
// so that a second instance of an id meets somebody who knows the first. A
// cluster therefore begins only when nearly all of its nodes are there: of
// three all, of five four.

// identity is who this node is, and whom it has met. It is part of every
// journal file's head.
type identity struct {
	node     uint64
	instance uint64
	born     bool
	known    map[uint64]acquaintance // by node
}

// acquaintance is another node's instance.
type acquaintance struct {
	instance uint64
	batch    uint64 // of this node's journal that says so; 0: durable for long
}

func (id *identity) record() journal.Record {
	payload := binary.LittleEndian.AppendUint64(appendUint([]byte{entryVersion}, id.node), id.instance)
	born := uint64(0)
	if id.born {
		born = 1
	}
	payload = appendUint(appendUint(payload, born), uint64(len(id.known)))
	for _, node := range sortedKeys(id.known) {
		payload = binary.LittleEndian.AppendUint64(appendUint(payload, node), id.known[node].instance)
	}
	return journal.Record{Kind: recordIdentity, Payload: payload}
}

func decodeIdentity(in []byte) (identity, error) {
	d := newDecoder(in)
	id := identity{node: d.uint(), instance: d.fixed64(), born: d.uint() != 0, known: map[uint64]acquaintance{}}
	for n := d.count(9); n > 0; n-- {
		node := d.uint()
		id.known[node] = acquaintance{instance: d.fixed64()}
	}
	if d.err == nil && id.instance == 0 {
		d.fail(fmt.Errorf("it has no instance number"))
	}
	return id, d.end()
}

// writeIdentity puts the identity into the open batch; false: there is no
// room, and it has to be tried again.
func (c *Core) writeIdentity() bool {
	_, ok := c.writer.put(c.identity.record())
	c.writer.urgent = c.writer.urgent || ok
	c.wantsFile = c.wantsFile || !ok
	return ok
}

// meet notes under which instance another node shows itself, and reports
// whether that is the one it is known by, durably. Of a stranger it may be
// false for now.
func (c *Core) meet(node, instance uint64, fx *Effects) bool {
	known, met := c.identity.known[node]
	if !met {
		known = acquaintance{instance: instance, batch: c.writer.batch}
		c.identity.known[node] = known
		if !c.writeIdentity() {
			delete(c.identity.known, node)
			return false
		}
		fx.point(PointNodeMet)
	}
	if known.instance != instance && c.cfg.Plant.Is(plant.WipedNodeVotes) {
		delete(c.identity.known, node) // and is met anew
		return false
	}
	return known.instance == instance && known.batch <= c.writer.durableBatch
}

// instanceOf is what this node durably knows another one by; 0: nothing.
func (c *Core) instanceOf(node uint64) uint64 {
	if a, ok := c.identity.known[node]; ok && a.batch <= c.writer.durableBatch {
		return a.instance
	}
	return 0
}

// introduce tells the others of a node that is not born yet.
func (c *Core) introduce(fx *Effects) {
	if c.identity.born {
		return
	}
	if c.bornIn != 0 {
		c.birth(fx)
		return
	}
	for _, m := range c.cfg.Cluster {
		if m.ID != c.cfg.Node {
			c.item(m.ID, itemHello, nil)
		}
	}
}

// remembered notes that another node has remembered this one.
func (c *Core) remembered(node uint64, fx *Effects) {
	if c.identity.born || c.bornIn != 0 {
		return
	}
	c.witnesses[node] = true
	others, attest := 0, 0
	for _, m := range c.cfg.Cluster {
		if m.ID == c.cfg.Node {
			continue
		}
		if others++; c.witnesses[m.ID] {
			attest++
		}
	}
	if 2*attest > others {
		c.bear(fx)
	}
}

// bear writes down that the node is born.
func (c *Core) bear(fx *Effects) {
	c.identity.born = true
	c.bornIn = c.writer.batch
	if !c.writeIdentity() {
		c.bornIn = 0
	}
	c.identity.born = false
	c.birth(fx)
}

// birth lets the node take part, once it is durable that it may.
func (c *Core) birth(fx *Effects) {
	if c.bornIn == 0 || c.bornIn > c.writer.durableBatch {
		return
	}
	c.bornIn, c.identity.born = 0, true
	fx.point(PointNodeBorn)
	fx.log(Info, "node %d takes part in the cluster now", c.cfg.Node)
	c.takePart()
}

// takePart lets the node take part in its groups.
func (c *Core) takePart() {
	for _, s := range c.seats {
		if s.group != nil {
			continue
		}
		c.sit(s)
		alone := len(s.log.Conf.Voters) == 1 && s.log.Conf.Voters[0] == c.cfg.Node
		if first := s.applied == firstIndex && s.log.Last() == firstIndex; alone || first && c.preferred(s) == c.cfg.Node {
			s.group.Campaign()
		}
	}
}

// doubted is called when another node knows this one as another instance: what
// was said under its id is lost.
func (c *Core) doubted(by uint64, fx *Effects) {
	if c.identity.born || c.cfg.Plant.Is(plant.WipedNodeVotes) {
		return
	}
	c.enterQuarantine(fmt.Sprintf("node %d knows node %d as one that has lost its data: an id is used once", by, c.cfg.Node), fx)
}

// enterQuarantine ends this node's part in the cluster: it still answers what
// it can, and neither votes nor acknowledges anything.
func (c *Core) enterQuarantine(why string, fx *Effects) {
	c.quarantineWith(why, fmt.Sprintf("start a new node under a new id with --join and run pestle cluster replace %d --new ID --address HOST:PORT", c.cfg.Node), fx)
}

func (c *Core) quarantineWith(why, remedy string, fx *Effects) {
	if c.quarantine != "" {
		return
	}
	c.quarantine = why + "; " + remedy
	fx.point(PointQuarantined)
	fx.log(Error, "quarantine: %s", c.quarantine)
	for _, s := range c.seats {
		if s.leads {
			s.leads = false
			c.lost(s, fx)
		}
		s.lead, s.open = 0, 0
		s.quorum.state = ReadOnly
	}
}
