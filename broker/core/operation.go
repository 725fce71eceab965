package core

import (
	"slices"

	"pestle/broker/journal"
	"pestle/broker/nsq"
)

// operationKind says what a client wants done.
type operationKind uint8

const (
	opPublish operationKind = iota
	opSubscribe
	opCreateTopic
	opCreateChannel
	opMembers
)

// operation is something a client asked for that takes entries of the log. It
// waits until the topic, and the channel it needs, have been made.
type operation struct {
	kind    operationKind
	topic   string
	channel string
	bodies  [][]byte
	deferMS int64 // ms
	timer   deadline
	group   uint32 // that the last proposal went to …
	ticket  uint64 // … and its ticket; 0: none

	conn ConnID // who asked …
	slot nsq.Slot
	verb string

	http    bool // … or an HTTP call
	request RequestID
}

// topicWork is what is under way for a topic: entries that were proposed and
// are not applied yet, and the operations that wait for them. It goes when
// nothing is.
type topicWork struct {
	waiting  []*operation
	creating bool
	opening  bool
	channels []string // proposed by name
	opened   []uint32 // channel-open proposed by id
}

func (w *topicWork) idle() bool {
	return len(w.waiting) == 0 && !w.creating && !w.opening && len(w.channels) == 0 && len(w.opened) == 0
}

func (c *Core) publish(now Time, cn *conn, command nsq.Command, fx *Effects) {
	cn.published += int64(len(command.Bodies))
	c.begin(now, &operation{
		kind: opPublish, topic: command.Topic, bodies: command.Bodies, deferMS: command.DeferMS,
		conn: cn.id, slot: command.Slot, verb: command.Verb,
	}, fx)
}

func (c *Core) subscribe(now Time, cn *conn, command nsq.Command, fx *Effects) {
	c.begin(now, &operation{
		kind: opSubscribe, topic: command.Topic, channel: command.Channel, conn: cn.id, slot: command.Slot,
	}, fx)
}

// begin takes an operation as far as it goes now.
func (c *Core) begin(now Time, op *operation, fx *Effects) {
	if c.stopping != serving {
		c.fail(op, stopText, fx)
		return
	}
	c.deadlines.set(&op.timer, now.Mono+operationPatience, operationTimer{op})
	if !c.advance(now, op, fx) {
		w := c.work(op.topic)
		w.waiting = append(w.waiting, op)
	}
}

// operationPatience is how long a client waits at most.
const operationPatience = 5000 * millisecond

// operationTimer is due when a client has waited long enough.
type operationTimer struct{ op *operation }

func (t operationTimer) expire(c *Core, _ Time, fx *Effects) {
	op := t.op
	if w := c.works[op.topic]; w != nil {
		w.waiting = slices.DeleteFunc(w.waiting, func(x *operation) bool { return x == op })
	}
	unproposed := op.ticket == 0 || op.kind == opPublish && c.claims[op.ticket] != op
	if unproposed || c.withdraw(op.group, op.ticket) {
		fx.point(PointRefusedReadOnly)
		delete(c.claims, op.ticket)
		c.deny(op, codeReadOnly, "no leader was found in time: nothing was written, try again", fx)
		return
	}
	fx.point(PointQuorumLost)
	delete(c.claims, op.ticket)
	c.deny(op, codeQuorumLost, "no majority of the nodes had it on disk in time: it may have been written, or be written yet", fx)
}

func (c *Core) work(topic string) *topicWork {
	w := c.works[topic]
	if w == nil {
		w = &topicWork{}
		c.works[topic] = w
	}
	return w
}

// workOn looks again at what waits for a topic, after an entry that concerns
// it was applied. Operations that wait for the same thing are done in the
// order they came, before any that comes later.
func (c *Core) workOn(now Time, topic string, fx *Effects) {
	w := c.works[topic]
	if w == nil {
		return
	}
	c.noteDone(topic, w)
	w.waiting = slices.DeleteFunc(w.waiting, func(op *operation) bool { return c.advance(now, op, fx) })
	if w.idle() {
		delete(c.works, topic)
	}
}

// noteDone strikes off what the replicated state shows to be done.
func (c *Core) noteDone(topic string, w *topicWork) {
	t := c.meta.byName[topic]
	if t == nil {
		w.creating = w.creating && !c.meta.full()
		return
	}
	w.creating = false
	p := c.partitionOf(t)
	w.opening = w.opening && p == nil
	w.channels = slices.DeleteFunc(w.channels, func(name string) bool {
		_, exists := t.channel(name)
		return exists
	})
	w.opened = slices.DeleteFunc(w.opened, func(id uint32) bool { return p != nil && p.channel(id) != nil })
}

