// Package workload is what the clients of a run do: producers that send
// numbered messages at a steady pace, consumers that check and confirm what
// they get, and the state files that survive a SIGKILL at any instant.
//
// It owns the ids, the envelope, the state line formats and both machines:
// events go in with the time, effects come out in the order in which they must
// be carried out, and the same input gives the same effects. It never touches
// a file, a socket or a clock, and never judges: workload/driver runs it as
// a process, workload/client speaks to the systems under test.
//
//	p, err := workload.NewProducer(cfg, workload.Resume{Incarnation: 1})
//	var fx workload.Effects
//	p.Step(now, workload.Event{Kind: workload.EvStart}, &fx)
//	for _, effect := range fx.List {
//		// FxState: append to the state file; FxHistory: to the history;
//		// FxSend: send, and answer EvAck, EvFail or EvUnknown
//	}
//	deadline, _ := p.NextDeadline() // Step(deadline, EvTimer) is due then
//
// A state file is ASCII, one line per event, each ended by a newline; a line
// without one is torn and does not count:
//
//	producer-1-42, attempt            a try of this id is about to be sent
//	producer-1-42, ack                the target has confirmed it
//	producer-1-42, 0000100000000007   a consumer was handed it at this position
//
// The order is always state line, history line, then the wire. So a killed
// process loses no more than the history lines of its last state lines, which
// MissingFromProducer and MissingFromConsumer rebuild.
//
// A message body is an envelope, for systems that carry no headers:
//
//	offset  size  what
//	0       4     "PSTL"
//	4       1     version, 1
//	5       1     n, the length of the id
//	6       n     id, "producer-<n>-<counter>"
//	6+n     32    SHA-256, see below
//	38+n    4     m, the length of the payload, big-endian
//	42+n    m     payload; nothing follows it
//
// The SHA-256 covers id, topic, key and payload, each of them behind its
// length as 4 bytes big-endian. Topic and key are not in the envelope: the
// reader takes them from where it found the message, so a message in the
// wrong place does not match. The key is empty for systems without keys.
package workload
