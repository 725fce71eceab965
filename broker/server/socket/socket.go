// Package socket writes to connections without waiting: a write that the
// kernel has room for takes less than to wake a goroutine that does it.
package socket

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// Writer writes to one connection what its buffer has room for. The zero value
// takes nothing.
type Writer struct{ raw syscall.RawConn }

// NewWriter returns the Writer of a connection; of one that is no socket, one
// that takes nothing.
func NewWriter(sock net.Conn) Writer {
	has, ok := sock.(syscall.Conn)
	if !ok {
		return Writer{}
	}
	raw, err := has.SyscallConn()
	if err != nil {
		return Writer{}
	}
	return Writer{raw}
}

// Write writes the first bytes of data, as many as there is room for, and
// returns how many. Nothing else may write at the same time. Errors, and the
// deadline, are for those who wait: an ordinary write tells them.
func (w Writer) Write(data []byte) (n int) {
	if w.raw == nil {
		return 0
	}
	// A connection that was closed calls nothing.
	_ = w.raw.Control(func(fd uintptr) {
		n, _ = unix.SendmsgN(int(fd), data, nil, nil, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
	})
	return max(0, n)
}
