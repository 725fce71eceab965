package nsq

import "strings"

// EphemeralSuffix marks a topic or channel that goes with its last client.
const EphemeralSuffix = "#ephemeral"

// maxName is the longest topic or channel name in bytes, suffix included.
const maxName = 64

// ValidName reports whether name may name a topic or a channel: 1 to 64
// letters, digits, dots, underscores and hyphens, at least one of them before
// an optional "#ephemeral", which counts within the 64.
func ValidName(name string) bool {
	if len(name) > maxName {
		return false
	}
	stem := strings.TrimSuffix(name, EphemeralSuffix)
	for i := 0; i < len(stem); i++ {
		if !nameByte(stem[i]) {
			return false
		}
	}
	return stem != ""
}

func nameByte(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' ||
		b == '.' || b == '_' || b == '-'
}
