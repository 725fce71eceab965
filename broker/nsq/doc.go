// Package nsq speaks the NSQ protocol, version V2, from both ends: Session is
// the server's side of one connection, Client the client's. Bytes go in, and
// commands or notices and bytes come out.
//
// It owns framing, the syntax of commands, names, limits, error codes, the
// states of a connection and the order of responses. It never touches a
// socket, a clock or a goroutine, and it never decides what happens to a
// message: topics, channels, leases and timers are its caller's.
//
//	s := nsq.NewSession(nsq.DefaultLimits(), "10.0.0.7:51234")
//	s.Feed(received)
//	for c, ok := s.Next(); ok; c, ok = s.Next() {
//		if c.Kind == nsq.CmdPub {
//			s.Reply(c.Slot, nsq.OK) // once c.Bodies are stored
//		}
//	}
//	send(s.TakeOutput())
//	if s.Done() {
//		hangUp()
//	}
//
// # Bytes
//
// All integers are big-endian. A client opens with the four bytes "  V2" and
// then sends commands: one line of words separated by single spaces and ended
// by LF (one CR before it is dropped), for some followed by a block.
//
//	line                    block
//	IDENTIFY                int32 size, JSON object
//	AUTH                    int32 size, secret
//	SUB <topic> <channel>
//	PUB <topic>             int32 size, body
//	DPUB <topic> <ms>       int32 size, body
//	MPUB <topic>            int32 size of all that follows, int32 count,
//	                        count times (int32 size, body)
//	RDY [<count>]
//	FIN <id>
//	REQ <id> <ms>
//	TOUCH <id>
//	CLS
//	NOP
//
// A server sends frames.
//
//	offset  bytes  field
//	0       4      size of what follows, ≥ 4
//	4       4      frame type: 0 response, 1 error, 2 message
//	8       …      response: text · error: code, a space, text · message:
//	8       8      timestamp, ns since the Unix epoch, set at publish
//	16      2      attempts, 1 for the first delivery
//	18      16     message id
//	34      …      body
package nsq
