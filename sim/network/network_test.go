package network

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"pestle/sim/schedule"
)

const (
	client Host = iota + 1
	broker
	other
)

// rig runs a network and writes down what it tells.
type rig struct {
	*Network
	queue *schedule.Queue
	lines []string
	got   map[string]string // "host conn" → bytes
	stuck bool              // processes do not read
}

// plain has a latency of exactly a millisecond.
func plain() Profile { return Profile{MinLatency: millisecond} }

func newRig(seed uint64, p Profile) *rig {
	q := schedule.New(seed)
	r := &rig{Network: New(q, 0, seed, p), queue: q, got: map[string]string{}}
	r.Listen(broker)
	return r
}

func (r *rig) now() int64 { return r.queue.Now() }

func (r *rig) run(until int64) {
	for ev, ok := r.queue.Take(until); ok; ev, ok = r.queue.Take(until) {
		r.note(r.Step(ev.At, ev))
	}
}

func (r *rig) note(notices []Notice) {
	for _, n := range notices {
		r.got[fmt.Sprint(n.Host, " ", n.Conn)] += string(n.Data)
		r.lines = append(r.lines, fmt.Sprintf("%dms %d %s", r.now()/millisecond, n.Host, words(n)))
		if n.Kind == Data && !r.stuck {
			r.Consumed(r.now(), n.Conn, n.End, len(n.Data))
		}
		if n.Kind == Opened {
			r.Accepted(n.Conn)
		}
	}
}

func words(n Notice) string {
	switch n.Kind {
	case Connected:
		return "connected"
	case Refused:
		return "refused"
	case Opened:
		return fmt.Sprint("opened by ", n.Peer)
	case Data:
		return "data " + string(n.Data)
	case Sent:
		return fmt.Sprint("sent ", n.N)
	default:
		return "closed " + n.Text
	}
}

func (r *rig) expect(t *testing.T, want ...string) {
	t.Helper()
	if !slices.Equal(r.lines, want) {
		t.Errorf("got  %s\nwant %s", strings.Join(r.lines, " | "), strings.Join(want, " | "))
	}
	r.lines = nil
}

func (r *rig) connected(t *testing.T) ConnID {
	t.Helper()
	id := r.Dial(r.now(), client, broker)
	r.run(r.now() + 3*millisecond)
	if len(r.lines) != 2 {
		t.Fatalf("no connection: %q", r.lines)
	}
	r.lines = nil
	return id
}

func (r *rig) send(id ConnID, e End, text string) { r.Send(r.now(), id, e, []byte(text)) }

