package core

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pestle/broker/nsq"
	"pestle/sim/random"

	"pgregory.net/rapid"
)

// action is one thing that happens to a node; what a and b mean is the kind's.
type action struct{ kind, a, b int }

// story is a node under clients and crashes, and what may be expected of it.
type story struct {
	*rig
	producers []*client
	consumers []*client
	sent      map[string]*sent               // by body
	tickets   map[*client]map[uint64][]*sent // publishes that are not answered
	at        map[nsq.MessageID]string       // the one body of each id, for ever
	views     map[string]*view               // by channel
	subs      map[*client]*subscription
	crashes   int
	calm      bool // the disk has room, and has had since the last look
}

// sent is one message that a producer sent.
type sent struct {
	body    string
	notDue  int64 // wall time before which it must not be delivered
	later   bool  // deferred
	acked   bool
	refused bool
	id      nsq.MessageID
	stored  bool // seen, with id
}

// view is what the clients of one channel have seen.
type view struct {
	name  string
	seen  map[string]*seen
	first uint64 // offset above that of the last first delivery; of channel one, which has one consumer
}

// seen is what happened to one message on one channel.
type seen struct {
	attempts uint16
	recorded uint16 // attempts that are in the ledger
	crashes  int    // at the last delivery
	since    int64  // when it was
	finished bool
	finishAt int     // crashes at the FIN
	by       *client // who sent it last: the refusal of another's late FIN says nothing about it
	final    bool    // its FIN is in the ledger
	notUntil int64
	requeued int // crashes at the REQ
}

// subscription is one consumer and what it holds.
type subscription struct {
	view  *view
	ready int64
	held  []held
	late  map[nsq.MessageID]bool // finished after the lease
}

// held is a message in flight, or one whose lease has run out.
type held struct {
	nsq.Notice
	since int64
}

// inFlight counts what is held under a lease.
func (sub *subscription) inFlight(now int64) int64 {
	n := int64(0)
	for _, h := range sub.held {
		if !h.expired(now) {
			n++
		}
	}
	return n
}

func (h held) expired(now int64) bool { return now-h.since >= 60*second }

func newStory(t testing.TB, cfg Config) *story {
	s := &story{
		rig: newRig(t, cfg), sent: map[string]*sent{}, tickets: map[*client]map[uint64][]*sent{},
		at: map[nsq.MessageID]string{}, views: map[string]*view{}, subs: map[*client]*subscription{}, calm: true,
	}
	for _, name := range []string{"one", "two"} {
		s.views[name] = &view{name: name, seen: map[string]*seen{}}
	}
	s.watch = s.observe
	s.request(Request{Kind: ReqCreateTopic, Topic: "t"})
	s.request(Request{Kind: ReqCreateChannel, Topic: "t", Channel: "one"})
	s.request(Request{Kind: ReqCreateChannel, Topic: "t", Channel: "two"})
	return s
}

// observe checks everything a client learns against what may be.
func (s *story) observe(c *client, n nsq.Notice) {
	switch n.Kind {
	case nsq.NoticePublished, nsq.NoticeRefused:
		for _, m := range s.tickets[c][n.Ticket] {
			m.acked = n.Kind == nsq.NoticePublished
			m.refused = !m.acked
			if m.refused && m.stored {
				s.t.Fatalf("%s is refused and was delivered", m.body)
			}
		}
		if n.Kind == nsq.NoticeRefused {
			// Those behind it are neither acknowledged nor refused.
			c.gone = true
			s.arrived = append(s.arrived, Event{Kind: EvClosed, Conn: c.id})
		}
		delete(s.tickets[c], n.Ticket)
	case nsq.NoticeDelivered:
		s.delivered(c, n)
	case nsq.NoticeFailed:
		s.failed(c, n)
	}
}

// failed accepts that a FIN comes too late, and nothing else.
func (s *story) failed(c *client, n nsq.Notice) {
	sub := s.subs[c]
	for id := range sub.late {
		if n.Code == nsq.CodeFinFailed && strings.HasPrefix(n.Text, "FIN "+id.String()) {
			if x := sub.view.seen[s.at[id]]; x.by == c {
				x.finished = false
			}
			return
		}
	}
	s.t.Fatalf("connection %d: %s %s", c.id, n.Code, n.Text)
}

