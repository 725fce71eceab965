package agent

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"slices"
	"testing"
	"time"
)

// far is the agent's end of a stream, played by the test.
type far struct {
	t     *testing.T
	conn  net.Conn
	lines *bufio.Scanner
}

func pair(t *testing.T, unasked func(Answer)) (*Client, *far) {
	t.Helper()
	near, conn := net.Pipe()
	client := NewClient(near, unasked)
	t.Cleanup(func() {
		conn.Close()
		<-client.Done()
	})
	return client, &far{t, conn, bufio.NewScanner(conn)}
}

func (f *far) request() Request {
	f.t.Helper()
	if !f.lines.Scan() {
		f.t.Fatalf("the stream ended: %v", f.lines.Err())
	}
	r, err := ParseRequest(f.lines.Bytes())
	if err != nil {
		f.t.Fatal(err)
	}
	return r
}

func (f *far) answer(a Answer) {
	f.t.Helper()
	if err := WriteAnswer(f.conn, a); err != nil {
		f.t.Fatal(err)
	}
}

func TestCallsAreAnsweredInAnyOrder(t *testing.T) {
	client, agent := pair(t, nil)
	got := make(chan Answer)
	for ref := 1; ref <= 2; ref++ {
		go func() {
			a, err := client.Call(context.Background(), Request{Op: Lift, Ref: ref})
			if err != nil || len(a.Counters) != 1 || a.Counters[0].Ref != ref {
				t.Errorf("ref %d: answer %+v, error %v", ref, a, err)
			}
			got <- a
		}()
	}
	asked := []Request{agent.request(), agent.request()}
	for _, r := range slices.Backward(asked) {
		agent.answer(Answer{ID: r.ID, Op: r.Op, Counters: []Hits{{Ref: r.Ref}}})
		if a := <-got; a.ID != r.ID {
			t.Errorf("answer %d came for request %d", a.ID, r.ID)
		}
	}
}

func TestReportComesFirstAndTroubleUnasked(t *testing.T) {
	unasked := make(chan Answer, 1)
	client, agent := pair(t, func(a Answer) { unasked <- a })
	agent.answer(Answer{Op: Report, Abilities: []Ability{{Name: NFT, OK: true}}})
	report, err := client.Report(context.Background())
	if err != nil || len(report.Abilities) != 1 || !report.Abilities[0].OK {
		t.Fatalf("report %+v, error %v", report, err)
	}
	agent.answer(Answer{Op: Trouble, Err: "the queue ended"})
	if a := <-unasked; a.Err != "the queue ended" {
		t.Errorf("unasked: %+v", a)
	}
}

func TestRefusalOfTheAgentIsARemoteError(t *testing.T) {
	client, agent := pair(t, nil)
	go func() { r := agent.request(); agent.answer(Answer{ID: r.ID, Op: r.Op, Err: "no nftables"}) }()
	_, err := client.Call(context.Background(), Request{Op: Silence, Ref: 1})
	var remote *RemoteError
	if !errors.As(err, &remote) || remote.Text != "no nftables" {
		t.Errorf("error %v", err)
	}
}

func TestEndOfStreamEndsCalls(t *testing.T) {
	client, agent := pair(t, nil)
	go func() { agent.request(); agent.conn.Close() }()
	if _, err := client.Call(context.Background(), Request{Op: Probe}); !errors.Is(err, ErrGone) {
		t.Errorf("a call whose agent went: %v", err)
	}
	if _, err := client.Call(context.Background(), Request{Op: Probe}); !errors.Is(err, ErrGone) {
		t.Errorf("a call after the agent went: %v", err)
	}
	if _, err := client.Report(context.Background()); !errors.Is(err, ErrGone) || !errors.Is(err, io.EOF) {
		t.Errorf("the report of an agent that never spoke: %v", err)
	}
}