// What each failure looks like from both ends. The script begins at 3 ms with
// a connection from client to broker.
func TestTranscripts(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(r *rig, id ConnID)
		want []string
	}{
		"bytes, then an orderly end": {func(r *rig, id ConnID) {
			r.send(id, Dialer, "PUB")
			r.send(id, Dialer, "NOP")
			r.Close(r.now(), id, Dialer)
			r.run(5 * millisecond)
			r.Close(r.now(), id, Acceptor)
		}, []string{"4ms 2 data PUB", "4ms 2 data NOP", "4ms 2 closed EOF"}},
		"the process is killed: what was taken arrives": {func(r *rig, id ConnID) {
			r.send(id, Acceptor, "OK")
			r.Kill(r.now(), broker)
			r.run(5 * millisecond)
			r.Close(r.now(), id, Dialer)
		}, []string{"4ms 1 data OK", "4ms 1 closed EOF"}},
		"killed with bytes unread: a reset": {func(r *rig, id ConnID) {
			r.stuck = true
			r.send(id, Dialer, "PUB")
			r.run(5 * millisecond)
			r.Kill(r.now(), broker)
		}, []string{"4ms 2 data PUB", "6ms 1 closed connection reset by peer"}},
		"killed while bytes are on their way: EOF, and a reset for them": {func(r *rig, id ConnID) {
			r.Kill(r.now(), broker)
			r.send(id, Dialer, "PUB")
		}, []string{"4ms 1 closed EOF", "5ms 1 closed connection reset by peer"}},
		"power loss is silent, also for what is sent then": {func(r *rig, id ConnID) {
			r.Vanish(r.now(), broker)
			r.send(id, Dialer, "PUB")
			r.run(10 * second)
		}, nil},
		"power loss takes what had not left": {func(r *rig, id ConnID) {
			r.Impose(r.now(), 1, broker, client, Condition{Cut: true})
			r.send(id, Acceptor, "OK")
			r.Vanish(r.now(), broker)
			r.Lift(r.now(), 1, broker, client)
		}, nil},
		"after the boot, a reset for what was sent": {func(r *rig, id ConnID) {
			r.Vanish(r.now(), broker)
			r.send(id, Dialer, "PUB")
			r.run(10 * millisecond)
			r.Boot(r.now(), broker)
		}, []string{"236ms 1 closed connection reset by peer"}},
		"after the boot, nothing for who sent nothing; a reset when it does": {func(r *rig, id ConnID) {
			r.Vanish(r.now(), broker)
			r.Boot(r.now(), broker)
			r.run(second)
			r.send(id, Dialer, "PUB")
		}, []string{"1002ms 1 closed connection reset by peer"}},
		"a reset tears both ends and what is on its way": {func(r *rig, id ConnID) {
			r.send(id, Dialer, "PUB")
			r.send(id, Acceptor, "OK")
			r.note(r.Reset(r.now(), broker))
		}, []string{"3ms 2 closed connection reset by peer", "4ms 1 closed connection reset by peer"}},
		"half-open: one end knows nothing": {func(r *rig, id ConnID) {
			r.note(r.HalfOpen(broker, 5*second))
			r.send(id, Dialer, "PUB")
			r.run(4 * second)
		}, []string{"3ms 2 closed connection reset by peer"}},
		"half-open over: a reset for what was sent": {func(r *rig, id ConnID) {
			r.note(r.HalfOpen(broker, 5*second))
			r.send(id, Dialer, "PUB")
			r.run(5 * second)
			r.Unsilence(r.now(), broker)
		}, []string{"3ms 2 closed connection reset by peer", "5226ms 1 closed connection reset by peer"}},
		"a cut only delays": {func(r *rig, id ConnID) {
			r.Impose(r.now(), 1, client, broker, Condition{Cut: true})
			r.send(id, Dialer, "PUB")
			r.send(id, Acceptor, "OK")
			r.run(second)
			r.Lift(r.now(), 1, client, broker)
			r.send(id, Dialer, "NOP")
		}, []string{"4ms 1 data OK", "1307ms 2 data PUB", "1307ms 2 data NOP"}},
		"two cuts of one link: the second still holds": {func(r *rig, id ConnID) {
			r.Impose(r.now(), 1, client, broker, Condition{Cut: true})
			r.Impose(r.now(), 2, client, broker, Condition{Cut: true})
			r.send(id, Dialer, "PUB")
			r.Lift(r.now(), 1, client, broker)
			r.run(second)
		}, nil},
		"a jam holds what is sent, and lets it go at once": {func(r *rig, id ConnID) {
			r.Impose(r.now(), 1, client, broker, Condition{HeldUntil: second})
			r.send(id, Dialer, "PUB")
			r.send(id, Acceptor, "OK")
			r.run(second / 2)
			r.send(id, Dialer, "NOP")
			r.run(second)
			r.Lift(r.now(), 1, client, broker)
			r.send(id, Dialer, "CLS")
		}, []string{"4ms 1 data OK", "1001ms 2 data PUB", "1001ms 2 data NOP", "1001ms 2 data CLS"}},
		"a jam that begins with bytes on their way": {func(r *rig, id ConnID) {
			r.send(id, Dialer, "PUB")
			r.Impose(r.now(), 1, client, broker, Condition{HeldUntil: second})
		}, []string{"4ms 2 data PUB"}},
		"what overtakes in a stream waits": {func(r *rig, id ConnID) {
			r.Impose(r.now(), 1, client, broker, Condition{ReorderPermille: 1000, ReorderBy: 50 * millisecond})
			r.send(id, Dialer, "PUB")
			r.Lift(r.now(), 1, client, broker)
			r.send(id, Dialer, "NOP")
		}, []string{"54ms 2 data PUB", "54ms 2 data NOP"}},
		"a stream shows no packet twice and no bit turned": {func(r *rig, id ConnID) {
			r.Impose(r.now(), 1, client, broker, Condition{DuplicatePermille: 1000, CorruptPermille: 1000})
			r.send(id, Dialer, "PUB")
			r.send(id, Dialer, "NOP")
		}, []string{"4ms 2 data PUB", "4ms 2 data NOP"}},
		"a link that refuses leaves what is connected": {func(r *rig, id ConnID) {
			r.Impose(r.now(), 1, client, broker, Condition{Refused: true})
			r.send(id, Dialer, "PUB")
		}, []string{"4ms 2 data PUB"}},
		"a reset between two leaves the others": {func(r *rig, id ConnID) {
			r.Dial(r.now(), other, broker)
			r.run(6 * millisecond)
			r.lines = nil
			r.note(r.ResetBetween(r.now(), broker, client))
		}, []string{"6ms 2 closed connection reset by peer", "7ms 1 closed connection reset by peer"}},
		"latency": {func(r *rig, id ConnID) {
			r.Impose(r.now(), 1, client, broker, Condition{Delay: 50 * millisecond})
			r.send(id, Dialer, "PUB")
		}, []string{"54ms 2 data PUB"}},
		"a later packet does not push an earlier one": {func(r *rig, id ConnID) {
			r.Impose(r.now(), 1, client, broker, Condition{Delay: 50 * millisecond})
			r.send(id, Dialer, "PUB")
			r.Lift(r.now(), 1, client, broker)
			r.send(id, Dialer, "NOP")
		}, []string{"54ms 2 data PUB", "54ms 2 data NOP"}},
		"a slow link": {func(r *rig, id ConnID) {
			r.Impose(r.now(), 1, client, broker, Condition{BytesPerSecond: 100})
			r.send(id, Dialer, "0123456789")
			r.send(id, Dialer, "abc")
		}, []string{"104ms 2 data 0123456789", "134ms 2 data abc"}},
		"a slow link that is healed": {func(r *rig, id ConnID) {
			r.Impose(r.now(), 1, client, broker, Condition{BytesPerSecond: 1})
			r.send(id, Dialer, "0123456789")
			r.send(id, Dialer, "abc")
			r.run(second)
			r.Lift(r.now(), 1, client, broker)
		}, []string{"1001ms 2 data 0123456789", "1001ms 2 data abc"}},
		"a slow link that is cut, and healed": {func(r *rig, id ConnID) {
			r.Impose(r.now(), 1, client, broker, Condition{BytesPerSecond: 1})
			r.send(id, Dialer, "0123456789")
			r.Impose(r.now(), 2, client, broker, Condition{Cut: true})
			r.Lift(r.now(), 1, client, broker)
			r.run(second)
			r.Lift(r.now(), 2, client, broker)
		}, []string{"1307ms 2 data 0123456789"}},
		"loss costs retransmission timeouts": {func(r *rig, id ConnID) {
			r.Impose(r.now(), 1, client, broker, Condition{LossPermille: 1000})
			r.send(id, Dialer, "PUB")
		}, []string{"1404ms 2 data PUB"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(1, plain())
			c.do(r, r.connected(t))
			r.run(20 * second)
			r.expect(t, c.want...)
		})
	}
}