func (s *story) delivered(c *client, n nsq.Notice) {
	sub := s.subs[c]
	body := string(n.Body)
	m := s.sent[body]
	if m == nil {
		s.t.Fatalf("%q was never sent", body)
	}
	if m.refused {
		s.t.Fatalf("%s was refused and is delivered", body)
	}
	if m.stored && m.id != n.ID {
		s.t.Fatalf("%s is stored twice: %s and %s", body, m.id, n.ID)
	}
	if known, ok := s.at[n.ID]; ok && known != body {
		s.t.Fatalf("%s holds %s and %s", n.ID, known, body)
	}
	m.stored, m.id, s.at[n.ID] = true, n.ID, body
	if s.now.Wall < m.notDue {
		s.t.Fatalf("%s comes %d ns before it is due", body, m.notDue-s.now.Wall)
	}
	sub.held = slices.DeleteFunc(sub.held, func(h held) bool { return h.ID == n.ID }) // its lease has run out
	sub.held = append(sub.held, held{n, s.now.Mono})
	if in := sub.inFlight(s.now.Mono); in > sub.ready {
		s.t.Fatalf("%d messages in flight, RDY is %d", in, sub.ready)
	}
	s.deliveredOn(sub.view, m, n)
}

func (s *story) deliveredOn(v *view, m *sent, n nsq.Notice) {
	x := v.seen[m.body]
	if x == nil {
		x = &seen{}
		v.seen[m.body] = x
		offset, _ := n.ID.Position()
		if v.name == "one" && !m.later {
			if offset < v.first {
				s.t.Fatalf("first delivery of %s, offset %x, after that of %x", m.body, offset, v.first-1)
			}
			v.first = offset + 1
		}
	} else if n.Attempts <= x.recorded || n.Attempts <= x.attempts && x.crashes == s.crashes {
		s.t.Fatalf("%s has attempts %d, of which %d are in the ledger, then %d", m.body, x.attempts, x.recorded, n.Attempts)
	}
	if x.finished && (x.final || x.finishAt == s.crashes) {
		s.t.Fatalf("%s comes again on channel %s after it was finished", m.body, v.name)
	}
	if x.requeued == s.crashes && s.now.Wall < x.notUntil {
		s.t.Fatalf("%s comes %d ns before its requeue is due", m.body, x.notUntil-s.now.Wall)
	}
	x.attempts, x.crashes, x.finished, x.since = n.Attempts, s.crashes, false, s.now.Mono
}

// act does one action.
func (s *story) act(a action) {
	switch a.kind % actions {
	case 0, 1:
		s.publishSome(a)
	case 2:
		s.subscribe(a)
	case 3:
		s.finishOne(a)
	case 4:
		s.requeueOne(a)
	case 5:
		s.setReady(a)
	case 6:
		for range a.a % 8 {
			s.work()
		}
	case 7:
		s.pass(int64(a.a%40) * millisecond)
		s.ledgersAreFinal(int64(a.a%40) * millisecond)
	case 8:
		s.settle()
	case 9:
		s.disconnect(a)
	case 10:
		s.crash(a)
	case 11:
		s.noRoom = a.a%3 == 0
	case 12:
		s.pass(int64(a.a%70) * second)
		s.ledgersAreFinal(int64(a.a%70) * second)
	case 13:
		s.restartGracefully(a)
	}
	s.calm = s.calm && !s.noRoom && s.core.writer.why == ""
	if s.exited != "" {
		s.t.Fatalf("the node ends: %s", s.exited)
	}
}

const actions = 14

func (s *story) publishSome(a action) {
	if len(s.producers) < 2 {
		c := s.dial()
		s.tickets[c] = map[uint64][]*sent{}
		s.producers = append(s.producers, c)
	}
	c := s.producers[a.a%len(s.producers)]
	if c.gone {
		s.producers = nil
		return
	}
	var messages []*sent
	var bodies [][]byte
	deferMS := int64(0)
	n := 1
	switch a.b % 4 {
	case 1:
		n = 3
	case 2:
		deferMS = int64(a.a % 90)
	}
	for range n {
		m := &sent{body: fmt.Sprintf("m%d%s", len(s.sent), strings.Repeat(".", a.b%150)), notDue: s.now.Wall + deferMS*millisecond, later: deferMS > 0}
		s.sent[m.body] = m
		messages = append(messages, m)
		bodies = append(bodies, []byte(m.body))
	}
	var ticket uint64
	switch {
	case n > 1:
		ticket = c.MultiPublish("t", bodies)
	case deferMS > 0:
		ticket = c.DeferredPublish("t", deferMS, bodies[0])
	default:
		ticket = c.Publish("t", bodies[0])
	}
	s.tickets[c][ticket] = messages
}

