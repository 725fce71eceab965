package core

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pestle/broker/journal"
	"pestle/broker/nsq"
	"pestle/sim/random"

	"pgregory.net/rapid"
)

// network loses, doubles, delays and reorders what nodes tell each other.
type network struct {
	*cluster
	draw   *random.Stream
	loss   int64 // of a thousand frames
	double int64
	late   int64
	most   int64 // ns that a frame is late at most
	away   []frameOnItsWay
}

type frameOnItsWay struct {
	from uint64
	at   int64
	told Effect
}

func (n *network) carry(from uint64, told []Effect) (now []Effect) {
	for _, e := range told {
		copies := 1
		switch {
		case n.draw.Permille(n.loss):
			copies = 0
		case n.draw.Permille(n.double):
			copies = 2
		}
		for range copies {
			at := n.now.Mono
			if n.draw.Permille(n.late) {
				at += n.draw.Below(n.most)
			}
			n.away = append(n.away, frameOnItsWay{from, at, e})
		}
	}
	n.away = slices.DeleteFunc(n.away, func(f frameOnItsWay) bool {
		due := f.from == from && f.at <= n.now.Mono
		if due {
			now = append(now, f.told)
		}
		return due
	})
	return now
}

// ordeal is a cluster under everything that may happen to it, and what its
// producers were told.
type ordeal struct {
	*network
	producers map[uint64]*producer // by node
	sent      int
	since     map[uint32]int64 // monotonic time at which a body was sent, by its sum
	bodies    map[string]*sentBody
	lists     [][]*sentBody // by connection, in the order they were sent
}

type producer struct {
	*client
	sent     []*sentBody
	byTicket map[uint64]*sentBody
}

// sentBody is one message and its answer.
type sentBody struct {
	body     string
	acked    bool
	unwanted bool // refused: it is nowhere
	finished bool // perhaps: it may be gone
}

func newOrdeal(t testing.TB, cfg Config, seed uint64) *ordeal {
	o := &ordeal{producers: map[uint64]*producer{}, since: map[uint32]int64{}, bodies: map[string]*sentBody{}}
	o.network = &network{cluster: newCluster(t, 3, cfg), draw: random.New(seed)}
	for id := range uint64(3) {
		o.publish(id+1, "OK", fmt.Sprint("first-", id))
	}
	o.consumer(1, 0)
	o.cluster.carry = o.network.carry
	return o
}

// act does one thing; what a and b mean is the kind's.
func (o *ordeal) act(a action) {
	id := uint64(a.a%3) + 1
	r := o.nodes[id]
	switch a.kind % ordealActions {
	case 0, 1, 2:
		if r != nil {
			o.send(id, 1+a.b%4)
		}
	case 3:
		o.pass(int64(a.b%300) * millisecond)
	case 4:
		o.jostle(a.b % 200)
	case 5:
		if r != nil {
			o.hear()
			o.cluster.kill(id)
			delete(o.producers, id)
		}
	case 6:
		o.powerLoss(id)
	case 13:
		for i := range 3 * (a.a % 10) {
			if at := uint64(i%3) + 1; o.nodes[at] != nil {
				o.send(at, 1)
				o.jostle(int(o.draw.Below(6)))
			}
		}
		for id := range uint64(3) {
			o.powerLoss(id + 1)
		}
		for id := range uint64(3) {
			o.start(id + 1)
		}
	case 7:
		if r == nil {
			o.start(id)
		}
	case 8:
		o.cut = func(from, to uint64) bool { return from == id || to == id }
		if a.b%3 == 0 { // one way only
			o.cut = func(from, _ uint64) bool { return from == id }
		}
	case 9:
		o.cut = nil
	case 10:
		o.loss, o.double, o.late, o.most = int64(a.a%200), int64(a.b%100), int64(a.a*7%500), 1+int64(a.b)*millisecond
	case 11:
		if r != nil {
			r.request(Request{Kind: ReqTransfer, Group: AllGroups, Node: uint64(a.b%3) + 1})
		}
	case 12:
		o.pass(int64(a.b%7) * second)
	case 14:
		if r != nil {
			o.consume(r, int64(1+a.b%9))
		}
	}
	o.hear()
	o.check()
}

