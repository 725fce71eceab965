// Package network is the network of a simulated world: byte streams as TCP
// has them, and datagrams, between hosts, over directed links that are slow,
// jammed, cut, closed or lossy as the faults of the run want it.
//
// It owns what is on its way: bytes, connections being made and broken, and
// when each thing arrives. It never looks into the bytes, runs no process and
// decides on no fault; what happens to a process is told as a Notice.
//
//	n := network.New(queue, actor, noise, profile)
//	n.Listen(broker)
//	conn := n.Dial(now, producer, broker)
//	for e, ok := queue.Take(end); ok; e, ok = queue.Take(end) {
//		for _, notice := range n.Step(e.At, e) {
//			// Opened at the broker, Connected at the producer, then
//			taken := n.Send(e.At, conn, network.Dialer, []byte("  V2"))
//		}
//	}
//
// A stream keeps what TCP promises: no byte is lost, doubled or overtaken
// while both ends live, so a lost packet, or a link that is cut for a while,
// shows as delay. It promises no more than TCP: where one send ends and the
// next begins is forgotten, a process that dies takes with it what the network
// had not taken from it, and one whose machine loses power, or that a silent
// link hides, is missed only by those who wait for it.
//
//	what happens          what the other end sees
//	Close                 all bytes, then Closed "EOF"
//	Kill                  the bytes taken, then Closed "EOF", or a reset if something was unread
//	Vanish                nothing; after Boot a reset, if it had sent something
//	Reset                 Closed "connection reset by peer"
//	HalfOpen              nothing; a reset when it sends after that
//	Impose a cut          nothing, until Lift and a retransmission
//	Impose HeldUntil      nothing until then, and then everything
//	Impose Refused        Refused, for a connection that is not complete
//
//det:ring0
package network
