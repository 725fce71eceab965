//go:build linux

package server

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"pestle/faults/agent"
)

// A shaper that ended must not pass for one that shapes.
func TestTheEndOfTheQueueIsTold(t *testing.T) {
	w := &world{t: t, calls: make(chan func())}
	w.link()
	s, err := open(Options{Subnet: subnet, Gateway: gateway})
	must(err)
	_, err = s.impose(agent.Request{Op: agent.Shape, Ref: 1, Shaping: &agent.Shaping{Loss: 1000}})
	must(err)
	requests, toAgent := io.Pipe()
	fromAgent, answers := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- s.serve(context.Background(), requests, &writer{out: answers}) }()

	null, err := os.Open(os.DevNull)
	must(err)
	defer null.Close()
	must(unix.Dup3(int(null.Fd()), s.pump.queue.FD(), unix.O_CLOEXEC)) // its socket is none any more
	s.pump.ring()
	lines := bufio.NewScanner(fromAgent)
	next := func() agent.Answer {
		if !lines.Scan() {
			t.Fatalf("the agent's lines end: %v", lines.Err())
		}
		a, err := agent.ParseAnswer(lines.Bytes())
		must(err)
		return a
	}
	if a := next(); a.Op != agent.Trouble || a.ID != 0 || a.Err == "" {
		t.Errorf("unasked: %+v", a)
	}
	fmt.Fprintln(toAgent, `{"id":1,"op":"shape","ref":2,"shaping":{"seed":1,"loss":1000}}`)
	if a := next(); a.ID != 1 || a.Err == "" {
		t.Errorf("a shaping without a queue: %+v", a)
	}
	fmt.Fprintln(toAgent, `{"id":2,"op":"counters"}`)
	if a := next(); a.ID != 2 || a.Err != "" || len(a.Counters) != 0 {
		t.Errorf("the lost shaping is imposed still: %+v", a)
	}
	c := w.connect(peerA)
	if err := passes(c.peer, c.local, soon); err != nil {
		t.Errorf("what the lost shaper would lose: %v", err)
	}
	must(toAgent.Close())
	must(<-ended)
	must(s.close())
}

// An agent that was killed leaves its rules, but holds nothing up.
func TestShapedPacketsPassWithoutAnAgent(t *testing.T) {
	w := &world{t: t, calls: make(chan func())}
	w.link()
	s, err := open(Options{Subnet: subnet, Gateway: gateway})
	must(err)
	_, err = s.impose(agent.Request{Op: agent.Shape, Ref: 1, Shaping: &agent.Shaping{Loss: 1000}})
	must(err)
	must(s.pump.close())
	c := w.connect(peerA)
	if err := passes(c.peer, c.local, soon); err != nil {
		t.Errorf("from a peer: %v", err)
	}
	must(s.table.Close())
}
