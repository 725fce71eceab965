//go:build linux

package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"pestle/faults/agent"
)

const (
	soon  = 5 * time.Second        // whatever is to come has come by then
	never = 150 * time.Millisecond // what has not come by then is held back
)

func timesOut(err error) bool { return errors.Is(err, os.ErrDeadlineExceeded) }

func TestBlockIsOneWayAndHoldsForLiveConnections(t *testing.T) {
	w := begin(t)
	ofA, ofB := w.connect(peerA), w.connect(peerB)
	w.call(agent.Request{Op: agent.Block, Ref: 1, Peers: []netip.Addr{peerA}})

	if err := passes(ofA.peer, ofA.local, never); !timesOut(err) {
		t.Errorf("from the blocked peer: %v", err)
	}
	if err := passes(ofA.local, ofA.peer, soon); err != nil {
		t.Errorf("to the blocked peer: %v", err)
	}
	if err := passes(ofB.peer, ofB.local, soon); err != nil {
		t.Errorf("from another peer: %v", err)
	}
	if _, err := w.dial(peerA, w.serve(pod).Addr().String(), never); !isTimeout(err) {
		t.Errorf("a new connection of the blocked peer: %v", err)
	}
	if hits := w.lift(1); hits.Packets == 0 || hits.Bytes < 20*hits.Packets {
		t.Errorf("hits %+v", hits)
	}
	if err := arrives(ofA.local, soon); err != nil {
		t.Errorf("after the lift, what was sent before: %v", err)
	}
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

func TestBlocksOverlap(t *testing.T) {
	w := begin(t)
	ofA, ofB := w.connect(peerA), w.connect(peerB)
	w.call(agent.Request{Op: agent.Block, Ref: 1, Peers: []netip.Addr{peerA}})
	w.call(agent.Request{Op: agent.Block, Ref: 2}) // everybody
	for name, c := range map[string]connection{"A": ofA, "B": ofB} {
		if err := passes(c.peer, c.local, never); !timesOut(err) {
			t.Errorf("both imposed, from %s: %v", name, err)
		}
	}
	all := w.call(agent.Request{Op: agent.Counters}).Counters
	if len(all) != 2 || all[0].Ref != 1 || all[0].Packets == 0 || all[1].Packets <= all[0].Packets {
		t.Errorf("each block has its own evidence, the second more: %+v", all)
	}
	w.lift(2)
	if err := passes(ofA.peer, ofA.local, never); !timesOut(err) {
		t.Errorf("one lifted, from A: %v", err)
	}
	if err := arrives(ofB.local, soon); err != nil {
		t.Errorf("one lifted, from B: %v", err)
	}
	w.call(agent.Request{Op: agent.Block, Ref: 1, Peers: []netip.Addr{peerB}}) // in place of A
	if err := arrives(ofA.local, soon); err != nil {
		t.Errorf("the ref imposed anew on B, from A: %v", err)
	}
	if err := passes(ofB.peer, ofB.local, never); !timesOut(err) {
		t.Errorf("the ref imposed anew on B, from B: %v", err)
	}
}

func TestTheHarnessIsNoPeer(t *testing.T) {
	w := begin(t)
	harness, own := w.connect(gateway), w.connect(peerA)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "ready") }))
	defer server.Close()
	for ref, op := range []agent.Op{agent.Block, agent.Refuse, agent.HalfOpen} {
		w.call(agent.Request{Op: op, Ref: ref + 1})
	}
	w.call(agent.Request{Op: agent.Reset})
	w.shape(9, agent.Shaping{Seed: 1, Loss: 1000})
	if err := passes(harness.peer, harness.local, soon); err != nil {
		t.Errorf("with everything imposed on all peers, from the gateway: %v", err)
	}
	if err := passes(own.peer, own.local, never); err == nil {
		t.Error("a peer's line arrives")
	}
	w.call(agent.Request{Op: agent.Silence, Ref: 5})
	if err := passes(harness.peer, harness.local, never); !timesOut(err) {
		t.Errorf("in silence, from the gateway: %v", err)
	}
	if body, err := get(server.URL); body != "ready" {
		t.Errorf("in silence, over the loopback device: %q, %v", body, err)
	}
}

func get(url string) (string, error) {
	response, err := http.Get(url)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return string(body), err
}

func TestSilenceIsHeardByNobody(t *testing.T) {
	w := begin(t)
	c := w.connect(peerA)
	w.call(agent.Request{Op: agent.Silence, Ref: 1})
	must(c.local.(*net.TCPConn).SetLinger(0))
	c.local.Close() // as the kernel does for a killed process: an RST, which does not get out
	if err := passes(c.peer, c.peer, never); !timesOut(err) {
		t.Errorf("the peer of a silent pod: %v", err)
	}
	w.lift(1)
	if err := arrives(c.peer, soon); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the peer afterwards, when what it sends again is answered: %v", err)
	}
}