const ordealActions = 15

func (o *ordeal) powerLoss(id uint64) {
	r := o.nodes[id]
	if r == nil {
		return
	}
	o.hear()
	r.powerLoss(func(size int) int { return int(o.draw.Below(int64(size) + 1)) })
	r.told = nil
	delete(o.nodes, id)
	delete(o.producers, id)
}

// send publishes a few messages on one connection.
func (o *ordeal) send(at uint64, n int) {
	p := o.producers[at]
	if p == nil || p.gone {
		p = &producer{client: o.nodes[at].dial(), byTicket: map[uint64]*sentBody{}}
		o.producers[at] = p
	}
	for range n {
		o.sent++
		m := &sentBody{body: fmt.Sprintf("m%d%s", o.sent, strings.Repeat(".", o.sent%150))}
		o.bodies[m.body] = m
		p.byTicket[p.Publish("t", []byte(m.body))] = m
		o.since[journal.Sum([]byte(m.body))] = o.now.Mono
		p.sent = append(p.sent, m)
	}
	if len(p.sent) == n {
		o.lists = append(o.lists, nil)
	}
	o.lists[len(o.lists)-1] = p.sent
}

// hear takes the answers that have come.
func (o *ordeal) hear() {
	for _, id := range sortedKeys(o.producers) {
		p := o.producers[id]
		for _, n := range p.notices {
			m := p.byTicket[n.Ticket]
			switch n.Kind {
			case nsq.NoticePublished:
				m.acked = true
			case nsq.NoticeRefused:
				m.unwanted = !strings.Contains(n.Text, codeQuorumLost)
			}
		}
		p.notices = nil
	}
}

// consume takes some messages at a node, if it leads, finishes some of them and
// requeues others.
func (o *ordeal) consume(r *rig, ready int64) {
	cl := r.dial()
	cl.Subscribe("t", "ch")
	cl.Ready(ready)
	o.pass(50 * millisecond)
	for i, n := range cl.deliveries() {
		if i%3 == 2 {
			cl.Requeue(n.ID, 1000)
			continue
		}
		if m := o.bodies[string(n.Body)]; m != nil {
			m.finished = true
		}
		cl.Finish(n.ID)
	}
	o.pass(o.draw.Below(60) * millisecond)
	if !cl.gone {
		cl.hangUp()
	}
}

// jostle does single things at random nodes, so that the next crash finds
// everything under way.
func (o *ordeal) jostle(n int) {
	for range n {
		if len(o.nodes) == 0 {
			return
		}
		ids := sortedKeys(o.nodes)
		id := ids[o.draw.Below(int64(len(ids)))]
		r := o.nodes[id]
		r.work()
		told := r.told
		r.told = nil
		for _, e := range o.network.carry(id, told) {
			if to := o.nodes[e.Node]; to != nil && (o.cut == nil || !o.cut(id, e.Node)) {
				to.step(Event{Kind: EvTold, Data: e.Data})
			}
		}
	}
}

// check looks at what must hold after every step.
func (o *ordeal) check() {
	for _, id := range sortedKeys(o.nodes) {
		r := o.nodes[id]
		if r.exited != "" {
			o.t.Fatalf("node %d ends: %s", id, r.exited)
		}
		if why := r.core.Quarantined(); why != "" {
			o.t.Fatalf("node %d: %s", id, why)
		}
		checkLive(o.t, r)
		o.notHurried(r)
	}
}

// notHurried checks that the log time of a leader has run no faster than time
// since each message was sent: what is deferred counts by it.
func (o *ordeal) notHurried(r *rig) {
	s := r.core.seats[1]
	if !s.leads {
		return
	}
	for _, p := range r.core.group(1).partitions {
		p.log.each(func(m *message) {
			since, known := o.since[m.sum]
			if early := s.clock.at(o.now) - m.log - (o.now.Mono - since); known && early > 0 {
				o.t.Fatalf("the log time of node %d is %d ns too early for message %d", r.cfg.Node, early, m.offset)
			}
		})
	}
}

