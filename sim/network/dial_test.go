package network

import (
	"strings"
	"testing"
)

func TestDial(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(r *rig)
		want []string
	}{
		"accepted":       {func(r *rig) { r.Dial(0, client, broker) }, []string{"2ms 1 connected", "3ms 2 opened by 1"}},
		"nobody listens": {func(r *rig) { r.Dial(0, client, other) }, []string{"2ms 1 refused"}},
		"nobody listens any more": {func(r *rig) {
			r.Dial(0, client, broker)
			r.run(2 * millisecond)
			r.Kill(r.now(), broker)
			r.Listen(broker) // another process: it does not know the connection
		}, []string{"2ms 1 connected", "4ms 1 closed connection reset by peer"}},
		"the first packet is lost, and sent again": {func(r *rig) {
			r.Impose(0, 1, client, broker, Condition{Cut: true})
			r.Dial(0, client, broker)
			r.run(second / 2)
			r.Lift(r.now(), 1, client, broker)
		}, []string{"1002ms 1 connected", "1003ms 2 opened by 1"}},
		"its answer is lost, twice": {func(r *rig) {
			r.Impose(0, 1, broker, client, Condition{Cut: true})
			r.Dial(0, client, broker)
			r.run(2 * second)
			r.Lift(r.now(), 1, broker, client)
		}, []string{"3004ms 1 connected", "3005ms 2 opened by 1"}},
		"without power there is no answer": {func(r *rig) {
			r.Vanish(0, broker)
			r.Dial(0, client, broker)
			r.run(second / 2)
			r.Boot(r.now(), broker)
		}, []string{"1003ms 1 refused"}},
		"closed by who has not heard of it: nothing": {func(r *rig) {
			id := r.Dial(0, client, broker)
			r.run(2 * millisecond)
			r.Close(r.now(), id, Acceptor)
		}, []string{"2ms 1 connected", "3ms 2 opened by 1"}},
		"the link refuses": {func(r *rig) {
			r.Impose(0, 1, client, broker, Condition{Refused: true})
			r.Dial(0, client, broker)
			r.Dial(0, other, broker)
			r.run(10 * millisecond)
			r.Lift(r.now(), 1, client, broker)
			r.Dial(r.now(), client, broker)
		}, []string{"2ms 1 refused", "2ms 3 connected", "3ms 2 opened by 3", "12ms 1 connected", "13ms 2 opened by 1"}},
		"the link refuses before it is complete": {func(r *rig) {
			r.Dial(0, client, broker)
			r.run(2 * millisecond)
			r.Impose(r.now(), 1, client, broker, Condition{Refused: true})
		}, []string{"2ms 1 connected", "4ms 1 closed connection reset by peer"}},
		"the link is jammed": {func(r *rig) {
			r.Impose(0, 1, client, broker, Condition{HeldUntil: second})
			r.Dial(0, client, broker)
		}, []string{"1002ms 1 connected", "1003ms 2 opened by 1"}},
		"given up": {func(r *rig) { r.Close(0, r.Dial(0, client, broker), Dialer) }, nil},
		"given up by a killed process": {func(r *rig) {
			r.Dial(0, client, broker)
			r.Kill(0, client)
		}, nil},
		"the answer comes, and its receiver is gone": {func(r *rig) {
			r.Dial(0, client, broker)
			r.run(millisecond)
			r.Vanish(r.now(), client)
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(1, plain())
			c.do(r)
			r.run(20 * second)
			r.expect(t, c.want...)
		})
	}
}

func TestBacklog(t *testing.T) {
	r := newRig(1, plain())
	var ids []ConnID
	for range Backlog + 1 {
		ids = append(ids, r.Dial(r.now(), client, broker))
		for ev, ok := r.queue.Take(r.now() + 4*millisecond); ok; ev, ok = r.queue.Take(r.now() + 4*millisecond) {
			for _, n := range r.Step(ev.At, ev) {
				r.lines = append(r.lines, words(n)) // and the broker accepts none
			}
		}
	}
	if got := len(r.lines); got != 2*Backlog {
		t.Fatalf("%d connected and opened, want %d of each", got, Backlog)
	}
	r.lines = nil
	r.Accepted(ids[0])
	r.run(r.now() + 2*second)
	if len(r.lines) != 2 || !strings.HasSuffix(r.lines[0], "connected") {
		t.Errorf("with room again: %q", r.lines)
	}
}
