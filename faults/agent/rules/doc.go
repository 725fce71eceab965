// Package rules is the pod's nftables table: what is dropped, what is rejected
// and what goes to the shaper's queue, for all faults together. It owns the
// table `ip pestle` and nothing else of the pod's rules: Docker's name server
// lives there too.
//
//	table, err := rules.Open(network, rules.NativeQueue)     // from nothing, whatever an earlier agent left
//	err = table.Set([]rules.Part{
//		{Ref: 7, Does: agent.Block, Peers: peers},
//		{Ref: 9, Does: agent.Shape},                     // to queue 0, from all peers
//	})
//	hits, err := table.Hits()
//	err = table.Set(nil)                                     // all is healed
//
// Each Set replaces all rules in one transaction of the kernel: no packet meets
// half of them. The chains stay, because the kernel drops what a queue holds
// when a chain goes. Packets are judged as they come in, before connection
// tracking: a drop on the way out would tell the sender (EPERM). Going out, only
// Silence drops and only Refuse rejects, so that the local process is told at
// once, and what HalfOpen must hide is dropped.
//
// Every part counts what it matches before any verdict, so that each of several
// faults with one effect has its evidence.
package rules
