// Package agent is how the harness speaks with the process that owns a pod's
// network: `pestle agent`. It owns the lines between them and the harness's
// end; it never touches a socket of the pod itself, so it builds everywhere.
// The other end is in package server, which has the parts that are Linux's:
// rules (what nftables drops and rejects), sockets (connections that are torn),
// shaper and nfqueue (packets that are late, lost, doubled or damaged).
//
//	client := agent.NewClient(stream, func(a agent.Answer) { log.Print(a.Err) })
//	report, err := client.Report(ctx)               // what this kernel can do
//	answer, err := client.Call(ctx, agent.Request{  // 172.29.0.12 reaches us no more
//		Op: agent.Block, Ref: 7, Peers: []netip.Addr{peer},
//	})
//	…                                               // effective since answer.At
//	answer, err = client.Call(ctx, agent.Request{Op: agent.Lift, Ref: 7})
//	…                                               // answer.Counters: the packets it met
//
// A fault is imposed under its Ref of the plan and stays until that Ref is
// lifted. Faults overlap: each has a part of its own, a packet meets all of
// them. A Ref that is imposed again has the new part in place of the old one.
// An agent acts on what arrives at its pod, because that is where a real network
// loses it: to cut a link both ways takes both agents.
//
// Only packets between the pod and its peers are touched. The harness, which
// comes by the gateway's address, and the loopback device are not, with one
// exception: Silence, where only the loopback device is left.
//
// Lines, JSON, in both directions, at most MaxLine bytes:
//
//	agent → harness   {"op":"report","at":…,"abilities":[{"name":"nft","ok":true},…]}   first, once
//	harness → agent   {"id":1,"op":"block","ref":7,"peers":["172.29.0.12"]}
//	agent → harness   {"id":1,"op":"block","at":81273648172}
//	harness → agent   {"id":2,"op":"lift","ref":7}
//	agent → harness   {"id":2,"op":"lift","at":81299999999,"counters":[{"ref":7,"packets":12,"bytes":720}]}
//	agent → harness   {"op":"trouble","at":…,"err":"…"}                                 unasked
//
// Requests may be sent before earlier ones are answered; all but Control are
// carried out one after the other.
package agent
