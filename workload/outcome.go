package workload

import "strings"

// NSQOutcome says what a publish has come to that NSQ answered with an error
// frame, such as "E_PUB_FAILED READ_ONLY_DEGRADED …". It is a refusal (EvFail)
// if the code says that the command was not even begun; a failure while
// storing may have stored (EvUnknown), and so may one that nobody here knows.
func NSQOutcome(frame string) EventKind {
	code, text, _ := strings.Cut(frame, " ")
	switch code {
	case "E_INVALID", "E_BAD_TOPIC", "E_BAD_MESSAGE", "E_BAD_BODY",
		"E_AUTH_FIRST", "E_AUTH_FAILED", "E_UNAUTHORIZED":
		return EvFail
	case "E_PUB_FAILED":
		if strings.HasPrefix(text, readOnly) {
			return EvFail
		}
	}
	return EvUnknown
}

// What a broker's refusal begins with, after the code, when it has no majority
// behind it. The first is certain; a publish with the second may yet be stored.
const (
	readOnly   = "READ_ONLY_DEGRADED"
	quorumLost = "QUORUM_LOST"
)

// NSQLeaderless reports that the error frame is that of a broker which has no
// majority behind it. Another one may have.
func NSQLeaderless(frame string) bool {
	_, text, _ := strings.Cut(frame, " ")
	return strings.HasPrefix(text, readOnly) || strings.HasPrefix(text, quorumLost)
}
