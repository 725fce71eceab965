//det:ring0

package scenarios

import (
	"strconv"
	"strings"
)

// brokerName is the name of the broker with that node id, from 1.
func brokerName(n int) string { return "broker-" + strconv.Itoa(n) }

// producerName is the name of the n-th producer, from 1.
func producerName(n int) string { return "producer-" + strconv.Itoa(n) }

// consumerName is the name of the n-th consumer of a channel, from 1.
func consumerName(channel string, n int) string {
	return "consumer-" + channel + "-" + strconv.Itoa(n)
}

// validSlug tells whether s can name a scenario or a fault line: 1..64 of a-z,
// 0-9 and -, beginning with a letter.
func validSlug(s string) bool {
	if s == "" || len(s) > maxName || s[0] < 'a' || s[0] > 'z' {
		return false
	}
	return strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}

// validTopic tells whether s can name a topic or channel: 1..64 of letters,
// digits, dot, - and _. NSQ's #ephemeral suffix is left out: such queues
// promise nothing that could be judged.
func validTopic(s string) bool {
	if s == "" || len(s) > maxName {
		return false
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '.', c == '-', c == '_':
		default:
			return false
		}
	}
	return true
}

// validAddress tells whether s is host:port with a port in 1..65535.
func validAddress(s string) bool {
	i := strings.LastIndexByte(s, ':')
	if i < 1 || len(s) > 255 || strings.ContainsAny(s, " /@?#") {
		return false
	}
	port, ok := parseInt(s[i+1:])
	return ok && port >= 1 && port <= 65535
}

// validFlag tells whether s can be passed to the target's program.
func validFlag(s string) bool {
	return len(s) > 1 && len(s) <= maxFlag && s[0] == '-' && !strings.ContainsAny(s, "\x00\n")
}
