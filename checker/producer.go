package checker

// producer is one producer process and all its messages.
//
// An open message is a struct of some 300 bytes. A settled one is folded to
// the 18 bytes that a late duplicate is judged by: its topic, its position, its
// checksum, when it was sent and the broker it came from. So memory is bounded
// by the open messages, plus 18 bytes for each message ever sent.
type producer struct {
	name   string
	index  int
	open   map[uint64]*message // by counter
	folded map[uint64]*block   // by counter / blockSize

	openTries int    // tries of this incarnation without an outcome
	sentinel  uint64 // counter of its last message of the run; 0: not known
}

// blockSize is how many neighbouring counters share one block: few enough not
// to waste memory on a hole, enough to make the map small.
const blockSize = 256

// block holds the folded messages of blockSize neighbouring counters.
type block struct {
	topics  [blockSize]uint8 // index of the topic + 1; 0: not folded
	brokers [blockSize]uint8
	facts   [blockSize]placedFacts
}

// foldedFacts is what is left of a settled message.
type foldedFacts struct {
	placedFacts
	broker int // that it came from on every channel; anyBroker: from several
}

// placedFacts are those of them that a block keeps together.
type placedFacts struct {
	position uint64 // fingerprint
	sum      uint32 // low half of the fingerprint of its checksum
	sent     uint32 // when, since the first event, in sentUnit, rounded down
}

// sentUnit is the grain of foldedFacts.sent in nanoseconds: 65.5 µs, so that
// 32 bits reach 78 hours.
const sentUnit = 1 << 16

// fold forgets m but for its facts. It reports false when they do not fit; m
// then stays open.
func (p *producer) fold(m *message, origin int64) bool {
	sent := (m.firstAttempt() - origin) / sentUnit
	if sent > 1<<32-1 || m.topic.index >= 255 || m.sum == "" {
		return false
	}
	b := p.folded[m.counter/blockSize]
	if b == nil {
		b = &block{}
		p.folded[m.counter/blockSize] = b
	}
	facts := placedFacts{sum: uint32(fingerprint(m.sum)), sent: uint32(sent)}
	if len(m.positions) > 0 {
		facts.position = m.positions[0]
	}
	b.topics[m.counter%blockSize] = uint8(m.topic.index) + 1
	b.brokers[m.counter%blockSize] = uint8(m.deliveredBy())
	b.facts[m.counter%blockSize] = facts
	delete(p.open, m.counter)
	return true
}

// facts returns what is left of a folded message; topic is negative when the
// message is not folded.
func (p *producer) facts(counter uint64) (facts foldedFacts, topic int) {
	b := p.folded[counter/blockSize]
	if b == nil {
		return foldedFacts{}, -1
	}
	i := counter % blockSize
	return foldedFacts{b.facts[i], int(b.brokers[i])}, int(b.topics[i]) - 1
}

// unfold forgets that the message was folded.
func (p *producer) unfold(counter uint64) {
	p.folded[counter/blockSize].topics[counter%blockSize] = 0
}
