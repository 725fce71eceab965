// Package nfqueue receives packets from the kernel's netfilter queue and tells
// it what becomes of them. It owns one netlink socket and the format of its
// messages; which packets come is the business of a rule, which of them go on is
// the caller's. The Go module proxy serves no such package.
//
//	queue, err := nfqueue.Open(0)
//	…
//	poll(queue.FD())
//	err = queue.Receive(func(p nfqueue.Packet) {
//		err := queue.Accept(p.ID, nil)
//	})
//
// A message (linux/netfilter/nfnetlink_queue.h; numbers in the machine's byte
// order unless marked BE):
//
//	u32 length  u16 type  u16 flags  u32 sequence  u32 port      struct nlmsghdr
//	u8 family  u8 version  u16 BE queue                          struct nfgenmsg
//	attributes: u16 length  u16 type  bytes, padded to 4
//
//	type 0 packet   from the kernel; attribute 1: u32 BE id, …; attribute 10: the packet from its IP header on
//	type 1 verdict  to the kernel; attribute 2: u32 BE 0 drop, 1 accept, u32 BE id; attribute 10: the packet as it goes on
//	type 2 config   to the kernel; attribute 1: u8 1 bind, 2 unbind; 2: u32 BE bytes of each packet, u8 2; 3: u32 BE packets held
package nfqueue
