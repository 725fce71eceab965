package server

import (
	"net"
	"testing"
	"time"

	"pestle/broker/core"
	"pestle/broker/plant"
	"pestle/broker/server/peer"
)

// A batch's FxTell effects become EvTold events of the other node's mailbox,
// in order, and its reader waits there until they were stepped.
func TestWhatACoreTellsArrivesAtTheOther(t *testing.T) {
	cfg := testConfig(openDir(t, t.TempDir()))
	cfg.Core.Node, cfg.PeerAddress = 2, "127.0.0.1:0"
	there, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	there.peers.Serve()
	t.Cleanup(func() { there.peers.Close(); _ = there.closeListeners() })

	here := &loop{mail: newQueue[message](), disk: newDisk(nil, nil, plant.None), peers: newPeers(t, 1), core: &core.Core{}, ready: make(chan struct{}), segments: newSegmentTimes()}
	for _, text := range []string{"one", "two"} {
		here.fx.List = append(here.fx.List, core.Effect{Kind: core.FxTell, Node: 2, Text: there.PeerAddr().String(), Data: []byte(text)})
	}
	if done, err := here.carryOut(); done || err != nil {
		t.Fatalf("got %v, %v", done, err)
	}
	var told []message
	for len(told) < 2 {
		select {
		case <-there.mail.wake:
			told = append(told, there.mail.take(nil)...)
		case <-time.After(patience):
			t.Fatalf("%d frames arrived, want 2", len(told))
		}
	}
	for i, want := range []string{"one", "two"} {
		if ev := told[i].event; ev.Kind != core.EvTold || string(ev.Data) != want || told[i].frame == nil {
			t.Errorf("event %d is %+v, want EvTold with %q and its frame", i, ev, want)
		}
	}
}

// What a peer sends is let go once it was stepped: much more arrives than may
// be under way at once.
func TestFramesArriveForEver(t *testing.T) {
	cfg := testConfig(openDir(t, t.TempDir()))
	cfg.PeerAddress = "127.0.0.1:0"
	cfg.Core.Node = 1
	there := start(t, cfg)
	here := newPeers(t, 2)
	const count = 40
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		if stats := there.peers.Stats(); len(stats) > 0 && stats[0].ReceivedFrames >= count {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("too few frames of 1 MiB arrived: %+v", there.peers.Stats())
		}
		here.Tell(1, there.PeerAddr().String(), make([]byte, 1<<20))
		here.Flush(true)
	}
	if n := here.Stats()[0].Connects; n != 1 {
		t.Errorf("it took %d connections, want one", n)
	}
}

func newPeers(t *testing.T, node uint64) *peer.Transport {
	t.Helper()
	peers := peer.New(peer.Config{Node: node, Log: testConfig(nil).Log})
	t.Cleanup(peers.Close)
	return peers
}

func TestThePeerAddressIsAPortOfItsOwn(t *testing.T) {
	if s := startIn(t, t.TempDir()); s.PeerAddr() != nil {
		t.Errorf("a broker alone listens for peers at %v", s.PeerAddr())
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	fs := openDir(t, t.TempDir())
	cfg := testConfig(fs)
	cfg.PeerAddress = taken.Addr().String()
	if _, err := Open(cfg); err == nil {
		t.Fatal("a port that is taken was not refused")
	}
	start(t, testConfig(fs)) // the directory and the other ports were given back
}