// checkLive counts anew what each journal file is kept for.
func checkLive(t testing.TB, r *rig) {
	w := r.core.writer
	live := map[uint64]int64{}
	for _, g := range r.core.groups {
		for _, p := range g.partitions {
			p.log.each(func(m *message) { live[m.where.File]++ })
		}
	}
	for _, s := range r.core.seats {
		if s.arrival != nil {
			s.arrival.image.each(func(_ uint32, x *stub) {
				if x.have {
					live[x.where.File]++
				}
			})
		}
	}
	delete(live, 0)
	for _, f := range w.files {
		if f.live != live[f.seq] {
			t.Fatalf("node %d: journal file %d is kept for %d messages, and %d are in it", r.cfg.Node, f.seq, f.live, live[f.seq])
		}
		delete(live, f.seq)
	}
	if len(live) > 0 {
		t.Fatalf("node %d has messages in journal files that are gone: %v", r.cfg.Node, live)
	}
}

// heal lets everything recover, and looks at what has become of it.
func (o *ordeal) heal() {
	o.cut, o.cluster.carry = nil, nil
	for id := range uint64(3) {
		if o.nodes[id+1] == nil {
			o.start(id + 1)
		}
	}
	o.pass(12 * second)
	o.hear()
	o.check()
	for id := range uint64(3) {
		o.publish(id+1, "OK", fmt.Sprint("last-", id))
	}
	o.pass(second)
	o.same()
	first := o.nodes[1].core
	for _, id := range sortedKeys(o.nodes) {
		for _, s := range o.nodes[id].core.seats {
			if !bytes.Equal(o.nodes[id].core.stateOf(s), first.stateOf(first.seats[s.id])) {
				o.t.Fatalf("group %d: the state of node %d is another than that of node 1", s.id, id)
			}
		}
		o.stored(id)
	}
}

// stored checks what a node has stored against what producers were told.
func (o *ordeal) stored(id uint64) {
	at, bodies := map[string]int{}, o.bodiesAt(id)
	for i, b := range bodies {
		if _, twice := at[b]; twice {
			o.t.Fatalf("node %d has %q twice", id, b)
		}
		at[b] = i
	}
	for _, list := range o.lists {
		before := -1
		for _, m := range list {
			i, have := at[m.body]
			switch {
			case m.acked && !have && !m.finished:
				o.t.Fatalf("node %d has not %q, which is acknowledged; it has %q", id, m.body, bodies)
			case m.unwanted && have:
				o.t.Fatalf("node %d has %q, which was refused", id, m.body)
			case have && i < before:
				o.t.Fatalf("node %d has %q out of order: %q", id, m.body, bodies)
			case have:
				before = i
			}
		}
	}
}

func (o *ordeal) bodiesAt(id uint64) (bodies []string) {
	from := uint64(0)
	for {
		reply := o.nodes[id].request(Request{Kind: ReqRead, Topic: "t", Offset: from, Count: maxRead})
		for _, m := range reply.Read {
			bodies = append(bodies, string(m.Body))
			from = m.Offset + 1
		}
		if len(reply.Read) == 0 {
			return bodies
		}
	}
}

// Whatever happens to nodes, disks and frames: a publish is stored once if it
// was acknowledged, never if it was refused, at most once else, in the order of
// its connection; no leader's log time runs fast; and all nodes come to the same
// state.
func TestOrdeals(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		cfg := Config{
			FileSize:   rapid.SampledFrom([]int64{4 << 10, 16 << 10}).Draw(rt, "file size"),
			CacheBytes: rapid.SampledFrom([]int64{1, 1 << 20}).Draw(rt, "cache"),
			LogBytes:   rapid.SampledFrom([]int64{1, 2 << 10, 1 << 20}).Draw(rt, "log"),
		}
		list := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) action {
			return action{
				kind: rapid.IntRange(0, ordealActions-1).Draw(rt, "kind"),
				a:    rapid.IntRange(0, 999).Draw(rt, "a"),
				b:    rapid.IntRange(0, 999).Draw(rt, "b"),
			}
		}), 20, 100).Draw(rt, "actions")
		o := newOrdeal(failer{t, rt}, cfg, rapid.Uint64().Draw(rt, "seed"))
		for _, a := range list {
			o.act(a)
		}
		o.heal()
	})
}
