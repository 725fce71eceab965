//go:build linux

package server

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"runtime"
	"sync"

	"golang.org/x/sys/unix"

	"pestle/faults/agent"
	"pestle/faults/agent/nfqueue"
	"pestle/faults/agent/rules"
	"pestle/faults/agent/shaper"
	"pestle/history/stream"
)

// pump moves packets between the kernel's queue and the shaper, on a thread of
// its own that sleeps in ppoll: the runtime's timers are up to a millisecond
// late.
type pump struct {
	queue *nfqueue.Queue
	raw   int // socket that sends duplicates; -1: there is none
	bell  int // eventfd that ends a sleep

	mu      sync.Mutex // of the shaper and what follows
	shaper  *shaper.Shaper
	closing bool

	done chan struct{} // closed when the thread has ended
	err  error         // set before done is closed: why, nil after close
}

// openPump binds the queue and starts the thread. raw may be -1.
func openPump(raw int) (*pump, error) {
	queue, err := nfqueue.Open(rules.QueueNumber)
	if err != nil {
		return nil, err
	}
	bell, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make an eventfd: %w", err), queue.Close())
	}
	p := &pump{queue: queue, raw: raw, bell: bell, shaper: shaper.New(), done: make(chan struct{})}
	go p.run()
	return p, nil
}

// openRaw opens a socket that sends packets as they are, marked so that they are
// not shaped again. EPERM without CAP_NET_RAW, or CAP_NET_ADMIN for the mark.
func openRaw() (int, error) {
	raw, err := unix.Socket(unix.AF_INET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.IPPROTO_RAW)
	if err != nil {
		return -1, fmt.Errorf("open a raw socket: %w", err)
	}
	if err := unix.SetsockoptInt(raw, unix.SOL_SOCKET, unix.SO_MARK, rules.Mark); err != nil {
		return -1, errors.Join(fmt.Errorf("mark what a raw socket sends: %w", err), unix.Close(raw))
	}
	return raw, nil
}

func (p *pump) impose(ref int, peers []netip.Addr, shaping agent.Shaping) {
	p.mu.Lock()
	p.shaper.Impose(stream.Now(), ref, peers, shaping)
	p.mu.Unlock()
	p.ring() // the old part of the ref may have let something go
}

func (p *pump) lift(ref int) agent.Hits {
	p.mu.Lock()
	hits, _ := p.shaper.Lift(stream.Now(), ref)
	p.mu.Unlock()
	p.ring()
	return hits
}

func (p *pump) hits() []agent.Hits {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.shaper.Hits()
}

// close ends the thread and gives the queue back. What is held is lost.
func (p *pump) close() error {
	p.mu.Lock()
	p.closing = true
	p.mu.Unlock()
	p.ring()
	<-p.done
	err := errors.Join(p.queue.Close(), unix.Close(p.bell))
	if p.raw >= 0 {
		err = errors.Join(err, unix.Close(p.raw))
	}
	return err
}

func (p *pump) ring() {
	// It fails only when the bell has rung 2^64-2 times and nobody heard it.
	_, _ = unix.Write(p.bell, binary.NativeEndian.AppendUint64(nil, 1))
}

func (p *pump) run() {
	// Never unlocked: the thread, with its timers, ends with this goroutine.
	runtime.LockOSThread()
	// Without it a sleep is up to 50 µs longer than asked.
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	p.err = p.move()
	close(p.done)
}

func (p *pump) move() error {
	var decisions []shaper.Decision
	for {
		p.mu.Lock()
		closing := p.closing
		decisions = p.shaper.Due(stream.Now(), decisions[:0])
		p.mu.Unlock()
		if err := p.carryOut(decisions); err != nil || closing {
			return err
		}
		if err := p.sleep(); err != nil {
			return err
		}
		var failed error
		err := p.queue.Receive(func(packet nfqueue.Packet) {
			p.mu.Lock()
			decisions = p.shaper.Take(stream.Now(), packet.ID, packet.Payload, decisions[:0])
			p.mu.Unlock()
			failed = errors.Join(failed, p.carryOut(decisions))
		})
		if err = errors.Join(err, failed); err != nil {
			return err
		}
	}
}

// sleep returns when there is a packet, the bell rang, or a held one is due.
func (p *pump) sleep() error {
	p.mu.Lock()
	next, ok := p.shaper.Next()
	p.mu.Unlock()
	var timeout *unix.Timespec
	if ok {
		t := unix.NsecToTimespec(max(0, next-stream.Now()))
		timeout = &t
	}
	ready := []unix.PollFd{{Fd: int32(p.queue.FD()), Events: unix.POLLIN}, {Fd: int32(p.bell), Events: unix.POLLIN}}
	if _, err := unix.Ppoll(ready, timeout, nil); err != nil && !errors.Is(err, unix.EINTR) {
		return fmt.Errorf("wait for packets: %w", err)
	}
	var rung [8]byte
	_, _ = unix.Read(p.bell, rung[:]) // EAGAIN: it did not ring
	return nil
}

func (p *pump) carryOut(decisions []shaper.Decision) error {
	for _, d := range decisions {
		var err error
		if d.Drop {
			err = p.queue.Drop(d.ID)
		} else {
			err = p.queue.Accept(d.ID, d.Packet)
		}
		if err != nil {
			return err
		}
		if d.Twice != nil && p.raw >= 0 {
			to := unix.SockaddrInet4{Addr: [4]byte(d.Twice[16:20])} // the shaper has read a header there
			// A full buffer loses the duplicate, as a network may.
			_ = unix.Sendto(p.raw, d.Twice, 0, &to)
		}
	}
	return nil
}
