package core

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"strings"
	"testing"

	"pestle/broker/nsq"
)

// rig is a driver of the core with a clock that stands still unless moved, a
// disk that crashes when told, and clients that are nsq.Client sessions. It
// does one effect at a time.
type rig struct {
	t    testing.TB
	cfg  Config
	core *Core
	now  Time
	fx   Effects

	disk    map[uint64]*diskFile
	changes []Effect // disk effects not carried out yet
	reads   []Effect
	arrived []Event // what the network has to report
	noRoom  bool    // FxCreate fails
	hasty   bool    // reads are carried out before earlier writes
	badRead func(file uint64, offset int64, data []byte) (failed bool)

	clients map[ConnID]*client
	watch   func(*client, nsq.Notice) // takes the notices instead of their client
	lastID  ConnID
	replies map[RequestID]*Reply
	lastReq RequestID
	logs    []string
	exited  string
	stopped bool
	points  [PointCount]int
	told    []Effect // FxTell that nobody has taken
	trace   uint64   // hash of every effect
	effects int
}

// diskFile is one file with what a power loss would leave of it.
type diskFile struct {
	cached   []byte
	durable  []byte
	unsynced []Effect
}

// client is one connection as its client sees it.
type client struct {
	*nsq.Client
	r       *rig
	id      ConnID
	gone    bool // closed, by either side
	stuck   bool // takes no output: EvSent never comes
	silent  bool // answers nothing
	notices []nsq.Notice
}

func newRig(t testing.TB, cfg Config) *rig {
	if cfg.FileSize == 0 {
		cfg.FileSize = 64 << 10
	}
	r := &rig{
		t: t, cfg: cfg, now: Time{Mono: 1e9, Wall: 1_700_000_000e9},
		disk: map[uint64]*diskFile{}, clients: map[ConnID]*client{}, replies: map[RequestID]*Reply{},
	}
	r.start()
	return r
}

// start begins a life of the node from what is on the disk.
func (r *rig) start() {
	r.t.Helper()
	if err := r.tryStart(); err != nil {
		r.t.Fatalf("the node does not start: %v", err)
	}
	r.settle()
}

func (r *rig) tryStart() error {
	r.cfg.Salt++ // another in each life
	recovery := NewRecovery(r.cfg)
	for _, seq := range sortedKeys(r.disk) {
		if err := recovery.Feed(seq, bytes.Clone(r.disk[seq].cached)); err != nil {
			return err
		}
	}
	r.fx.Reset()
	core, err := recovery.Finish(r.now, &r.fx)
	if err != nil {
		return err
	}
	r.core, r.exited, r.stopped = core, "", false
	r.collect()
	return nil
}

// step hands in one event and sorts the effects.
func (r *rig) step(ev Event) {
	r.fx.Reset()
	r.core.Step(r.now, ev, &r.fx)
	r.collect()
}

func (r *rig) collect() {
	for _, p := range r.fx.Points {
		r.points[p]++
	}
	for _, e := range r.fx.List {
		r.note(e)
		switch e.Kind {
		case FxSend:
			r.receive(e)
		case FxClose:
			if c := r.clients[e.Conn]; !c.gone {
				c.gone = true
				r.arrived = append(r.arrived, Event{Kind: EvClosed, Conn: e.Conn})
			}
		case FxCreate, FxRecycle, FxWrite, FxSync, FxRemove:
			r.changes = append(r.changes, e)
		case FxRead:
			r.reads = append(r.reads, e)
		case FxTell:
			r.told = append(r.told, e)
		case FxReply:
			r.replies[e.Request] = e.Reply
		case FxLog:
			r.logs = append(r.logs, e.Text)
		case FxExit:
			r.exited = e.Text
		case FxStopped:
			r.stopped = true
		}
	}
}

// note mixes an effect into the trace.
func (r *rig) note(e Effect) {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d %d %d %d %d %d %d %d %q %x", r.trace, e.Kind, e.Conn, e.Token, e.File, e.Offset, e.N, e.Level, e.Text, e.Data)
	r.trace = h.Sum64()
	r.effects++
}

func (r *rig) receive(e Effect) {
	c := r.clients[e.Conn]
	if c.gone || c.stuck {
		return
	}
	r.arrived = append(r.arrived, Event{Kind: EvSent, Conn: e.Conn, N: len(e.Data)})
	c.Feed(e.Data)
	for {
		n, ok := c.Next()
		if !ok {
			break
		}
		if n.Kind == nsq.NoticeBroken {
			r.t.Fatalf("connection %d: the broker broke the protocol: %s", c.id, n.Text)
		}
		if r.watch != nil {
			r.watch(c, n)
			continue
		}
		c.notices = append(c.notices, n)
	}
}