func TestRefuse(t *testing.T) {
	w := begin(t)
	there, here := w.serve(peerA), w.serve(pod)
	live := w.connect(peerA)
	a := w.call(agent.Request{Op: agent.Refuse, Ref: 1, Peers: []netip.Addr{peerA}})
	if a.Torn != 1 {
		t.Errorf("%d connections were torn", a.Torn)
	}
	if err := arrives(live.peer, soon); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the peer of a live connection: %v", err)
	}
	if err := arrives(live.local, soon); !errors.Is(err, syscall.ECONNABORTED) {
		t.Errorf("the pod's end of a live connection: %v", err)
	}
	for name, end := range map[string]struct {
		from netip.Addr
		to   net.Listener
	}{"peer": {peerA, here}, "pod": {pod, there}} {
		began := time.Now()
		if _, err := w.dial(end.from, end.to.Addr().String(), soon); !errors.Is(err, syscall.ECONNREFUSED) || time.Since(began) > soon/5 {
			t.Errorf("the %s dials: %v after %s", name, err, time.Since(began))
		}
	}
	if _, err := w.dial(peerB, here.Addr().String(), soon); err != nil {
		t.Errorf("another peer dials: %v", err)
	}
	if hits := w.lift(1); hits.Packets < 2 || hits.Torn != 1 {
		t.Errorf("hits %+v", hits)
	}
	if _, err := w.dial(peerA, here.Addr().String(), soon); err != nil {
		t.Errorf("the peer dials afterwards: %v", err)
	}
}

func TestResetTellsBothEnds(t *testing.T) {
	w := begin(t)
	ofA, ofB := w.connect(peerA), w.connect(peerB)
	listener := w.serve(peerA)
	dialled, err := w.dial(pod, listener.Addr().String(), soon)
	must(err)
	if a := w.call(agent.Request{Op: agent.Reset, Peers: []netip.Addr{peerA}}); a.Torn != 2 {
		t.Errorf("%d connections were torn", a.Torn)
	}
	for name, end := range map[string]struct {
		conn net.Conn
		want error
	}{"peer": {ofA.peer, syscall.ECONNRESET}, "pod": {ofA.local, syscall.ECONNABORTED}, "pod that dialled": {dialled, syscall.ECONNABORTED}} {
		if err := arrives(end.conn, soon); !errors.Is(err, end.want) {
			t.Errorf("the %s: %v, want %v", name, err, end.want)
		}
	}
	if err := passes(ofB.peer, ofB.local, soon); err != nil {
		t.Errorf("another peer: %v", err)
	}
	if _, err := w.dial(pod, listener.Addr().String(), soon); err != nil {
		t.Errorf("it is over at once: %v", err)
	}
}

// A listener of IPv4 and IPv6, as a server has, gives sockets of IPv6.
func TestResetOfASocketThatServesBoth(t *testing.T) {
	w := begin(t)
	l, err := net.Listen("tcp", ":0")
	must(err)
	defer l.Close()
	_, err = w.dial(peerA, netip.AddrPortFrom(pod, uint16(l.Addr().(*net.TCPAddr).Port)).String(), soon)
	must(err)
	conn, err := l.Accept()
	must(err)
	defer conn.Close()
	if a := w.call(agent.Request{Op: agent.Reset}); a.Torn != 1 {
		t.Errorf("%d connections were torn", a.Torn)
	}
	if err := arrives(conn, soon); !errors.Is(err, syscall.ECONNABORTED) {
		t.Errorf("the pod's end: %v", err)
	}
}

func TestHalfOpenTellsThePodAlone(t *testing.T) {
	w := begin(t)
	c := w.connect(peerA)
	a := w.call(agent.Request{Op: agent.HalfOpen, Ref: 1})
	if a.Torn != 1 {
		t.Errorf("%d connections were torn", a.Torn)
	}
	if err := arrives(c.local, soon); !errors.Is(err, syscall.ECONNABORTED) {
		t.Errorf("the pod: %v", err)
	}
	if err := passes(c.peer, c.peer, never); !timesOut(err) {
		t.Errorf("the peer: %v", err)
	}
	fresh := w.connect(peerA)
	if err := passes(fresh.peer, fresh.local, soon); err != nil {
		t.Errorf("a new connection meanwhile: %v", err)
	}
	if hits := w.lift(1); hits.Torn != 1 || hits.Packets == 0 {
		t.Errorf("hits %+v", hits)
	}
	if err := arrives(c.peer, soon); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the peer afterwards: %v", err)
	}
	if err := passes(fresh.local, fresh.peer, soon); err != nil {
		t.Errorf("the new connection afterwards: %v", err)
	}
}

