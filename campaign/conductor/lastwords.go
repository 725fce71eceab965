package conductor

import (
	"io"
	"os"
	"slices"
	"strings"
)

// LastWords returns the last lines of a process's log, for an error message; of
// a Go program that crashed, the line that says why, far above the end.
func LastWords(log string) string {
	const tail, lines = 64 << 10, 3
	file, err := os.Open(log)
	if err != nil {
		return "its log cannot be read: " + err.Error()
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil && info.Size() > tail {
		if _, err := file.Seek(-tail, io.SeekEnd); err != nil {
			return "its log cannot be read: " + err.Error()
		}
	}
	text, err := io.ReadAll(io.LimitReader(file, tail))
	if err != nil {
		return "its log cannot be read: " + err.Error()
	}
	all := strings.Split(strings.TrimSpace(string(text)), "\n")
	for i, line := range all {
		all[i] = strings.TrimSpace(line)
	}
	for _, line := range slices.Backward(all) {
		for _, crash := range []string{"panic: ", "fatal error: ", "SIGABRT: ", "SIGQUIT: ", "SIGSEGV: ", "SIGBUS: "} {
			if strings.HasPrefix(line, crash) {
				return line
			}
		}
	}
	if len(all) > lines {
		all = all[len(all)-lines:]
	}
	words := strings.Join(all, " | ")
	if words == "" {
		words = "it wrote nothing"
	}
	return words
}
