package checker

import (
	"math/bits"
	"strconv"
	"strings"
)

// messageID is a message's name taken apart: producer-1-42 is counter 42 of
// producer-1.
type messageID struct {
	producer *producer
	counter  uint64
}

func (id messageID) String() string {
	return id.producer.name + "-" + strconv.FormatUint(id.counter, 10)
}

// parseID splits an id into producer name and counter, or reports that it is
// none. A counter has no leading zero, so that each message has one id.
func parseID(id string) (name string, counter uint64, ok bool) {
	dash := strings.LastIndexByte(id, '-')
	if dash <= 0 || dash == len(id)-1 || id[dash+1] < '1' || id[dash+1] > '9' {
		return "", 0, false
	}
	counter, err := strconv.ParseUint(id[dash+1:], 10, 64)
	return id[:dash], counter, err == nil
}

// outcome is how a try ended.
type outcome uint8

const (
	open outcome = iota // no answer yet, or never: the producer was killed
	acked
	failed
	unknown
)

// try is one send of a message.
type try struct {
	at      int64 // when it was started
	outcome outcome
}

// arrival is what one stream saw of a message.
type arrival struct {
	consumed bool
	stored   bool // seen, one by one, still stored
}

// delivery counts what happened to one position of a message on one stream.
type delivery struct {
	position uint64 // fingerprint
	stream   int32
	consumes int32
	requeues int32
	brokers  brokerSet // that it came from
	back     givenBack // its last requeue, until it is delivered again
}

// message is everything known of a message that later events may still be
// judged by: an open one. Others are folded, see producer.
type message struct {
	messageID
	topic *topic
	size  int
	sum   string // empty: not known

	deferral int64  // how long the target was asked to hold it back, ns
	sumPrint uint32 // of a message that was folded, instead of size and sum

	tries                  []try
	acked, failed, unknown int   // tries by outcome
	ackedAt                int64 // first ack; meaningful when acked > 0
	gaveUp                 bool

	positions  []uint64   // fingerprints of the distinct positions it was seen at
	deliveries []delivery //
	arrivals   []arrival  // one for each stream of the topic
	missing    int        // streams of the topic that have not consumed it

	givenBack bool // requeued at least once
	covered   bool // counted as exposure of no-data-loss
	refused   bool // reported as appearing although every try failed
	reopened  bool // was folded: size, sum and ackedAt are not known any more
	isWaiting bool // in the list of acked messages that a stream misses
	prev      *message
	next      *message
}

// firstAttempt is when its first try was started.
func (m *message) firstAttempt() int64 { return m.tries[0].at }

// onlyAckedTryLanded reports that exactly one try can have left a copy, and
// that the target confirmed it.
func (m *message) onlyAckedTryLanded() bool {
	return m.acked == 1 && len(m.tries)-m.failed == 1
}

// everyTryFailed reports that, so far, the target refused each try for sure.
func (m *message) everyTryFailed() bool { return m.failed == len(m.tries) }

// delivered returns the count of position on stream, which it creates on first
// use.
func (m *message) delivered(position uint64, stream int32) *delivery {
	for i := range m.deliveries {
		if d := &m.deliveries[i]; d.position == position && d.stream == stream {
			return d
		}
	}
	m.deliveries = append(m.deliveries, delivery{position: position, stream: stream})
	return &m.deliveries[len(m.deliveries)-1]
}

// keptBy reports that the stream has not given back all it consumed of m.
func (m *message) keptBy(stream int32) bool {
	kept := int32(0)
	for _, d := range m.deliveries {
		if d.stream == stream {
			kept += d.consumes - d.requeues
		}
	}
	return kept > 0
}

// deliveredBy returns the one broker that all of its deliveries came from;
// anyBroker when there were several.
func (m *message) deliveredBy() int {
	var all brokerSet
	for _, d := range m.deliveries {
		all |= d.brokers
	}
	if all == 0 || all.several() {
		return anyBroker
	}
	return bits.TrailingZeros64(uint64(all))
}

// settled reports that nothing of it can be judged any more but another
// delivery: acked at its only try, consumed once by every stream at one
// position and never given back.
func (m *message) settled() bool {
	if m.acked != 1 || len(m.tries) != 1 || m.missing > 0 || len(m.positions) > 1 {
		return false
	}
	for _, d := range m.deliveries {
		if d.consumes != 1 || d.requeues != 0 {
			return false
		}
	}
	return true
}

// waitingList holds the acked messages that some stream has not consumed, in
// the order of their acks.
type waitingList struct{ first, last *message }

func (l *waitingList) push(m *message) {
	m.isWaiting = true
	m.prev, m.next = l.last, nil
	if l.last == nil {
		l.first = m
	} else {
		l.last.next = m
	}
	l.last = m
}

func (l *waitingList) remove(m *message) {
	if !m.isWaiting {
		return
	}
	if m.prev == nil {
		l.first = m.next
	} else {
		m.prev.next = m.next
	}
	if m.next == nil {
		l.last = m.prev
	} else {
		m.next.prev = m.prev
	}
	m.isWaiting, m.prev, m.next = false, nil, nil
}

// fingerprint is the 64-bit FNV-1a hash of s. Two positions or checksums with
// one fingerprint can hide a violation, with odds of 2^-32 for a folded sum;
// they can never make one up.
func fingerprint(s string) uint64 {
	h := uint64(0xcbf29ce484222325)
	for i := 0; i < len(s); i++ {
		h = (h ^ uint64(s[i])) * 0x100000001b3
	}
	return h
}
