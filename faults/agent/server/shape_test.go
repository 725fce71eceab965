//go:build linux

package server

import (
	"bytes"
	"encoding/binary"
	"errors"
	"net"
	"os"
	"slices"
	"testing"
	"time"

	"pestle/faults/agent"
	"pestle/history/stream"
)

// trips is how many round trips a latency is measured with, and attempts how
// often, because other work on the machine makes packets late: the quietest
// attempt counts.
const (
	trips    = 20
	attempts = 5
)

// silent is how long nothing arrives after all that comes has come.
const silent = time.Second

// roundTrip is the median of datagrams there and back.
func roundTrip(local, peer *net.UDPConn) time.Duration {
	took := make([]time.Duration, trips)
	buffer := make([]byte, 64)
	for i := range took {
		began := stream.Now()
		_, err := peer.Write([]byte("ping"))
		must(err)
		must(local.SetReadDeadline(time.Now().Add(soon)))
		n, from, err := local.ReadFromUDPAddrPort(buffer)
		must(err)
		_, err = local.WriteToUDPAddrPort(buffer[:n], from)
		must(err)
		must(peer.SetReadDeadline(time.Now().Add(soon)))
		_, err = peer.Read(buffer)
		must(err)
		took[i] = time.Duration(stream.Now() - began)
	}
	slices.Sort(took)
	return took[trips/2]
}

func TestLatencyIsWithinAMillisecond(t *testing.T) {
	w := begin(t)
	local, peer := w.datagrams(peerA)
	for _, asked := range []time.Duration{5 * time.Millisecond, 25 * time.Millisecond, 100 * time.Millisecond} {
		var added []time.Duration
		for range attempts {
			base := roundTrip(local, peer)
			w.shape(1, agent.Shaping{Seed: 1, Delay: asked}, peerA)
			added = append(added, roundTrip(local, peer)-base)
			w.lift(1)
			if off := added[len(added)-1] - asked; off.Abs() < time.Millisecond {
				break
			}
		}
		t.Logf("%s asked, added at p50: %s", asked, added)
		if off := added[len(added)-1] - asked; off.Abs() >= time.Millisecond {
			t.Errorf("%s asked: %s were added in %d attempts", asked, added, attempts)
		}
	}
}

// send sends numbered datagrams from the peer through the shaping of ref 1, and
// returns what arrived, until nothing does for a while.
func (w *world) send(local, peer *net.UDPConn, n int) [][]byte {
	received := make(chan [][]byte)
	go func() {
		var all [][]byte
		for buffer := make([]byte, 2048); ; {
			must(local.SetReadDeadline(time.Now().Add(silent)))
			n, err := local.Read(buffer)
			if errors.Is(err, os.ErrDeadlineExceeded) {
				received <- all
				return
			}
			must(err)
			all = append(all, slices.Clone(buffer[:n]))
		}
	}()
	for i := range n {
		_, err := peer.Write(numbered(i))
		must(err)
		if (i+1)%100 == 0 { // the devices between us lose what comes too fast
			w.taken(i + 1)
		}
	}
	return <-received
}

// taken waits until the shaping of ref 1 has met so many packets.
func (w *world) taken(n int) {
	waitFor(w.t, "the shaper has met what was sent", func() bool {
		return w.call(agent.Request{Op: agent.Counters}).Counters[0].Packets >= int64(n)
	})
}

// numbered is the payload of the datagram of that number: an odd length is the
// harder one for checksums.
func numbered(i int) []byte {
	return binary.BigEndian.AppendUint32([]byte("mortar and pestle"), uint32(i))
}

func numbers(datagrams [][]byte) []uint32 {
	all := make([]uint32, len(datagrams))
	for i, d := range datagrams {
		all[i] = binary.BigEndian.Uint32(d[len(d)-4:])
	}
	return all
}