// work does one thing that is outstanding and reports whether there was one.
func (r *rig) work() bool {
	switch {
	case r.exited != "":
		return false
	case len(r.arrived) > 0:
		ev := r.arrived[0]
		r.arrived = r.arrived[1:]
		r.step(ev)
	case r.talk():
	case len(r.changes) > 0 && (!r.hasty || len(r.reads) == 0):
		e := r.changes[0]
		r.changes = r.changes[1:]
		r.change(e)
	case len(r.reads) > 0:
		e := r.reads[0]
		r.reads = r.reads[1:]
		r.read(e)
	default:
		return false
	}
	return true
}

// talk lets the first client that has something to say say it.
func (r *rig) talk() bool {
	for _, id := range sortedKeys(r.clients) {
		c := r.clients[id]
		if c.gone || c.silent {
			continue
		}
		if out := c.TakeOutput(); len(out) > 0 {
			r.step(Event{Kind: EvData, Conn: id, Data: out})
			return true
		}
	}
	return false
}

func (r *rig) change(e Effect) {
	f := r.disk[e.File]
	switch e.Kind {
	case FxCreate:
		if r.noRoom {
			r.step(Event{Kind: EvCreated, Token: e.Token, Failed: true, Text: "no space left on device"})
			return
		}
		if f != nil {
			r.t.Fatalf("journal file %d is created twice", e.File)
		}
		r.disk[e.File] = &diskFile{cached: make([]byte, e.N), durable: make([]byte, e.N)}
		r.step(Event{Kind: EvCreated, Token: e.Token})
	case FxRecycle:
		old := r.disk[e.From]
		if f != nil || old == nil {
			r.t.Fatalf("journal file %d, there: %t, is recycled as %d, there: %t", e.From, old != nil, e.File, f != nil)
		}
		copy(old.cached, e.Data)
		r.disk[e.File] = &diskFile{cached: old.cached, durable: bytes.Clone(old.cached)}
		delete(r.disk, e.From)
		r.step(Event{Kind: EvCreated, Token: e.Token})
	case FxWrite:
		f.write(e)
	case FxSync:
		f.durable, f.unsynced = bytes.Clone(f.cached), nil
		r.step(Event{Kind: EvSynced, Token: e.Token})
	case FxRemove:
		if f == nil {
			r.t.Fatalf("journal file %d is removed and does not exist", e.File)
		}
		delete(r.disk, e.File)
	}
}

func (f *diskFile) write(e Effect) {
	f.cached = overwrite(f.cached, e)
	f.unsynced = append(f.unsynced, e)
}

func overwrite(image []byte, e Effect) []byte {
	if end := int(e.Offset) + len(e.Data); end > len(image) {
		image = append(image, make([]byte, end-len(image))...)
	}
	copy(image[e.Offset:], e.Data)
	return image
}

func (r *rig) read(e Effect) {
	if r.disk[e.File] == nil {
		r.step(Event{Kind: EvRead, Token: e.Token, Failed: true, Text: "it does not exist"})
		return
	}
	data := bytes.Clone(r.disk[e.File].cached[e.Offset : e.Offset+e.N])
	if r.badRead != nil && r.badRead(e.File, e.Offset, data) {
		r.step(Event{Kind: EvRead, Token: e.Token, Failed: true, Text: "input/output error"})
		return
	}
	r.step(Event{Kind: EvRead, Token: e.Token, Data: data})
}

// settle works until nothing is outstanding.
func (r *rig) settle() {
	r.t.Helper()
	for n := 0; r.work(); n++ {
		if n > 1_000_000 {
			r.t.Fatal("the node does not come to rest")
		}
	}
}

// pass lets time pass, with every deadline on its way, and everything settle.
func (r *rig) pass(ns int64) {
	r.t.Helper()
	r.settle()
	end := r.now.Mono + ns
	for n := 0; ; n++ {
		due, ok := r.core.NextDeadline()
		if !ok || due > end || r.exited != "" || r.stopped {
			break
		}
		if n > 1_000_000 {
			r.t.Fatal("the node's timers do not come to rest")
		}
		r.elapse(due - r.now.Mono)
		r.step(Event{Kind: EvTimer})
		r.settle()
	}
	r.elapse(end - r.now.Mono)
}

// elapse moves the clocks.
func (r *rig) elapse(ns int64) {
	if ns > 0 {
		r.now.Mono += ns
		r.now.Wall += ns
	}
}

// kill ends the node as SIGKILL does: what was written stays, what was not is
// gone, and so are the connections.
func (r *rig) kill() {
	r.hangUpAll()
	for _, f := range r.disk {
		f.durable, f.unsynced = bytes.Clone(f.cached), nil
	}
}

// powerLoss also loses what was not synced, or parts of it: keep says how many
// of so many bytes of a write are left.
func (r *rig) powerLoss(keep func(size int) int) {
	r.hangUpAll()
	for _, seq := range sortedKeys(r.disk) {
		f := r.disk[seq]
		for _, e := range f.unsynced {
			e.Data = e.Data[:keep(len(e.Data))]
			f.durable = overwrite(f.durable, e)
		}
		f.cached, f.unsynced = bytes.Clone(f.durable), nil
	}
}

