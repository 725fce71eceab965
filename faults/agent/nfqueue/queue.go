//go:build linux

package nfqueue

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

const (
	maxHeld     = 65535    // packets that the kernel holds for us
	maxMessage  = 1 << 17  // bytes: one packet with its attributes is less
	receiveRoom = 16 << 20 // bytes of the socket's buffers, if we may
	sendRoom    = 4 << 20
	answerTime  = 2 // seconds to wait for the answer to a config
)

// Queue is a netfilter queue of this network namespace. One goroutine at a time
// may use it. It is bound until its process ends or Close.
type Queue struct {
	fd     int
	number uint16
	in     []byte
	out    []byte
}

// Open binds a queue. Packets that rules send there wait for a verdict from now
// on. Errors: EPERM without CAP_NET_ADMIN, or if another process has the queue;
// EPROTONOSUPPORT if the kernel has none.
func Open(number uint16) (*Queue, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_NETFILTER)
	if err != nil {
		return nil, fmt.Errorf("open a netlink socket of netfilter: %w", err)
	}
	q := &Queue{fd: fd, number: number, in: make([]byte, maxMessage)}
	if err := q.bind(); err != nil {
		return nil, errors.Join(fmt.Errorf("bind netfilter queue %d: %w", number, err), unix.Close(fd))
	}
	return q, nil
}

func (q *Queue) bind() error {
	if err := unix.Bind(q.fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return err
	}
	// Without CAP_NET_ADMIN of the first namespace the buffers stay as they are.
	_ = unix.SetsockoptInt(q.fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, receiveRoom)
	_ = unix.SetsockoptInt(q.fd, unix.SOL_SOCKET, unix.SO_SNDBUFFORCE, sendRoom)
	// A full buffer loses packets, as a network does; it is no error.
	if err := unix.SetsockoptInt(q.fd, unix.SOL_NETLINK, unix.NETLINK_NO_ENOBUFS, 1); err != nil {
		return err
	}
	if err := q.configure(attributeCommand, []byte{commandBind, 0, 0, 0}); err != nil {
		return err
	}
	if err := q.configure(attributeParameters, []byte{0, 0, 0xff, 0xff, copyPacket}); err != nil {
		return err
	}
	return q.configure(attributeMaxLength, []byte{0, 0, maxHeld >> 8, maxHeld & 0xff})
}

// FD is the socket, to poll for reading.
func (q *Queue) FD() int { return q.fd }

// Receive calls each for the packets that wait in the socket, and returns when
// there are no more. A payload is valid during the call.
func (q *Queue) Receive(each func(Packet)) error {
	for {
		n, _, err := unix.Recvfrom(q.fd, q.in, unix.MSG_DONTWAIT)
		switch {
		case errors.Is(err, unix.EAGAIN):
			return nil
		case errors.Is(err, unix.EINTR), errors.Is(err, unix.ENOBUFS):
			continue
		case err != nil:
			return fmt.Errorf("receive from netfilter queue %d: %w", q.number, err)
		}
		err = parsePackets(q.in[:n], each)
		// ENOENT answers a verdict on a packet that the kernel has dropped
		// meanwhile, because its device is gone.
		if err != nil && !errors.Is(err, unix.ENOENT) {
			return err
		}
	}
}

// Accept lets a packet go on, as payload unless that is nil: its checksums are
// the caller's business.
func (q *Queue) Accept(id uint32, payload []byte) error { return q.verdict(accept, id, payload) }

// Drop loses a packet.
func (q *Queue) Drop(id uint32) error { return q.verdict(drop, id, nil) }

func (q *Queue) verdict(verdict, id uint32, payload []byte) error {
	message, ok := appendVerdict(q.out[:0], q.number, verdict, id, payload)
	if !ok { // too long to be replaced: it goes on as it is
		message, _ = appendVerdict(q.out[:0], q.number, verdict, id, nil)
	}
	q.out = message
	err := q.send(message)
	if errors.Is(err, unix.ENOENT) {
		return nil // the kernel has dropped the packet meanwhile
	}
	return err
}

// Close unbinds the queue: what is held is lost, later packets pass.
func (q *Queue) Close() error {
	b := appendHeader(nil, typeConfig, 0, q.number)
	err := q.send(finish(appendAttribute(b, attributeCommand, []byte{commandUnbind, 0, 0, 0})))
	return errors.Join(err, unix.Close(q.fd))
}

func (q *Queue) send(message []byte) error {
	err := unix.Sendto(q.fd, message, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK})
	if err != nil {
		return fmt.Errorf("send to netfilter queue %d: %w", q.number, err)
	}
	return nil
}

// configure sends one setting and waits for the kernel's answer. No rule sends
// packets here yet, or they come after it.
func (q *Queue) configure(kind uint16, value []byte) error {
	b := appendHeader(nil, typeConfig, flagAck, q.number)
	if err := q.send(finish(appendAttribute(b, kind, value))); err != nil {
		return err
	}
	ready := []unix.PollFd{{Fd: int32(q.fd), Events: unix.POLLIN}}
	for {
		n, err := unix.Poll(ready, answerTime*1000)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err == nil && n == 0 {
			err = errors.New("the kernel does not answer")
		}
		if err != nil {
			return err
		}
		if n, _, err = unix.Recvfrom(q.fd, q.in, 0); err != nil {
			return err
		}
		return parsePackets(q.in[:n], func(Packet) {})
	}
}