func (s *story) subscribe(a action) {
	v := s.views[[]string{"one", "two", "two"}[a.a%3]]
	n := 0
	for _, c := range s.consumers {
		if !c.gone && s.subs[c].view == v {
			n++
		}
	}
	if n > 2 || v.name == "one" && n > 0 {
		return
	}
	if v.name == "one" {
		s.settle() // the one before it is surely gone
	}
	c := s.dial()
	s.subs[c] = &subscription{view: v, ready: int64(a.b % 5), late: map[nsq.MessageID]bool{}}
	s.consumers = append(s.consumers, c)
	c.Subscribe("t", v.name)
	c.Ready(s.subs[c].ready)
}

// holder is a consumer that holds something, and one thing it holds.
func (s *story) holder(a action) (*client, held, bool) {
	for i := range s.consumers {
		c := s.consumers[(a.a+i)%len(s.consumers)]
		sub := s.subs[c]
		if c.gone || len(sub.held) == 0 {
			continue
		}
		j := a.b % len(sub.held)
		h := sub.held[j]
		sub.held = append(sub.held[:j:j], sub.held[j+1:]...)
		return c, h, true
	}
	return nil, held{}, false
}

func (s *story) finishOne(a action) {
	c, h, ok := s.holder(a)
	if !ok {
		return
	}
	if h.expired(s.now.Mono) {
		s.subs[c].late[h.ID] = true
	}
	x := s.subs[c].view.seen[string(h.Body)]
	if late := s.subs[c].late[h.ID]; !late || !x.finished {
		x.finished, x.finishAt, x.by = true, s.crashes, c
	}
	c.Finish(h.ID)
	s.answerNow(c)
}

func (s *story) requeueOne(a action) {
	c, h, ok := s.holder(a)
	if !ok || h.expired(s.now.Mono) {
		return
	}
	delay := int64(a.a % 60)
	x := s.subs[c].view.seen[string(h.Body)]
	x.notUntil, x.requeued = s.now.Wall+delay*millisecond, s.crashes
	c.Requeue(h.ID, delay)
	s.answerNow(c)
}

func (s *story) setReady(a action) {
	for i := range s.consumers {
		c := s.consumers[(a.a+i)%len(s.consumers)]
		if !c.gone {
			s.subs[c].ready = int64(a.b % 6)
			c.Ready(s.subs[c].ready)
			s.answerNow(c)
			return
		}
	}
}

// answerNow brings what a consumer says to the node before anything else, so
// that the story knows what the node knows.
func (s *story) answerNow(c *client) {
	if out := c.TakeOutput(); !c.gone && len(out) > 0 {
		s.step(Event{Kind: EvData, Conn: c.id, Data: out})
	}
}

func (s *story) disconnect(a action) {
	all := append(append([]*client{}, s.producers...), s.consumers...)
	if len(all) > 0 {
		if c := all[a.a%len(all)]; !c.gone {
			c.hangUp()
			s.sweep()
		}
	}
}

// sweep forgets the consumers that are gone.
func (s *story) sweep() {
	var there []*client
	for _, c := range s.consumers {
		if !c.gone {
			there = append(there, c)
		}
	}
	s.consumers = there
}

// ledgersAreFinal notes that so much time has passed that every FIN so far is
// in the ledger.
func (s *story) ledgersAreFinal(passed int64) {
	s.sweep()
	if passed <= ledgerDelay || !s.calm {
		return
	}
	s.allIsRecorded(s.now.Mono - ledgerDelay)
}

// allIsRecorded notes that the ledger has everything up to a time.
func (s *story) allIsRecorded(until int64) {
	for _, name := range sortedKeys(s.views) {
		for _, x := range s.views[name].seen {
			if x.crashes == s.crashes && x.since < until {
				x.recorded = x.attempts
			}
			x.final = x.final || x.finished && x.finishAt == s.crashes
		}
	}
}

