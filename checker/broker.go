package checker

import (
	"strings"

	"pestle/faults"
)

// anyBroker is the number of a broker whose name is not known: it may be any of
// them. So is what concerns them all, as a fault of the network does.
const anyBroker = 0

// maxBrokers is how many brokers are told apart, so that a set of them is a
// word. Others count as any.
const maxBrokers = 63

// brokerNumbers numbers the brokers of a run from 1, as the history names them.
type brokerNumbers map[string]int

// of returns the number of a process or address; anyBroker when it is not the
// name of a broker.
func (b brokerNumbers) of(name string) int {
	if n, known := b[name]; known {
		return n
	}
	if role, ok := faults.RoleOf(name); !ok || role != faults.Broker || len(b) == maxBrokers {
		return anyBroker
	}
	n := len(b) + 1
	b[strings.Clone(name)] = n
	return n
}

// concerns reports that what is known of one broker may be about another: it is
// the same, or one of the two is not named.
func concerns(a, b int) bool { return a == b || a == anyBroker || b == anyBroker }

// grown returns the list with a place for the broker.
func grown[T any](list []T, broker int) []T {
	for len(list) <= broker {
		var none T
		list = append(list, none)
	}
	return list
}

// lastTimes is when something last happened, by broker.
type lastTimes []int64 // plus 1; 0: never

func (l *lastTimes) at(broker int, t int64) {
	*l = grown(*l, broker)
	(*l)[broker] = t + 1
}

// since reports that it happened at t or later, and may have to do with the
// broker.
func (l lastTimes) since(broker int, t int64) bool {
	for i, at := range l {
		if at > t && concerns(i, broker) {
			return true
		}
	}
	return false
}

// brokerSet is a set of brokers by number.
type brokerSet uint64

func (s brokerSet) with(broker int) brokerSet { return s | 1<<broker }

func (s brokerSet) has(broker int) bool { return s>>broker&1 == 1 }

// several reports that it holds more than one.
func (s brokerSet) several() bool { return s&(s-1) != 0 }
