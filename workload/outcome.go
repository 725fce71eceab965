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
		if strings.HasPrefix(text, "READ_ONLY_DEGRADED") {
			return EvFail
		}
	}
	return EvUnknown
}
