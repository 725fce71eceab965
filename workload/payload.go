package workload

import (
	"strconv"

	"pestle/sim/random"
)

// One payload in menuOneIn has a size at which code tends to break; the
// others are spread evenly.
const menuOneIn = 8

// Payload returns the payload of the message: printable ASCII characters,
// minSize to maxSize of them. It depends on its arguments only.
func Payload(seed uint64, id ID, minSize, maxSize int) []byte {
	s := random.New(seed, "payload", strconv.Itoa(id.Producer), strconv.FormatUint(id.Counter, 10))
	payload := make([]byte, payloadSize(s, int64(minSize), int64(maxSize)))
	const first, count = ' ', '~' - ' ' + 1
	var draw uint64
	for i := range payload {
		if i%9 == 0 { // 95^9 < 2^64: one draw lasts for nine characters
			draw = s.Uint64()
		}
		payload[i] = first + byte(draw%count)
		draw /= count
	}
	return payload
}

// payloadSize draws a size. The menu holds both ends of the range and their
// neighbours, and each power of two within it with its neighbours.
func payloadSize(s *random.Stream, lo, hi int64) int64 {
	if s.Below(menuOneIn) != 0 {
		return s.Between(lo, hi)
	}
	menu := []int64{lo, lo, hi, hi}
	for _, size := range [...]int64{lo + 1, hi - 1} {
		if lo <= size && size <= hi {
			menu = append(menu, size)
		}
	}
	for power := int64(2); power-1 <= hi; power *= 2 {
		for size := power - 1; size <= power+1; size++ {
			if lo <= size && size <= hi {
				menu = append(menu, size)
			}
		}
	}
	return menu[s.Below(int64(len(menu)))]
}