func TestLossIsAsAskedAndTheSameTwice(t *testing.T) {
	w := begin(t)
	local, peer := w.datagrams(peerA)
	const n = 2000
	once := func() []uint32 {
		w.shape(1, agent.Shaping{Seed: 7, Loss: 200})
		got := numbers(w.send(local, peer, n))
		hits := w.lift(1)
		lost := n - len(got)
		if hits.Packets != n || hits.Lost != int64(lost) || lost < n*18/100 || lost > n*22/100 {
			t.Errorf("%d of %d lost, the shaper counts %+v", lost, n, hits)
		}
		return got
	}
	if first, second := once(), once(); !slices.Equal(first, second) {
		t.Error("the same seed lost other packets the second time")
	}
}

func TestDuplicatesArrive(t *testing.T) {
	w := begin(t)
	local, peer := w.datagrams(peerA)
	w.shape(1, agent.Shaping{Seed: 1, Duplicate: 100})
	const n = 1000
	got := numbers(w.send(local, peer, n))
	hits := w.lift(1)
	copies := len(got) - n
	slices.Sort(got)
	if distinct := len(slices.Compact(got)); copies < 70 || copies > 130 || hits.Duplicated != int64(copies) || hits.Packets != n || distinct != n {
		t.Errorf("%d distinct datagrams and %d copies of %d, the shaper counts %+v", distinct, copies, n, hits)
	}
}

func TestReorderedPacketsArriveBehindOthers(t *testing.T) {
	w := begin(t)
	local, peer := w.datagrams(peerA)
	w.shape(1, agent.Shaping{Seed: 1, Reorder: 100, ReorderBy: 20 * time.Millisecond})
	const n = 1000
	got := numbers(w.send(local, peer, n))
	hits := w.lift(1)
	behind := 0
	for i := 1; i < len(got); i++ {
		if got[i] < got[i-1] {
			behind++
		}
	}
	if len(got) != n || hits.Reordered < 70 || hits.Reordered > 130 || behind == 0 {
		t.Errorf("%d of %d arrived, %d behind a later one; the shaper counts %+v", len(got), n, behind, hits)
	}
}

func TestJitterKeepsTheOrder(t *testing.T) {
	w := begin(t)
	local, peer := w.datagrams(peerA)
	w.shape(1, agent.Shaping{Seed: 1, Delay: 5 * time.Millisecond, Jitter: 10 * time.Millisecond})
	if got := numbers(w.send(local, peer, 500)); len(got) != 500 || !slices.IsSorted(got) {
		t.Errorf("%d of 500 arrived, in order: %v", len(got), slices.IsSorted(got))
	}
}

// The kernel checks the checksum of what it delivers: what arrives had one that
// fits.
func TestCorruptPayloadsReachTheApplication(t *testing.T) {
	w := begin(t)
	local, peer := w.datagrams(peerA)
	w.shape(1, agent.Shaping{Seed: 1, Corrupt: 100})
	const n = 1000
	got := w.send(local, peer, n)
	hits := w.lift(1)
	other := 0
	for i, d := range got {
		if !bytes.Equal(d, numbered(i)) {
			other++
		}
	}
	if len(got) != n || other < 70 || other > 130 || hits.Corrupted != int64(other) {
		t.Errorf("%d of %d arrived, %d damaged; the shaper counts %+v", len(got), n, other, hits)
	}

	c := w.connect(peerA)
	w.shape(1, agent.Shaping{Seed: 1, Corrupt: 1000})
	must(c.local.SetReadDeadline(time.Now().Add(soon)))
	_, err := c.peer.Write([]byte("mortar"))
	must(err)
	buffer := make([]byte, 64)
	length, err := c.local.Read(buffer)
	if err != nil || length != len("mortar") || string(buffer[:length]) == "mortar" {
		t.Errorf("over TCP arrived %q, %v", buffer[:length], err)
	}
}

func TestClogIsAsNarrowAsAsked(t *testing.T) {
	w := begin(t)
	for _, rate := range []int64{50_000, 1_000_000, 10_000_000} {
		var passed []int64
		near := false
		for len(passed) < attempts && !near {
			got := w.throughput(rate)
			passed = append(passed, got)
			near = got > rate*9/10 && got < rate*11/10
		}
		t.Logf("%d bytes/s asked, passed: %d", rate, passed)
		if !near {
			t.Errorf("%d bytes/s asked, %d passed in %d attempts", rate, passed, attempts)
		}
	}
}