func (s *story) crash(a action) {
	s.crashes++
	if a.a%2 == 0 {
		s.kill()
	} else {
		draw := random.New(uint64(a.b))
		s.powerLoss(func(size int) int { return int(draw.Below(int64(size + 1))) })
	}
	s.afterCrash(int64(a.b%50) * millisecond)
}

func (s *story) restartGracefully(a action) {
	s.noRoom = false
	s.pass(createRetry)
	s.step(Event{Kind: EvStop})
	s.settle()
	if !s.stopped || len(s.changes) > 0 {
		s.t.Fatalf("a graceful stop does not come to its end: stopped %v, %d disk effects left", s.stopped, len(s.changes))
	}
	s.allIsRecorded(s.now.Mono)
	s.crashes++ // for what a new life may do; finished messages are final
	s.powerLoss(func(int) int { return 0 })
	s.afterCrash(int64(a.b%50) * millisecond)
}

func (s *story) afterCrash(down int64) {
	s.producers, s.consumers = nil, nil
	s.tickets, s.subs = map[*client]map[uint64][]*sent{}, map[*client]*subscription{}
	s.elapse(down)
	s.noRoom = false
	s.calm = true
	s.start()
}

// drain heals everything, and then every acknowledged message must have come
// and been finished on both channels.
func (s *story) drain() {
	s.crash(action{a: 0, b: 1})
	s.pass(second)
	for _, name := range []string{"one", "two"} {
		c := s.dial()
		s.subs[c] = &subscription{view: s.views[name], ready: 10, late: map[nsq.MessageID]bool{}}
		s.consumers = append(s.consumers, c)
		c.Subscribe("t", name)
		c.Ready(10)
		s.settle()
		for idle := 0; idle < 3; idle++ {
			for len(s.subs[c].held) > 0 {
				s.finishOne(action{a: len(s.consumers) - 1, b: 0})
				s.settle()
				idle = 0
			}
			s.pass(second)
		}
		for _, body := range sortedKeys(s.sent) {
			x := s.views[name].seen[body]
			if s.sent[body].acked && (x == nil || !x.finished) {
				s.t.Fatalf("%s is acknowledged and lost on channel %s", body, name)
			}
		}
		st := s.stats("t", name)
		if st.Depth+st.InFlight+st.Deferred != 0 || st.FinishedBelow != st.MessageCount {
			s.t.Fatalf("channel %s is not empty after the drain: %+v", name, st)
		}
	}
}

func play(t testing.TB, cfg Config, actions []action) (uint64, int) {
	s := newStory(t, cfg)
	for _, a := range actions {
		s.act(a)
	}
	s.drain()
	return s.trace, s.effects
}

// Whatever clients do, and wherever crashes fall: what is acknowledged is
// delivered until finished, what is refused never, first deliveries keep the
// order of a channel with one consumer, RDY is never exceeded, nothing comes
// early, what is finished and in the ledger never comes again. And the same
// events give the same bytes.
func TestStories(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		cfg := Config{
			FileSize:   rapid.SampledFrom([]int64{1 << 10, 2 << 10, 8 << 10}).Draw(rt, "file size"),
			CacheBytes: rapid.SampledFrom([]int64{1, 300, 1 << 20}).Draw(rt, "cache"),
		}
		list := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) action {
			return action{
				kind: rapid.IntRange(0, actions-1).Draw(rt, "kind"),
				a:    rapid.IntRange(0, 999).Draw(rt, "a"),
				b:    rapid.IntRange(0, 999).Draw(rt, "b"),
			}
		}), 40, 300).Draw(rt, "actions")
		trace, effects := play(testing.TB(failer{t, rt}), cfg, list)
		again, n := play(testing.TB(failer{t, rt}), cfg, list)
		if trace != again || effects != n {
			rt.Fatalf("the same events give %d effects of hash %x, then %d of %x", effects, trace, n, again)
		}
	})
}

// failer is a testing.TB that fails the rapid run, which shrinks it.
type failer struct {
	testing.TB
	rt *rapid.T
}

func (f failer) Helper()                           {}
func (f failer) Fatal(args ...any)                 { f.rt.Fatal(args...) }
func (f failer) Fatalf(format string, args ...any) { f.rt.Fatalf(format, args...) }
func (f failer) Errorf(format string, args ...any) { f.rt.Errorf(format, args...) }