func TestCallEndsWithItsContext(t *testing.T) {
	client, agent := pair(t, nil)
	ctx, cancel := context.WithCancel(context.Background())
	go func() { agent.request(); cancel() }()
	if _, err := client.Call(ctx, Request{Op: Probe}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	agent.answer(Answer{ID: 1, Op: Probe}) // late: nobody waits, nothing breaks
	go func() { r := agent.request(); agent.answer(Answer{ID: r.ID, Op: r.Op}) }()
	if _, err := client.Call(context.Background(), Request{Op: Counters}); err != nil {
		t.Errorf("the call after it: %v", err)
	}
}

func TestRequestsThatAreRefused(t *testing.T) {
	peer := netip.MustParseAddr("172.29.0.12")
	for name, r := range map[string]Request{
		"no operation":     {},
		"unknown":          {Op: "melt", Ref: 1},
		"no ref":           {Op: Block},
		"IPv6 peer":        {Op: Block, Ref: 1, Peers: []netip.Addr{netip.IPv6Loopback()}},
		"too many peers":   {Op: Block, Ref: 1, Peers: slices.Repeat([]netip.Addr{peer}, MaxPeers+1)},
		"no shaping":       {Op: Shape, Ref: 1},
		"loss over all":    {Op: Shape, Ref: 1, Shaping: &Shaping{Loss: 1001}},
		"negative delay":   {Op: Shape, Ref: 1, Shaping: &Shaping{Delay: -1}},
		"endless jitter":   {Op: Shape, Ref: 1, Shaping: &Shaping{Jitter: MaxDelay + time.Nanosecond}},
		"negative rate":    {Op: Shape, Ref: 1, Shaping: &Shaping{BytesPerSecond: -1}},
		"no relay":         {Op: Control},
		"relay to no port": {Op: Control, Relay: &Relay{Method: "GET", Path: "/"}},
		"relay elsewhere":  {Op: Control, Relay: &Relay{Port: 1, Method: "GET", Path: "@example.org/"}},
		"relayed CONNECT":  {Op: Control, Relay: &Relay{Port: 1, Method: "CONNECT", Path: "/"}},
		"relayed flood":    {Op: Control, Relay: &Relay{Port: 1, Method: "POST", Path: "/", Body: string(make([]byte, MaxBody+1))}},
	} {
		if r.Validate() == nil {
			t.Errorf("%s: %+v passes", name, r)
		}
	}
	for _, line := range []string{"", "{", `{"op":"probe"} {}`, `{"op":"silence","ref":1,"only":"tcp"}`} {
		if r, err := ParseRequest([]byte(line)); err == nil {
			t.Errorf("line %q passes as %+v", line, r)
		}
	}
	for _, r := range []Request{
		{Op: Silence, Ref: 1}, {Op: Block, Ref: 1, Peers: []netip.Addr{peer}}, {Op: Reset}, {Op: Lift, Ref: 1}, {Op: Counters}, {Op: Probe},
		{Op: Shape, Ref: 1, Shaping: &Shaping{Seed: 1, Loss: 1000, Jam: true, BytesPerSecond: 1}},
		{Op: Control, Relay: &Relay{Port: 4, Method: "POST", Path: "/fault"}},
	} {
		if err := r.Validate(); err != nil {
			t.Errorf("%+v: %v", r, err)
		}
	}
}

func FuzzParseRequest(f *testing.F) {
	f.Add([]byte(`{"id":1,"op":"block","ref":7,"peers":["172.29.0.12"]}`))
	f.Add([]byte(`{"id":2,"op":"shape","ref":1,"shaping":{"seed":18446744073709551615,"loss":200,"delay":1000}}`))
	f.Add([]byte(`{"id":3,"op":"control","relay":{"port":80,"method":"GET","path":"/"}}`))
	f.Add([]byte(`{"id":4,"op":"probe"}{}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		r, err := ParseRequest(line)
		if err != nil {
			return
		}
		again, err := appendLine(r)
		if err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		if _, err := ParseRequest(again); err != nil {
			t.Fatalf("what was written cannot be read: %v", err)
		}
	})
}

func FuzzParseAnswer(f *testing.F) {
	f.Add([]byte(`{"op":"report","at":5,"abilities":[{"name":"nft","ok":true}]}`))
	f.Fuzz(func(_ *testing.T, line []byte) {
		_, _ = ParseAnswer(line) // must not panic
	})
}
