// Package shaper decides what becomes of packets that arrive at a pod: which
// are late, lost, doubled, out of order or damaged, and when each goes on. It
// owns the held packets' order and the links' pace. It has no socket, clock or
// thread: the caller tells the time, brings packets in and carries decisions
// out, so that the same packets at the same times get the same decisions.
//
//	s := shaper.New()
//	s.Impose(now, 7, peers, agent.Shaping{Seed: 1, Delay: 25 * time.Millisecond})
//	for {
//		decisions = s.Take(now, id, packet, decisions[:0]) // of this packet, if it goes on at once
//		decisions = s.Due(now, decisions)                  // of packets whose time has come
//		…
//		at, ok := s.Next()                                 // sleep until then
//	}
//
// Each shaping draws drawsPerPacket numbers for every packet of a peer, whatever
// it does with them, from a stream of its own that begins with its seed and the
// peer's address: what packet k of a peer meets depends on nothing else.
package shaper
