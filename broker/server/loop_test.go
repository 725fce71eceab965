package server

import (
	"bytes"
	"log/slog"
	"net"
	"strings"
	"testing"

	"pestle/broker/core"
	"pestle/broker/plant"
)

func TestReadersWaitForADiskThatIsBehind(t *testing.T) {
	sock, _ := socketPair(t)
	c := newConn(1, sock, newQueue[message](), newSegmentTimes(), life{})
	granted := func() bool {
		select {
		case <-c.consumed:
			return true
		default:
			return false
		}
	}
	l := &loop{}
	for _, step := range []struct {
		what                string
		syncing             bool
		creating            int
		fed, queued         int
		consumed, goesOnNow bool
	}{
		{"nothing under way", false, 0, maxUnsynced + 1, 0, true, true},
		{"a sync with little behind it", true, 0, maxUnsynced, 0, true, true},
		{"a sync with too much behind it", true, 0, maxUnsynced + 1, 0, true, false},
		{"still so", true, 0, maxUnsynced + 2, 0, false, false},
		{"the sync is done", false, 0, maxUnsynced + 2, 0, false, true},
		{"too much waits for a file", false, 1, maxUnsynced + 1, 0, true, false},
		{"the file is made", false, 0, maxUnsynced + 1, 0, false, true},
		{"too many writes", false, 0, 0, maxUnsynced + 1, true, false},
		{"written", false, 0, 0, maxUnsynced, false, true},
	} {
		l.syncing, l.creating, l.fed, l.queued = step.syncing, step.creating, step.fed, step.queued
		if step.consumed {
			l.consumed(c)
		}
		l.release()
		if got := granted(); got != step.goesOnNow {
			t.Fatalf("%s: the reader goes on: %v, want %v", step.what, got, step.goesOnNow)
		}
	}
}

func socketPair(t *testing.T) (near, far net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	far = dialRaw(t, l.Addr())
	near, err = l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { near.Close() })
	return near, far
}

func TestNothingIsDoneAfterFxExit(t *testing.T) {
	sock, _ := socketPair(t)
	c := newConn(1, sock, newQueue[message](), newSegmentTimes(), life{})
	l := &loop{mail: newQueue[message](), conns: map[core.ConnID]*conn{1: c}, disk: newDisk(nil, nil, plant.None), peers: newPeers(t, 1), segments: newSegmentTimes()}
	l.fx.List = []core.Effect{
		{Kind: core.FxSend, Conn: 1, Data: []byte("before")},
		{Kind: core.FxExit, Text: "reason"},
		{Kind: core.FxSend, Conn: 1, Data: []byte("after")},
		{Kind: core.FxWrite, Data: []byte("after")},
	}
	done, err := l.carryOut()
	if done || !isExit(err) || err.Error() != "reason" {
		t.Fatalf("got %v, %v; want an ExitError with the reason", done, err)
	}
	if out, _, _ := c.take(nil); string(out) != "before" {
		t.Errorf("queued for the connection: %q, want what came before", out)
	}
	if writes := l.disk.changes.take(nil); len(writes) > 0 {
		t.Errorf("queued for the disk: %+v, want nothing", writes)
	}
}

func TestLogLinesHaveTheirLevel(t *testing.T) {
	var b bytes.Buffer
	l := &loop{log: slog.New(slog.NewTextHandler(&b, nil))}
	l.tell(core.Info, "one")
	l.tell(core.Warn, "two")
	l.tell(core.Error, "three")
	for _, want := range []string{"level=INFO msg=one", "level=WARN msg=two", "level=ERROR msg=three"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("log lacks %q:\n%s", want, b.String())
		}
	}
}
