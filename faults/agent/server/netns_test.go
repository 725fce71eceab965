//go:build linux

package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"pestle/faults/agent"
)

// The pod's network in these tests: the pod is the namespace of the test
// process, the others share one at the other end of a pair of devices.
var (
	subnet  = netip.MustParsePrefix("10.9.0.0/24")
	gateway = netip.MustParseAddr("10.9.0.1")
	pod     = netip.MustParseAddr("10.9.0.11")
	peerA   = netip.MustParseAddr("10.9.0.12")
	peerB   = netip.MustParseAddr("10.9.0.13")
)

const inNamespace = "PESTLE_TEST_IN_NAMESPACE"

// TestMain runs the tests in a network namespace of their own, which ends with
// them.
func TestMain(m *testing.M) {
	if os.Getenv(inNamespace) != "" {
		os.Exit(m.Run())
	}
	cmd := exec.Command(os.Args[0], os.Args[1:]...)
	cmd.Env = append(os.Environ(), inNamespace+"=1")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	runtime.LockOSThread() // the death signal is the thread's
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case errors.Is(err, unix.EPERM):
		fmt.Println("SKIPPED pestle/faults/agent/server: no test of the agent on real packets ran, because a network namespace takes root")
		os.Exit(0)
	case errors.As(err, &exit):
		os.Exit(exit.ExitCode())
	case err != nil:
		fmt.Println("start the tests in a network namespace:", err)
		os.Exit(1)
	}
}

// world is the pod with an agent, and everybody else.
type world struct {
	t     *testing.T
	agent *agent.Client
	calls chan func() // run in the others' namespace
}

// begin makes the network and starts an agent.
func begin(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, calls: make(chan func())}
	w.link()
	w.start()
	return w
}

// link makes the others' namespace and the pair of devices between it and ours.
func (w *world) link() {
	w.t.Helper()
	up("lo")
	made := make(chan int)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends, and the namespace with it
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			panic(err)
		}
		made <- unix.Gettid()
		for call := range w.calls {
			call()
		}
	}()
	thread := <-made
	must(netlink.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "pod0"}, PeerName: "peer0"}))
	others, err := netlink.LinkByName("peer0")
	must(err)
	must(netlink.LinkSetNsPid(others, thread))
	addresses("pod0", pod)
	w.there(func() {
		up("lo")
		addresses("peer0", gateway, peerA, peerB)
	})
	w.t.Cleanup(func() {
		ours, err := netlink.LinkByName("pod0")
		must(err)
		must(netlink.LinkDel(ours))
		close(w.calls)
	})
}

// start runs an agent in our namespace until the test ends.
func (w *world) start() (stop func()) {
	w.t.Helper()
	requests, toAgent := io.Pipe()
	fromAgent, answers := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := Serve(context.Background(), requests, answers, Options{Subnet: subnet, Gateway: gateway})
		answers.CloseWithError(io.EOF)
		ended <- err
	}()
	w.agent = agent.NewClient(struct {
		io.Reader
		io.Writer
	}{fromAgent, toAgent}, func(a agent.Answer) { w.t.Errorf("unasked: %+v", a) })
	if _, err := w.agent.Report(context.Background()); err != nil {
		w.t.Fatalf("report: %v; the agent: %v", err, <-ended)
	}
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		must(toAgent.Close())
		if err := <-ended; err != nil {
			w.t.Errorf("the agent ended: %v", err)
		}
	}
	w.t.Cleanup(stop)
	return stop
}

// there runs a function in the others' namespace. Sockets it opens stay there.
func (w *world) there(call func()) {
	done := make(chan struct{})
	w.calls <- func() { call(); close(done) }
	<-done
}

func (w *world) call(r agent.Request) agent.Answer {
	w.t.Helper()
	a, err := w.agent.Call(context.Background(), r)
	if err != nil {
		w.t.Fatal(err)
	}
	return a
}

func (w *world) shape(ref int, s agent.Shaping, peers ...netip.Addr) {
	w.t.Helper()
	w.call(agent.Request{Op: agent.Shape, Ref: ref, Peers: peers, Shaping: &s})
}

func (w *world) lift(ref int) agent.Hits {
	w.t.Helper()
	a := w.call(agent.Request{Op: agent.Lift, Ref: ref})
	if len(a.Counters) != 1 {
		w.t.Fatalf("lift of %d counts %+v", ref, a.Counters)
	}
	return a.Counters[0]
}

// serve accepts connections of the pod: with it, or with one of the others.
func (w *world) serve(at netip.Addr) net.Listener {
	w.t.Helper()
	var l net.Listener
	var err error
	listen := func() { l, err = net.Listen("tcp", netip.AddrPortFrom(at, 0).String()) }
	if at == pod {
		listen()
	} else {
		w.there(listen)
	}
	must(err)
	w.t.Cleanup(func() { l.Close() })
	return l
}

// dial connects from an address of either side.
func (w *world) dial(from netip.Addr, to string, within time.Duration) (conn net.Conn, err error) {
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: from.AsSlice()}, Timeout: within}
	dial := func() { conn, err = dialer.Dial("tcp", to) }
	if from == pod {
		dial()
	} else {
		w.there(dial)
	}
	if err == nil {
		w.t.Cleanup(func() { conn.Close() })
	}
	return conn, err
}

// connection is one with both its ends.
type connection struct{ local, peer net.Conn }

// connect makes a connection that the peer dialled.
func (w *world) connect(from netip.Addr) connection {
	w.t.Helper()
	l := w.serve(pod)
	peer, err := w.dial(from, l.Addr().String(), 5*time.Second)
	must(err)
	local, err := l.Accept()
	must(err)
	w.t.Cleanup(func() { local.Close() })
	return connection{local, peer}
}

// passes sends a line one way and tells whether it arrived in time.
func passes(from, to net.Conn, within time.Duration) error {
	if _, err := from.Write([]byte("mortar\n")); err != nil {
		return err
	}
	return arrives(to, within)
}

func arrives(to net.Conn, within time.Duration) error {
	must(to.SetReadDeadline(time.Now().Add(within)))
	line, err := bufio.NewReader(to).ReadString('\n')
	if err == nil && line != "mortar\n" {
		err = fmt.Errorf("%q arrived", line)
	}
	return err
}

// datagrams opens a UDP socket at each end.
func (w *world) datagrams(from netip.Addr) (local, peer *net.UDPConn) {
	w.t.Helper()
	var err error
	local, err = net.ListenUDP("udp4", &net.UDPAddr{IP: pod.AsSlice()})
	must(err)
	raw, err := local.SyscallConn()
	must(err)
	must(raw.Control(func(fd uintptr) {
		must(unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 4<<20))
	}))
	w.there(func() {
		peer, err = net.DialUDP("udp4", &net.UDPAddr{IP: from.AsSlice()}, local.LocalAddr().(*net.UDPAddr))
	})
	must(err)
	w.t.Cleanup(func() { must(errors.Join(local.Close(), peer.Close())) })
	return local, peer
}

func addresses(device string, all ...netip.Addr) {
	link, err := netlink.LinkByName(device)
	must(err)
	for _, a := range all {
		address, err := netlink.ParseAddr(netip.PrefixFrom(a, subnet.Bits()).String())
		must(err)
		must(netlink.AddrAdd(link, address))
	}
	up(device)
}

func up(device string) {
	link, err := netlink.LinkByName(device)
	must(err)
	must(netlink.LinkSetUp(link))
}

// must ends the test process: the network of the tests cannot be made.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
