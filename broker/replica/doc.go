// Package replica is one node's copy of one replicated log: the consensus of
// go.etcd.io/raft as a state machine without storage, network or clock. The
// caller ticks it, hands it messages and proposals, and carries out what Next
// returns: messages for other nodes, records for the journal, entries that are
// committed.
//
//	g := replica.New(replica.Config{Node: 1, Group: 2, Log: log})
//	g.Propose(replica.EncodeEntry(kind, origin, payload))
//	for w, ok := g.Next(); ok; w, ok = g.Next() {
//		send(w.Messages)
//		// w.Append goes to the journal, in order; each entry with log.Put as
//		// soon as it has a place. Once all of it is durable:
//		for _, m := range w.Append.Responses {
//			g.Respond(m) // or send it, when it is not for this node
//		}
//		for _, e := range w.Committed {
//			apply(e)
//		}
//		g.Applied(w)
//	}
//
// Two nodes that apply the entries of one log get the same state: entries come
// in the order of their index, each once.
//
//det:ring0
package replica