// A reader that stands still stops its sender after a window, and lets it go
// on as it reads.
func TestWindow(t *testing.T) {
	p := plain()
	p.Window = 10
	r := newRig(1, p)
	id := r.connected(t)
	r.stuck = true
	if taken := r.Send(r.now(), id, Dialer, []byte("0123456")); taken != 7 {
		t.Errorf("7 bytes into a window of 10: %d taken", taken)
	}
	if taken := r.Send(r.now(), id, Dialer, []byte("789abc")); taken != 3 || r.Pending(id, Dialer) != 3 {
		t.Errorf("6 more: %d taken and %d pending, want 3 and 3", taken, r.Pending(id, Dialer))
	}
	if taken := r.Send(r.now(), id, Dialer, []byte("d")); taken != 0 {
		t.Errorf("behind what waits: %d taken", taken)
	}
	r.Close(r.now(), id, Dialer)
	r.run(second)
	r.expect(t, "4ms 2 data 0123456", "4ms 2 data 789")
	r.Consumed(r.now(), id, Acceptor, 2)
	r.run(2 * second)
	r.expect(t, "1002ms 2 data ab")
	r.Consumed(r.now(), id, Acceptor, 10)
	r.run(3 * second)
	r.expect(t, "2002ms 2 data c", "2002ms 2 data d", "2002ms 2 closed EOF")
}

func TestSentIsTold(t *testing.T) {
	p := plain()
	p.Window = 4
	r := newRig(1, p)
	id := r.connected(t)
	r.send(id, Dialer, "0123456789")
	r.run(second)
	r.expect(t, "4ms 2 data 0123", "5ms 1 sent 4", "6ms 2 data 4567", "7ms 1 sent 2", "8ms 2 data 89")
}