// advance does the next step of an operation and reports whether it is over:
// each step is an entry that brings the state nearer to what the operation
// needs, and is not proposed twice.
func (c *Core) advance(now Time, op *operation, fx *Effects) (over bool) {
	t := c.meta.byName[op.topic]
	if t == nil {
		return c.createTopic(op, fx)
	}
	p := c.partitionOf(t)
	if p == nil {
		return c.openPartition(op, t, fx)
	}
	switch op.kind {
	case opPublish:
		c.proposePublish(now, op, t, p, fx)
		return true
	case opCreateTopic:
		c.succeed(op, fx)
		return true
	}
	info, exists := t.channel(op.channel)
	if !exists {
		return c.createChannel(op, t, fx)
	}
	if p.channel(info.id) == nil {
		return c.openOnPartition(op, t, p, info, fx)
	}
	ch := c.channels[info.id]
	if ch.leaving {
		return false // it is being deleted, and then made anew
	}
	if op.kind == opSubscribe {
		c.attach(op, ch)
	} else {
		c.succeed(op, fx)
	}
	return true
}

// proposeFor proposes an entry for an operation; false means that it is
// refused, and the operation over.
func (c *Core) proposeFor(op *operation, p proposal, fx *Effects) bool {
	if why, refused := c.refusal(p.group); refused {
		fx.point(PointRefusedReadOnly)
		c.deny(op, codeReadOnly, why, fx)
		return false
	}
	if c.admits(p.group, len(p.payload), p.essential) == full {
		c.refuse(op, c.fullText(), fx)
		return false
	}
	op.group, op.ticket = p.group, c.propose(p)
	return true
}

func (c *Core) createTopic(op *operation, fx *Effects) (over bool) {
	if op.kind == opCreateChannel {
		c.deadlines.cancel(&op.timer)
		c.reply(op.request, "TOPIC_NOT_FOUND", "there is no topic "+op.topic, fx)
		return true
	}
	if c.meta.full() {
		c.fail(op, "no partition id is left for another topic", fx)
		return true
	}
	if w := c.work(op.topic); !w.creating {
		e := topicCreate{op.topic}
		w.creating = c.proposeFor(op, proposal{kind: kindTopicCreate, payload: e.encode()}, fx)
		return !w.creating
	}
	return false
}

func (c *Core) openPartition(op *operation, t *topic, fx *Effects) (over bool) {
	if w := c.work(t.name); !w.opening {
		w.opening = c.proposeFor(op, partitionOpenProposal(t), fx)
		return !w.opening
	}
	return false
}

func (c *Core) createChannel(op *operation, t *topic, fx *Effects) (over bool) {
	w := c.work(t.name)
	if slices.Contains(w.channels, op.channel) {
		return false
	}
	e := channelCreate{t.name, op.channel}
	if !c.proposeFor(op, proposal{kind: kindChannelCreate, payload: e.encode()}, fx) {
		return true
	}
	w.channels = append(w.channels, op.channel)
	return false
}

// openOnPartition opens a channel, and before it those that were created
// earlier and a full disk has not let open: which one is the first, and gets
// what is stored, is for the metadata to say. Of ephemeral ones the clients are
// gone.
func (c *Core) openOnPartition(op *operation, t *topic, p *partition, info channelInfo, fx *Effects) (over bool) {
	w := c.work(t.name)
	for _, other := range t.channels {
		if other.id > info.id {
			break
		}
		if p.channel(other.id) != nil || slices.Contains(w.opened, other.id) || other.id != info.id && isEphemeral(other.name) {
			continue
		}
		if !c.proposeFor(op, channelOpenProposal(t, other), fx) {
			return true
		}
		w.opened = append(w.opened, other.id)
	}
	return false
}

func partitionOpenProposal(t *topic) proposal {
	return proposal{group: t.group, kind: kindPartitionOpen, payload: partitionOpen{t.partition, t.name}.encode()}
}

func channelOpenProposal(t *topic, info channelInfo) proposal {
	e := channelOpen{partition: t.partition, channel: info.id, name: info.name}
	return proposal{group: t.group, kind: kindChannelOpen, payload: e.encode()}
}

// reopen proposes the opens that the end of another node left out between the
// metadata and the partitions, and takes away ephemeral channels that have no
// clients here.
func (c *Core) reopen() {
	for _, t := range c.meta.topics {
		p := c.partitionOf(t)
		if p == nil {
			c.work(t.name).opening = true
			c.propose(partitionOpenProposal(t))
		}
		if p != nil {
			c.closeStray(t, p)
		}
		for _, info := range t.channels {
			switch {
			case isEphemeral(info.name) && (c.channels[info.id] == nil || len(c.channels[info.id].consumers) == 0):
				c.proposeDelete(t.name, info.id)
			case p == nil || p.channel(info.id) == nil:
				w := c.work(t.name)
				w.opened = append(w.opened, info.id)
				c.propose(channelOpenProposal(t, info))
			}
		}
	}
}

