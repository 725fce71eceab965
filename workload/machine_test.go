package workload

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"pestle/history"
)

// stepper is a machine of either kind.
type stepper interface {
	Step(now int64, e Event, fx *Effects)
	NextDeadline() (int64, bool)
}

const ms = 1_000_000

// transcript plays a script and writes down what the machine does. A script
// has one step a line, "<ms> <event> [arguments]"; lines that start with a
// space are the effects expected of it:
//
//	state <line>      history <ev or note> …      send <id> try <n> by <ms>
//	finish <token>    requeue <token> after <ms>  forget <token>    done
func transcript(t *testing.T, m stepper, script string, deliveries map[string]Delivery) string {
	t.Helper()
	var out strings.Builder
	for _, line := range strings.Split(script, "\n") {
		if line == "" || line[0] == ' ' {
			continue
		}
		words := strings.Fields(line)
		at, err := strconv.ParseInt(words[0], 10, 64)
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		var fx Effects
		m.Step(at*ms, event(t, words[1:], deliveries), &fx)
		fmt.Fprintln(&out, line)
		for _, e := range fx.List {
			fmt.Fprintln(&out, "  "+effectText(e))
		}
	}
	return out.String()
}

func event(t *testing.T, words []string, deliveries map[string]Delivery) Event {
	t.Helper()
	kinds := map[string]EventKind{
		"start": EvStart, "timer": EvTimer, "ack": EvAck, "fail": EvFail, "unknown": EvUnknown, "deliver": EvDelivery,
		"connected": EvConnected, "disconnected": EvDisconnected, "drain": EvDrain, "stop": EvStop,
	}
	e := Event{Kind: kinds[words[0]]}
	switch e.Kind {
	case 0:
		t.Fatalf("unknown event %q", words[0])
	case EvAck, EvFail, EvUnknown: // ack <counter> try <n>
		counter, err1 := strconv.ParseUint(words[1], 10, 64)
		try, err2 := strconv.Atoi(words[3])
		if err1 != nil || err2 != nil {
			t.Fatalf("%v: %v %v", words, err1, err2)
		}
		e.ID, e.Try = ID{1, counter}, try
		if e.Kind != EvAck {
			e.Text = "why"
		}
	case EvDelivery:
		e.Delivery = deliveries[words[1]]
	case EvConnected, EvDisconnected:
		e.Target = words[1]
	}
	return e
}

func effectText(e Effect) string {
	switch e.Kind {
	case FxState:
		return "state " + strings.TrimSuffix(string(e.Line), "\n")
	case FxSend:
		text := fmt.Sprintf("send %s try %d by %d", e.ID, e.Try, e.Deadline/ms)
		if e.Delay > 0 {
			text += fmt.Sprintf(" deferred %d", e.Delay/ms)
		}
		return text
	case FxFinish:
		return fmt.Sprintf("finish %d", e.Token)
	case FxRequeue:
		return fmt.Sprintf("requeue %d after %d", e.Token, e.Delay/ms)
	case FxForget:
		return fmt.Sprintf("forget %d", e.Token)
	case FxDone:
		return "done"
	}
	h := e.History
	text := "history " + string(h.Ev)
	if h.Ev == history.Note {
		text = "history " + h.What
	}
	for _, field := range []struct{ name, value string }{
		{"", h.ID}, {"try ", number(h.Try)}, {"at ", h.Pos}, {"attempts ", number(h.Attempts)},
		{"held ", number(h.Held)}, {"deferred ", number(int(h.Defer / ms))}, {"", h.Target}, {"", h.Text},
	} {
		if field.value != "" {
			text += " " + field.name + field.value
		}
	}
	return text
}

func number(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

func compare(t *testing.T, got, want string) {
	t.Helper()
	want = strings.TrimPrefix(want, "\n")
	if got == want {
		return
	}
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range max(len(g), len(w)) {
		var a, b string
		if i < len(g) {
			a = g[i]
		}
		if i < len(w) {
			b = w[i]
		}
		if a != b {
			t.Fatalf("line %d\n got %q\nwant %q\nall of it:\n%s", i+1, a, b, got)
		}
	}
}
