package composer

import (
	"fmt"
	"net"
	"strings"
	"time"
)

// Names of the environment variables.
const (
	VariableTCP   = "PESTLE_NSQD_TCP"
	VariableHTTP  = "PESTLE_NSQD_HTTP"
	VariableState = "PESTLE_STATE"
	VariableDrain = "PESTLE_DRAIN_WITHIN"
)

// Settings say where the target and the shared directory are.
type Settings struct {
	TCP     []string      // host:port of each broker's NSQ protocol, broker-1 first
	HTTP    []string      // host:port of each broker's HTTP interface, in the same order
	State   string        // directory
	Drain   time.Duration // how long, once faults have stopped, until nothing is left
	Release string        // of Pestle, for the assertions
}

// FromEnvironment reads settings from variables; each has a default, for one
// broker on this machine.
func FromEnvironment(get func(string) string) (Settings, error) {
	s := Settings{
		TCP:   list(get(VariableTCP), "127.0.0.1:4150"),
		HTTP:  list(get(VariableHTTP), "127.0.0.1:4151"),
		State: get(VariableState),
		Drain: 2 * time.Minute,
	}
	if s.State == "" {
		s.State = "/run/pestle"
	}
	if text := get(VariableDrain); text != "" {
		var err error
		if s.Drain, err = time.ParseDuration(text); err != nil || s.Drain < time.Second {
			return Settings{}, fmt.Errorf("%s is %.40q: want a duration of a second or more, such as 2m", VariableDrain, text)
		}
	}
	for variable, addresses := range map[string][]string{VariableTCP: s.TCP, VariableHTTP: s.HTTP} {
		for _, address := range addresses {
			if _, _, err := net.SplitHostPort(address); err != nil {
				return Settings{}, fmt.Errorf("%s: %w; want host:port, several with commas between them", variable, err)
			}
		}
	}
	if len(s.TCP) != len(s.HTTP) {
		return Settings{}, fmt.Errorf("%s names %d brokers and %s %d: want the same", VariableTCP, len(s.TCP), VariableHTTP, len(s.HTTP))
	}
	return s, nil
}

func list(text, other string) []string {
	if text == "" {
		text = other
	}
	return strings.Split(text, ",")
}