// Whatever the profile and whatever happens to the links, a stream that is not
// torn brings every byte, once and in order.
func TestStreamIsWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64().Draw(t, "seed")
		r := newRig(seed, Profile{
			MinLatency: 100 * microsecond, MeanLatency: 5 * millisecond, TailLatency: 100 * millisecond,
			AsymmetryPermille: 500, MaxAsymmetry: 20 * millisecond, BytesPerSecond: 1 << 20, Window: 1000,
			SplitPermille: 300, MergePermille: 300,
		})
		id := r.Dial(0, client, broker)
		r.run(5 * second)
		var sent [2]strings.Builder
		for i := range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch rapid.IntRange(0, 5).Draw(t, "what") {
			case 0:
				c := Condition{Cut: rapid.Bool().Draw(t, "cut"), BytesPerSecond: rapid.Int64Range(0, 10_000).Draw(t, "rate"), LossPermille: rapid.Int64Range(0, 500).Draw(t, "loss"), Jitter: 10 * millisecond}
				r.Impose(r.now(), i%3, client, broker, c)
				r.Impose(r.now(), i%3, broker, client, c)
			case 1:
				r.Lift(r.now(), i%3, client, broker)
				r.Lift(r.now(), i%3, broker, client)
			default:
				e := End(rapid.IntRange(0, 1).Draw(t, "end"))
				text := strings.Repeat(fmt.Sprint(i, ","), rapid.IntRange(1, 300).Draw(t, "size"))
				sent[e].WriteString(text)
				r.send(id, e, text)
			}
			r.run(r.now() + rapid.Int64Range(0, second).Draw(t, "wait"))
		}
		for ref := range 3 {
			r.Lift(r.now(), ref, client, broker)
			r.Lift(r.now(), ref, broker, client)
		}
		r.Close(r.now(), id, Dialer)
		r.run(r.now() + 1000*second)
		if got, want := r.got[fmt.Sprint(broker, " ", id)], sent[Dialer].String(); got != want {
			t.Fatalf("the broker got %d bytes of %d", len(got), len(want))
		}
		want := sent[Acceptor].String() // whoever closes may miss the end of what comes
		if got := r.got[fmt.Sprint(client, " ", id)]; !strings.HasPrefix(want, got) {
			t.Fatalf("the client got bytes that were not sent: %q", got)
		}
	})
}

// The same calls with the same seed tell the same, with another one not.
func TestNetworkIsDeterministic(t *testing.T) {
	tell := func(seed uint64) string {
		r := newRig(seed, Profile{MinLatency: 1, MeanLatency: millisecond, SplitPermille: 500, MergePermille: 500})
		id := r.Dial(0, client, broker)
		r.run(second)
		for i := range 50 {
			r.send(id, End(i%2), fmt.Sprint(i))
		}
		r.run(2 * second)
		return strings.Join(r.lines, "\n")
	}
	first := tell(1)
	if again := tell(1); again != first {
		t.Error("two runs of one seed differ")
	}
	if first == tell(2) {
		t.Error("two seeds do not differ")
	}
}

// Nothing is kept of connections that both ends have left.
func TestConnectionsAreForgotten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := newRig(rapid.Uint64().Draw(t, "seed"), plain())
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			id := ConnID(rapid.IntRange(1, len(r.conns)+1).Draw(t, "id"))
			switch rapid.IntRange(0, 8).Draw(t, "what") {
			case 0, 1, 2:
				r.Dial(r.now(), client, broker)
			case 3:
				r.Close(r.now(), id, Dialer)
			case 4:
				r.Close(r.now(), id, Acceptor)
			case 5:
				r.Kill(r.now(), client)
			case 6:
				r.Kill(r.now(), broker)
				r.Listen(broker)
			case 7:
				r.Vanish(r.now(), broker)
				r.Boot(r.now(), broker)
				r.Listen(broker)
			case 8:
				r.note(r.Reset(r.now(), client))
			}
			r.run(r.now() + rapid.Int64Range(0, 5*millisecond).Draw(t, "wait"))
		}
		r.run(r.now() + second)
		for _, h := range []Host{client, broker} {
			for id := range r.conns {
				for e := range End(2) {
					if c := r.conns[id]; c != nil && c.hosts[e] == h {
						r.send(c.id, e, "x") // who was told nothing asks
						r.run(r.now() + second)
						r.Close(r.now(), c.id, e)
					}
				}
			}
		}
		r.run(r.now() + 100*second)
		for _, c := range r.conns {
			if c != nil {
				t.Fatalf("connection %d is kept: ends %v", c.id, c.ends)
			}
		}
	})
}
