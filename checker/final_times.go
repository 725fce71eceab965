package checker

// finalTimes knows since when the finish of a message on a stream is final, and
// over a connection to which broker that was proven: 5 bytes for each, in
// blocks of neighbouring counters.
type finalTimes struct {
	*run
	blocks map[finalBlock]*finalFacts
}

type finalBlock struct {
	producer int
	stream   int32
	number   uint64
}

type finalFacts struct {
	since   [blockSize]uint32 // in sentUnit since the first event, rounded up; 0: not final
	brokers [blockSize]uint8
}

// set notes that the finish is final from now on. It reports false when that
// was known, or when the time does not fit.
func (f *finalTimes) set(id messageID, s *stream, broker int) bool {
	units := (f.now-f.origin)/sentUnit + 1
	if units > 1<<32-1 {
		return false
	}
	key := finalBlock{id.producer.index, s.index, id.counter / blockSize}
	b := f.blocks[key]
	if b == nil {
		b = &finalFacts{}
		f.blocks[key] = b
	}
	i := id.counter % blockSize
	if b.since[i] != 0 {
		return false
	}
	b.since[i], b.brokers[i] = uint32(units), uint8(broker)
	return true
}

// at returns since when the finish is final, and by which broker's deliveries.
func (f *finalTimes) at(id messageID, s *stream) (since int64, broker int, ok bool) {
	b := f.blocks[finalBlock{id.producer.index, s.index, id.counter / blockSize}]
	i := id.counter % blockSize
	if b == nil || b.since[i] == 0 {
		return 0, 0, false
	}
	return f.origin + int64(b.since[i])*sentUnit, int(b.brokers[i]), true
}
