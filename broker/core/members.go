package core

import "fmt"

// clusterRequest acts on a call that concerns the cluster, or reads what is
// stored.
func (c *Core) clusterRequest(now Time, r *Request, fx *Effects) {
	if !c.ready {
		c.early = append(c.early, r)
		return
	}
	switch r.Kind {
	case ReqRead:
		c.readStored(r, fx)
	case ReqTransfer:
		c.transfer(r, fx)
	case ReqDrain:
		verb := uint8(memberDrain)
		if r.Undo {
			verb = memberServe
		}
		c.changeMembers(now, r, membersChange{verb: verb, node: r.Node}, fx)
	case ReqReplace:
		c.changeMembers(now, r, membersChange{verb: memberReplace, node: r.Node, newNode: r.NewNode, address: r.Address}, fx)
	default:
		panic(fmt.Sprintf("core: there is no request of kind %d", r.Kind))
	}
}

// changeMembers proposes a change of who is in the cluster.
func (c *Core) changeMembers(now Time, r *Request, e membersChange, fx *Effects) {
	if code, text := c.checkChange(e); code != "" {
		c.reply(r.ID, code, text, fx)
		return
	}
	op := &operation{kind: opMembers, http: true, request: r.ID}
	if c.stopping != serving {
		c.fail(op, stopText, fx)
		return
	}
	c.deadlines.set(&op.timer, now.Mono+operationPatience, operationTimer{op})
	if c.proposeFor(op, proposal{kind: kindMembers, payload: e.encode(), essential: true}, fx) {
		c.claims[op.ticket] = op
	}
}

// checkChange returns the error code of a change that can never be made.
func (c *Core) checkChange(e membersChange) (code, text string) {
	old := c.meta.member(e.node)
	switch {
	case old == nil:
		return "UNKNOWN_NODE", fmt.Sprintf("node %d is not in the cluster; its nodes are %v", e.node, c.memberIDs())
	case e.verb != memberReplace:
		return "", ""
	case e.newNode != 0 && e.address == "" || len(e.address) > maxAddress:
		return "INVALID_ADDRESS", fmt.Sprintf("node %d needs an address of 1 to %d bytes at which the others reach it", e.newNode, maxAddress)
	}
	other := c.meta.member(e.newNode)
	if old.retired && other == nil {
		return "NODE_GONE", fmt.Sprintf("node %d was replaced or removed before", e.node)
	}
	if other != nil && !(old.retired && !other.retired && other.address == e.address) {
		return "NODE_ID_USED", fmt.Sprintf("node %d is or was in the cluster: an id is used once, take one that none of %v is", e.newNode, c.memberIDs())
	}
	return "", ""
}

// memberIDs lists the nodes of the cluster, and those that were.
func (c *Core) memberIDs() (ids []uint64) {
	for _, m := range c.meta.members {
		ids = append(ids, m.id)
	}
	return ids
}

// membersChanged does this node's part of a change.
func (c *Core) membersChanged(o outcome, fx *Effects) {
	c.setTick(c.now)
	if op := c.claims[o.ticket]; o.ticket != 0 && op != nil {
		delete(c.claims, o.ticket)
		c.succeed(op, fx)
	}
}

// transfer asks for another leader of a group, or of all.
func (c *Core) transfer(r *Request, fx *Effects) {
	m := c.meta.member(r.Node)
	switch {
	case m == nil || m.retired:
		c.reply(r.ID, "UNKNOWN_NODE", fmt.Sprintf("node %d is not in the cluster; its nodes are %v", r.Node, c.memberIDs()), fx)
		return
	case r.Group != AllGroups && r.Group >= uint32(len(c.seats)):
		c.reply(r.ID, "UNKNOWN_GROUP", fmt.Sprintf("there is no group %d; the last one is %d", r.Group, len(c.seats)-1), fx)
		return
	}
	for _, s := range c.seats {
		switch {
		case r.Group != AllGroups && r.Group != s.id || s.lead == r.Node:
		case s.leads:
			fx.point(PointLeadMoved)
			s.group.Transfer(r.Node)
		case s.lead != 0:
			c.item(s.lead, itemTransfer, appendUint(appendUint(nil, uint64(s.id)), r.Node))
		case r.Group != AllGroups:
			c.reply(r.ID, "NO_LEADER", fmt.Sprintf("group %d has no leader that could hand over", s.id), fx)
			return
		}
	}
	c.reply(r.ID, "", "", fx)
}

const (
	maxRead      = 64      // messages that one call returns at most …
	maxReadBytes = 1 << 20 // … and bytes of them, but for one larger
)

// readStored answers with what is stored of a topic from an offset on.
func (c *Core) readStored(r *Request, fx *Effects) {
	t := c.meta.byName[r.Topic]
	if t == nil || c.partitionOf(t) == nil {
		c.reply(r.ID, "TOPIC_NOT_FOUND", "there is no topic "+r.Topic, fx)
		return
	}
	f := &fetch{request: r.ID, group: t.group, partition: t.partition}
	p := c.partitionOf(t)
	size := int64(0)
	for o := max(r.Offset, p.log.first(p.next)); o < p.next && len(f.items) < min(max(r.Count, 1), maxRead); o++ {
		m := p.log.at(o)
		if m == nil || m.rotten {
			continue
		}
		if size += int64(m.size); len(f.items) > 0 && size > maxReadBytes {
			break
		}
		c.fetchBody(f, m, fx)
	}
	c.answerFetch(f, fx)
}

// answerRead answers a call with the messages that could be read.
func (c *Core) answerRead(f *fetch, fx *Effects) {
	reply := &Reply{Read: []StoredMessage{}}
	for _, x := range f.items {
		if x.state == bodyHere {
			reply.Read = append(reply.Read, StoredMessage{Offset: x.offset, Log: x.log, Body: x.body})
		}
	}
	fx.add(Effect{Kind: FxReply, Request: f.request, Reply: reply})
}