// closeStray proposes to close the channels of a partition that were deleted
// from the metadata before a crash.
func (c *Core) closeStray(t *topic, p *partition) {
	for _, state := range p.channels {
		if !slices.ContainsFunc(t.channels, func(info channelInfo) bool { return info.id == state.id }) {
			c.proposeClose(t, state.id)
		}
	}
}

// attach makes a connection a consumer of a channel.
func (c *Core) attach(op *operation, ch *channel) {
	c.deadlines.cancel(&op.timer)
	cn := c.conns[op.conn]
	if cn == nil || cn.dead {
		if ch.leads && ch.ephemeral() && len(ch.consumers) == 0 {
			c.deleteChannel(ch)
		}
		return
	}
	cn.ch = ch
	ch.consumers = append(ch.consumers, cn)
	cn.session.Subscribed(op.slot)
	c.touch(cn)
	c.resumed = append(c.resumed, cn)
}

// deleteChannel begins to take away an ephemeral channel whose last client
// has left: first from the metadata, then from the partition. It delivers
// nothing any more.
func (c *Core) deleteChannel(ch *channel) {
	if !ch.leaving {
		ch.leaving = true
		c.proposeDelete(ch.part.topic, ch.state.id)
	}
}

func (c *Core) proposeDelete(topic string, id uint32) {
	if ch := c.channels[id]; ch != nil {
		ch.leaving = true
	}
	e := channelDelete{topic, id}
	c.propose(proposal{kind: kindChannelDelete, payload: e.encode(), essential: true})
}

// channelDeleted goes on with it once the metadata are without the channel.
func (c *Core) channelDeleted(payload []byte) {
	e, err := decodeChannelDelete(payload)
	if err != nil {
		panic("core: " + err.Error()) // it was applied a moment ago
	}
	if t := c.meta.byName[e.topic]; t != nil {
		c.proposeClose(t, e.channel)
	}
}

func (c *Core) proposeClose(t *topic, id uint32) {
	e := channelClose{t.partition, id}
	c.propose(proposal{group: t.group, kind: kindChannelClose, payload: e.encode(), essential: true})
}

func (c *Core) proposePublish(now Time, op *operation, t *topic, p *partition, fx *Effects) {
	e := publish{partition: p.id, delay: op.deferMS * millisecond}
	for _, body := range op.bodies {
		e.messages = append(e.messages, published{body: body, sum: journal.Sum(body)})
	}
	if c.proposeFor(op, proposal{group: t.group, kind: kindPublish, payload: e.encode()}, fx) {
		op.bodies = nil // the entry has them
		c.claims[op.ticket] = op
	}
}

// proposalRefused tells who waits for an entry that it will not come.
func (c *Core) proposalRefused(kind uint8, ticket uint64, why string, fx *Effects) {
	if kind == kindPublish {
		if op := c.claims[ticket]; op != nil {
			delete(c.claims, ticket)
			c.refuse(op, why, fx)
		}
		return
	}
	// An entry that makes something: whoever waits for that topic asks again.
	for _, name := range sortedKeys(c.works) {
		for _, op := range c.takeWaiting(name) {
			c.refuse(op, why, fx)
		}
	}
}

// refuse answers an operation for which the journal has no room.
func (c *Core) refuse(op *operation, why string, fx *Effects) {
	if op.kind == opPublish {
		fx.point(PointPublishRefusedFull)
	}
	c.fail(op, why, fx)
}

// takeWaiting gives up on what waits for a topic, for the caller to answer it.
// What was proposed for it may still come, and does no harm then.
func (c *Core) takeWaiting(topic string) []*operation {
	w := c.works[topic]
	delete(c.works, topic)
	return w.waiting
}

// succeed answers an operation that is done.
func (c *Core) succeed(op *operation, fx *Effects) {
	if op.kind == opPublish {
		fx.point(PointAck)
	}
	c.deadlines.cancel(&op.timer)
	if op.http {
		c.reply(op.request, "", "", fx)
		return
	}
	if cn := c.conns[op.conn]; cn != nil && !cn.dead {
		cn.session.Reply(op.slot, nsq.OK)
		c.touch(cn)
	}
}

// deny answers an operation that fails for want of a quorum.
func (c *Core) deny(op *operation, code, why string, fx *Effects) {
	if op.http {
		c.deadlines.cancel(&op.timer)
		c.reply(op.request, code, why, fx)
		return
	}
	c.fail(op, code+" "+why, fx)
}

// fail answers an operation that is refused: nothing of it was done or will
// be, but for the topic it may have made.
func (c *Core) fail(op *operation, why string, fx *Effects) {
	c.deadlines.cancel(&op.timer)
	if op.http {
		c.reply(op.request, "EXITING", why, fx)
		return
	}
	cn := c.conns[op.conn]
	if cn == nil || cn.dead {
		return
	}
	code := nsq.CodeSubFailed
	if op.kind == opPublish {
		code = nsq.PublishFailed(op.verb)
	}
	cn.session.Fail(op.slot, code, why)
	c.touch(cn)
}
