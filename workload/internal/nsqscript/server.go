// Package nsqscript is a TCP server for tests that does to a client what a
// script says: answer, stay silent, refuse, hang up. It speaks just enough of
// NSQ's protocol V2 for that, and checks nothing beyond it.
//
//	server := nsqscript.Listen(t, "127.0.0.1:0", func(c *nsqscript.Conn) {
//		c.Handshake()
//		c.Command() // "PUB orders", body
//		c.Respond("OK")
//	})
//	client := client.NewNSQProducer(… server.Address …)
//
// The script runs once for each connection, from its first byte; when it
// returns, the connection is closed.
package nsqscript

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
)

// maxBody bounds what a client may send after a command.
const maxBody = 1 << 20

// Server accepts connections until Close or the end of the test.
type Server struct {
	Address string

	listener net.Listener
	mu       sync.Mutex
	closed   bool
	conns    []net.Conn
	scripts  sync.WaitGroup
}

// Listen starts a server on address.
func Listen(t *testing.T, address string, script func(*Conn)) *Server {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{Address: listener.Addr().String(), listener: listener}
	s.scripts.Add(1)
	go func() {
		defer s.scripts.Done()
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			s.conns = append(s.conns, conn)
			if s.closed {
				_ = conn.Close()
			}
			s.mu.Unlock()
			s.scripts.Add(1)
			go func() {
				defer s.scripts.Done()
				c := &Conn{conn: conn, reader: bufio.NewReader(conn)}
				script(c)
				c.Close()
			}()
		}
	}()
	t.Cleanup(s.Close)
	return s
}

// Close closes the listener and every connection, and waits for the scripts.
func (s *Server) Close() {
	_ = s.listener.Close()
	s.mu.Lock()
	s.closed = true
	for _, conn := range s.conns {
		_ = conn.Close()
	}
	s.mu.Unlock()
	s.scripts.Wait()
}

// Conn is the server's side of one connection. Once it is broken, every
// method does nothing.
type Conn struct {
	conn   net.Conn
	reader *bufio.Reader
}

// Handshake reads the magic and IDENTIFY and answers OK.
func (c *Conn) Handshake() {
	c.Magic()
	c.Command()
	c.Respond("OK")
}

// Magic reads the four bytes that come first.
func (c *Conn) Magic() { _, _ = io.ReadFull(c.reader, make([]byte, 4)) }

// Command reads the next command but NOP, with its body if it has one. It
// returns an empty command when there is none.
func (c *Conn) Command() (command string, body []byte) {
	for {
		line, err := c.reader.ReadString('\n')
		if err != nil {
			return "", nil
		}
		command = strings.TrimSuffix(line, "\n")
		verb, _, _ := strings.Cut(command, " ")
		if verb == "NOP" {
			continue
		}
		if verb != "IDENTIFY" && verb != "PUB" && verb != "DPUB" {
			return command, nil
		}
		var size [4]byte
		if _, err := io.ReadFull(c.reader, size[:]); err != nil {
			return "", nil
		}
		n := binary.BigEndian.Uint32(size[:])
		if n > maxBody {
			return "", nil
		}
		body = make([]byte, n)
		if _, err := io.ReadFull(c.reader, body); err != nil {
			return "", nil
		}
		return command, body
	}
}

// Respond sends a response frame.
func (c *Conn) Respond(body string) { c.frame(0, []byte(body)) }

// Error sends an error frame.
func (c *Conn) Error(body string) { c.frame(1, []byte(body)) }

// Message sends a message frame; id is 16 characters.
func (c *Conn) Message(id string, attempts uint16, body []byte) {
	data := binary.BigEndian.AppendUint64(nil, 1)
	data = binary.BigEndian.AppendUint16(data, attempts)
	data = fmt.Appendf(data, "%16.16s", id)
	c.frame(2, append(data, body...))
}

func (c *Conn) frame(kind uint32, data []byte) {
	frame := binary.BigEndian.AppendUint32(nil, uint32(4+len(data)))
	frame = binary.BigEndian.AppendUint32(frame, kind)
	_, _ = c.conn.Write(append(frame, data...))
}

// Close closes the connection.
func (c *Conn) Close() { _ = c.conn.Close() }
