package nsq

// keptCapacity is how much memory an empty inbox holds on to: enough for the
// usual read, little enough for many idle connections.
const keptCapacity = 64 << 10

// inbox holds the bytes that arrived and are not consumed yet.
type inbox struct {
	buf  []byte
	used int // consumed bytes at the start of buf
}

func (b *inbox) add(p []byte) {
	if len(b.buf)+len(p) > cap(b.buf) && b.used >= len(b.buf)-b.used {
		// Sliding moves no more bytes than were consumed since the last slide.
		b.buf = b.buf[:copy(b.buf, b.buf[b.used:])]
		b.used = 0
	}
	b.buf = append(b.buf, p...)
}

// bytes returns what is held. It stays as it is until the next add.
func (b *inbox) bytes() []byte { return b.buf[b.used:] }

func (b *inbox) len() int { return len(b.buf) - b.used }

func (b *inbox) take(n int) {
	b.used += n
	if b.used < len(b.buf) {
		return
	}
	b.buf, b.used = b.buf[:0], 0
	if cap(b.buf) > keptCapacity {
		b.buf = nil
	}
}