func (r *rig) hangUpAll() {
	r.changes, r.reads, r.arrived = nil, nil, nil
	for _, c := range r.clients {
		c.gone = true
	}
	r.clients = map[ConnID]*client{}
}

// forget drops the bodies that are in memory.
func (r *rig) forget() {
	for r.core.cache.oldest != nil {
		r.core.cache.drop(r.core.cache.oldest)
	}
}

// restart is a kill and a new life, without time passing.
func (r *rig) restart() {
	r.t.Helper()
	r.kill()
	r.start()
}

func (r *rig) dial() *client { return r.dialAs(nsq.ClientConfig{ClientID: "test"}) }

func (r *rig) dialAs(cfg nsq.ClientConfig) *client {
	r.lastID++
	c := &client{Client: nsq.NewClient(cfg), r: r, id: r.lastID}
	r.clients[c.id] = c
	r.step(Event{Kind: EvOpened, Conn: c.id, Text: "127.0.0.1:5555"})
	return c
}

// consumer dials and subscribes.
func (r *rig) consumer(topic, channel string, ready int64) *client {
	c := r.dial()
	c.Subscribe(topic, channel)
	c.Ready(ready)
	r.settle()
	return c
}

// hangUp closes the connection from the client's side.
func (c *client) hangUp() {
	c.gone = true
	c.r.arrived = append(c.r.arrived, Event{Kind: EvClosed, Conn: c.id})
}

// publish sends and waits for the answer, which must be OK.
func (c *client) publish(topic string, bodies ...string) {
	c.r.t.Helper()
	for _, body := range bodies {
		c.Publish(topic, []byte(body))
	}
	c.r.settle()
	for range bodies {
		c.want("OK")
	}
}

// got takes the notices that came: one line for each.
func (c *client) got() []string {
	c.r.settle()
	var lines []string
	for _, n := range c.notices {
		if line := describe(n); line != "" {
			lines = append(lines, line)
		}
	}
	c.notices = nil
	return lines
}

func describe(n nsq.Notice) string {
	switch n.Kind {
	case nsq.NoticeIdentified, nsq.NoticeSubscribed:
		return ""
	case nsq.NoticePublished:
		return "OK"
	case nsq.NoticeRefused, nsq.NoticeFailed:
		return string(n.Code) + " " + n.Text
	case nsq.NoticeDelivered:
		return fmt.Sprintf("%s/%d", n.Body, n.Attempts)
	case nsq.NoticeCloseWait:
		return "CLOSE_WAIT"
	}
	return fmt.Sprintf("notice %d", n.Kind)
}

// want checks the notices that came since the last look, separated by spaces:
// OK, body/attempts for a message, or what describe says.
func (c *client) want(lines ...string) {
	c.r.t.Helper()
	c.r.settle()
	var rest []nsq.Notice
	var got []string
	for i, n := range c.notices {
		if line := describe(n); line != "" {
			got = append(got, line)
		}
		if len(got) == len(lines) && len(lines) == 1 && lines[0] == "OK" {
			rest = c.notices[i+1:] // one answer at a time
			break
		}
	}
	c.notices = rest
	if strings.Join(got, " ") != strings.Join(lines, " ") {
		c.r.t.Errorf("connection %d got %q, want %q", c.id, got, lines)
	}
}

// deliveries takes the messages that came.
func (c *client) deliveries() []nsq.Notice {
	c.r.settle()
	var list, rest []nsq.Notice
	for _, n := range c.notices {
		if n.Kind == nsq.NoticeDelivered {
			list = append(list, n)
		} else {
			rest = append(rest, n)
		}
	}
	c.notices = rest
	return list
}

// request makes an HTTP call and returns its reply, nil while there is none.
func (r *rig) request(q Request) *Reply {
	r.lastReq++
	q.ID = r.lastReq
	r.step(Event{Kind: EvRequest, Request: &q})
	r.settle()
	return r.replies[q.ID]
}

// stats is the one channel asked for.
func (r *rig) stats(topic, channel string) ChannelStats {
	r.t.Helper()
	reply := r.request(Request{Kind: ReqStats, Topic: topic, Channel: channel})
	if len(reply.Stats.Topics) != 1 || len(reply.Stats.Topics[0].Channels) != 1 {
		r.t.Fatalf("stats of %s/%s: %+v", topic, channel, reply.Stats)
	}
	return reply.Stats.Topics[0].Channels[0]
}

// logged reports whether a log line contains text.
func (r *rig) logged(text string) bool {
	for _, line := range r.logs {
		if strings.Contains(line, text) {
			return true
		}
	}
	return false
}
