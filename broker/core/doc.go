// Package core is the broker without its surroundings: one deterministic state
// machine per node. It owns topics, partitions and channels, the journal's
// content, delivery and the NSQ connections' state, and touches no socket,
// file or clock: Step takes an event and says what is to be done about it.
// Equal events give equal effects, to the byte.
//
//	r := core.NewRecovery(core.Config{})
//	for number, content := range journalFiles { // ascending
//		err := r.Feed(number, content) // err: do not start; it says why
//	}
//	c, err := r.Finish(now, &fx)
//	for {
//		carryOut(&fx) // send, close, write, sync, read …
//		event := wait(c.NextDeadline())
//		c.Step(now, event, &fx)
//	}
//
// # How a change is made
//
// Every change is an entry: Propose(group, entry), later Committed(index,
// entry), then applied to the group's state. Group 0 is the metadata: which
// topics and channels there are. Groups from 1 hold partitions with their
// messages, and apply never reads another group. With one voter an entry is
// committed when its batch is durable in the journal; what arrives while a
// sync runs is the next batch. Nothing above the replicator interface knows
// how many voters there are.
//
// A topic is made in three steps, each an entry: topic-create (group 0),
// partition-open (the partition's group), and for each channel channel-create
// (group 0) and channel-open (the partition's group). An operation that needs
// them waits, and each commit brings it a step further. A crash in between is
// made good at the next start.
//
// # How a message is delivered
//
// A channel is a cursor over the partition's log and the set of what is
// finished. Next is always the message that was eligible first: since its
// publish; a deferred or requeued one since it is due; one whose lease ran
// out since then; and what a disconnect or a restart gives back as if it had
// never been taken. Delivery is this node's own business; what a successor
// must know goes through the log in ledger entries, at most 20 ms or 32
// changes late: how far the channel has dispatched, what is finished, attempts
// of 2 and more, due times of requeues. What is lost of it in a crash can
// repeat a delivery, and its attempts number, and never loses a message.
//
// # Ephemeral names
//
// A channel whose name ends in #ephemeral goes with its last client, or with
// the node, and so does what only it still needed. Until then it is as durable
// as any other. The suffix of a topic means nothing.
//
// # Entries in the journal
//
// The record formats stand with the kinds in entry.go. Each journal file but
// the first begins with a checkpoint of every group's state, without bodies,
// so that the oldest file can go once no channel needs a message in it. A
// partition without channels needs all of its messages.
package core
