package workload

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
)

const producerPrefix = "producer-"

// ID names a message: the producer's number and the producer's count of
// messages, both from 1. Its text is "producer-<n>-<counter>".
type ID struct {
	Producer int
	Counter  uint64
}

// String returns the id's text.
func (id ID) String() string {
	return producerPrefix + strconv.Itoa(id.Producer) + "-" + strconv.FormatUint(id.Counter, 10)
}

// Compare orders ids by producer, then counter: -1, 0 or 1.
func (id ID) Compare(o ID) int {
	return cmp.Or(cmp.Compare(id.Producer, o.Producer), cmp.Compare(id.Counter, o.Counter))
}

// ParseID reads an id's text. It takes exactly what String writes.
func ParseID(s string) (ID, error) {
	producer, counter, _ := strings.Cut(strings.TrimPrefix(s, producerPrefix), "-")
	n, err := strconv.ParseUint(producer, 10, 31)
	if err != nil {
		return ID{}, fmt.Errorf("%.80q is no id: want producer-<n>-<counter>", s)
	}
	c, err := strconv.ParseUint(counter, 10, 64)
	id := ID{Producer: int(n), Counter: c}
	if err != nil || n == 0 || c == 0 || id.String() != s {
		return ID{}, fmt.Errorf("%.80q is no id: want producer-<n>-<counter>", s)
	}
	return id, nil
}

// ProducerNumber returns n of the producer name "producer-<n>".
func ProducerNumber(name string) (int, error) {
	digits, ok := strings.CutPrefix(name, producerPrefix)
	n, err := strconv.Atoi(digits)
	if !ok || err != nil || n < 1 || n > math.MaxInt32 || strconv.Itoa(n) != digits {
		return 0, fmt.Errorf("%.80q is no producer name: want producer-<n>, n from 1", name)
	}
	return n, nil
}
