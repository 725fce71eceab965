// Package peer carries frames between the nodes of a cluster. It knows
// nothing of what is in them, and may lose any: the nodes' protocol repeats
// what matters.
//
//	t := peer.New(peer.Config{Node: 1, Listener: l, Deliver: deliver, Log: slog.Default()})
//	t.Serve()
//	t.Tell(2, "10.0.0.2:4160", frame)
//	t.Flush(true)
//
// A node dials each other one when it first has something to tell it, and
// uses that connection in this direction only. On the wire, all numbers
// big-endian:
//
//	offset  bytes  once, from the node that dialled
//	0       7      "PESTLEP"
//	7       1      version of this format, 1
//	8       8      id of the node that dialled
//	16      8      id of the node it wants to reach
//	24      4      CRC-32C of these bytes
//
//	offset  bytes  once, the answer: nothing is sent before it, so that nothing
//	               gathers for a node that is paused or not yet ready
//	0       1      1: welcome
//
//	offset  bytes  then frame after frame, from the node that dialled
//	0       4      length n of the frame, at most MaxFrame
//	4       4      CRC-32C of these bytes
//	8       n      the frame; what is in it has sums of its own
//
// A connection whose opening is not such is closed with one line in the log,
// before anything it says is believed; so is one on which a length comes
// damaged, since nothing behind it can be found any more.
//
// Nobody ever waits for a peer. A frame for one that cannot be reached, that
// is stuck, or whose queue is full is dropped and counted.
package peer
