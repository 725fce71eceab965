package sim

import "pestle/sim/random"

// lots is what the consensus library of every broker draws from: its election
// timeouts. While a broker is stepped, they are its own incarnation's.
type lots struct{ stream *random.Stream }

// Read fills p; it never fails. It panics when no broker is being stepped: the
// draw would depend on what else the process does.
func (l *lots) Read(p []byte) (int, error) {
	if l.stream == nil {
		panic("sim: chance is drawn outside of a broker's step")
	}
	for i := range p {
		p[i] = byte(l.stream.Uint64() >> 56)
	}
	return len(p), nil
}