// throughput is what a clogged connection carries, in bytes/s.
func (w *world) throughput(rate int64) int64 {
	c := w.connect(peerA)
	w.shape(1, agent.Shaping{Seed: 1, BytesPerSecond: rate}, peerA)
	go func() {
		sent := make([]byte, 16<<10)
		for err := error(nil); err == nil; {
			_, err = c.peer.Write(sent)
		}
	}()
	readFor(c.local, 200*time.Millisecond) // the first bytes find an empty link
	began := stream.Now()
	got := readFor(c.local, 1500*time.Millisecond)
	took := stream.Now() - began
	w.lift(1)
	must(c.peer.(*net.TCPConn).SetLinger(0)) // or what it has not sent yet takes its part of the next clog
	c.peer.Close()
	const whole, carries = 1500, 1448 // bytes of a full packet, and of what it carries
	return int64(got) * whole / carries * int64(time.Second) / took
}

// readFor reads for so long and returns how many bytes came.
func readFor(conn net.Conn, long time.Duration) (total int) {
	must(conn.SetReadDeadline(time.Now().Add(long)))
	for buffer := make([]byte, 64<<10); ; {
		n, err := conn.Read(buffer)
		total += n
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return total
		}
		must(err)
	}
}

func TestJamArrivesInABurst(t *testing.T) {
	w := begin(t)
	local, peer := w.datagrams(peerA)
	w.shape(1, agent.Shaping{Jam: true}, peerA)
	const n = 300
	for i := range n {
		_, err := peer.Write(binary.BigEndian.AppendUint32(nil, uint32(i)))
		must(err)
	}
	w.taken(n)
	must(local.SetReadDeadline(time.Now().Add(never)))
	if k, err := local.Read(make([]byte, 64)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("during the jam %d bytes arrive, %v", k, err)
	}
	began := stream.Now()
	w.lift(1)
	buffer := make([]byte, 64)
	must(local.SetReadDeadline(time.Now().Add(soon)))
	for i := range n {
		k, err := local.Read(buffer)
		must(err)
		if got := binary.BigEndian.Uint32(buffer[:k]); got != uint32(i) {
			t.Fatalf("datagram %d arrives in the place of %d", got, i)
		}
	}
	if took := time.Duration(stream.Now() - began); took > time.Second {
		t.Errorf("the burst took %s", took)
	}
}

func waitFor(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(soon); !is(); {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %s", what, soon)
		}
		time.Sleep(time.Millisecond)
	}
}

// Other faults that come and go leave the packets alone that one holds: the
// kernel drops a queue's packets when its chain goes.
func TestJammedPacketsOutliveOtherFaults(t *testing.T) {
	w := begin(t)
	local, peer := w.datagrams(peerA)
	w.shape(1, agent.Shaping{Jam: true})
	_, err := peer.Write([]byte("mortar"))
	must(err)
	w.taken(1)
	w.call(agent.Request{Op: agent.Block, Ref: 2})
	w.shape(3, agent.Shaping{Seed: 1, Delay: time.Millisecond})
	w.lift(2)
	w.lift(3)
	w.lift(1)
	must(local.SetReadDeadline(time.Now().Add(soon)))
	if _, err := local.Read(make([]byte, 64)); err != nil {
		t.Errorf("after the jam: %v", err)
	}
}

func TestShapingIsOfItsPeersAndAddsUp(t *testing.T) {
	w := begin(t)
	ofA, fromA := w.datagrams(peerA)
	ofB, fromB := w.datagrams(peerB)
	w.shape(1, agent.Shaping{Seed: 1, Delay: 20 * time.Millisecond})
	w.shape(2, agent.Shaping{Seed: 2, Delay: 60 * time.Millisecond}, peerA)
	a, b := roundTrip(ofA, fromA), roundTrip(ofB, fromB)
	if a < 80*time.Millisecond || b < 20*time.Millisecond || b > 60*time.Millisecond {
		t.Errorf("two delays: %s from A, want 80ms; one: %s from B, want 20ms", a, b)
	}
	w.lift(1)
	if a = roundTrip(ofA, fromA); a < 60*time.Millisecond || a > 80*time.Millisecond {
		t.Errorf("the other delay alone: %s from A, want 60ms", a)
	}
}