func TestNothingIsLeft(t *testing.T) {
	w := begin(t)
	w.connect(peerA)
	w.call(agent.Request{Op: agent.Block, Ref: 1})
	w.call(agent.Request{Op: agent.HalfOpen, Ref: 2})
	w.shape(3, agent.Shaping{Jam: true})
	for ref := 1; ref <= 3; ref++ {
		w.lift(ref)
	}
	w.call(agent.Request{Op: agent.Lift, Ref: 3}) // once more: fine
	if table := listTable(t); strings.Contains(table, "counter") || strings.Contains(table, "set ") || strings.Contains(table, "queue") {
		t.Errorf("with all refs lifted the table is\n%s", table)
	}
}

// listTable is what nft shows of the agent's table; "" if there is none.
func listTable(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("nft", "list", "table", "ip", "pestle").CombinedOutput()
	if errors.Is(err, exec.ErrNotFound) {
		t.Skip("SKIPPED: nft is not installed, so the table cannot be looked at")
	}
	if err != nil {
		return ""
	}
	return string(out)
}

func TestTheTableIsMadeAnewAndGoesWithTheAgent(t *testing.T) {
	w := &world{t: t, calls: make(chan func())}
	w.link()
	// An agent that was killed leaves its rules.
	left, err := open(Options{Subnet: subnet, Gateway: gateway})
	must(err)
	must(left.set(nil))
	_, err = left.impose(agent.Request{Op: agent.Block, Ref: 1})
	must(err)
	must(left.pump.close())

	stop := w.start()
	c := w.connect(peerA)
	if err := passes(c.peer, c.local, soon); err != nil {
		t.Errorf("with a new agent: %v", err)
	}
	w.call(agent.Request{Op: agent.Block, Ref: 1})
	stop()
	if table := listTable(t); table != "" {
		t.Errorf("the agent's end left\n%s", table)
	}
	if err := passes(c.peer, c.local, soon); err != nil {
		t.Errorf("without an agent: %v", err)
	}
}

func TestControlReachesTheProcessOfThePod(t *testing.T) {
	w := begin(t)
	asked, stuck := make(chan struct{}), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/stuck" {
			close(asked)
			<-stuck
		}
		body, _ := io.ReadAll(r.Body)
		w.WriteHeader(http.StatusTeapot)
		fmt.Fprintf(w, "%s %s %s", r.Method, r.URL, body)
	}))
	defer server.Close()
	port := uint16(server.Listener.Addr().(*net.TCPAddr).Port)
	a := w.call(agent.Request{Op: agent.Control, Relay: &agent.Relay{Port: port, Method: "POST", Path: "/disk?full=1", Body: "now"}})
	if a.Reply == nil || a.Reply.Status != http.StatusTeapot || a.Reply.Body != "POST /disk?full=1 now" {
		t.Errorf("reply %+v", a.Reply)
	}

	answered := make(chan error)
	go func() {
		_, err := w.agent.Call(context.Background(), agent.Request{Op: agent.Control, Relay: &agent.Relay{Port: port, Method: "GET", Path: "/stuck"}})
		answered <- err
	}()
	<-asked
	ctx, cancel := context.WithTimeout(context.Background(), soon)
	defer cancel()
	if _, err := w.agent.Call(ctx, agent.Request{Op: agent.Counters}); err != nil {
		t.Errorf("another request meanwhile: %v", err)
	}
	close(stuck)
	if err := <-answered; err != nil {
		t.Error(err)
	}

	server.Close()
	_, err := w.agent.Call(context.Background(), agent.Request{Op: agent.Control, Relay: &agent.Relay{Port: port, Method: "GET", Path: "/"}})
	if err == nil || !strings.Contains(err.Error(), strconv.Itoa(int(port))) {
		t.Errorf("a process that does not listen: %v", err)
	}
}

func TestWhatIsMissingIsRefusedWithItsReason(t *testing.T) {
	s := &server{abilities: []agent.Ability{{Name: agent.NFT, OK: true}, {Name: agent.NFQueue, Why: "no queue in this kernel"}}}
	err := s.carryOut(agent.Request{Op: agent.Shape, Ref: 1, Shaping: &agent.Shaping{}}, &agent.Answer{})
	if err == nil || !strings.Contains(err.Error(), "no queue in this kernel") {
		t.Errorf("error %v", err)
	}
}
