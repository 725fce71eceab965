package checker

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pestle/history"
)

// A script is a history for people to read, one event a line:
//
//	<ms> <source> <event> <words…> [key=value…]
//
// Sources: p1 p2 producers, o1 the consumer of channel ordered, s1 s2 those of
// channel shared, h the harness. Line numbers are counted, sizes and checksums
// follow from the id; key=value sets a field after that.
//
//	100 p1 attempt 1               120 o1 consume p1-1 @1
//	105 p1 ack 1                   121 o1 requeue p1-1 @1
//	300 h fault kill broker-1 effective 3
//	310 p2 started 2               900 h drained ordered
type script string

var sources = map[string]string{
	"p1": "producer-1", "p2": "producer-2", "o1": "consumer-ordered-1",
	"s1": "consumer-shared-1", "s2": "consumer-shared-2", "h": "harness",
}

const testTopic = "orders"

// events turns the script into a history.
func (s script) events(t testing.TB) []history.Event {
	t.Helper()
	var list []history.Event
	tries := map[string]int{}
	for _, line := range s.lines(t) {
		e, err := parseScriptLine(strings.Fields(line), tries)
		if err != nil {
			t.Fatalf("script line %q: %v", line, err)
		}
		list = append(list, e)
	}
	return number(list)
}

// lines returns the script's lines by time.
func (s script) lines(t testing.TB) []string {
	t.Helper()
	var lines []string
	for line := range strings.SplitSeq(string(s), "\n") {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	ms := func(line string) int64 {
		n, err := strconv.ParseInt(strings.Fields(line)[0], 10, 64)
		if err != nil {
			t.Fatalf("script line %q: %v", line, err)
		}
		return n
	}
	slices.SortStableFunc(lines, func(a, b string) int { return cmp.Compare(ms(a), ms(b)) })
	return lines
}

// number puts events of one time into the merged order and counts each
// source's lines.
func number(list []history.Event) []history.Event {
	seqs := map[string]uint64{}
	for i := range list {
		seqs[list[i].Src]++
		list[i].Seq = seqs[list[i].Src]
	}
	slices.SortFunc(list, func(a, b history.Event) int {
		if a.Before(b) {
			return -1
		}
		return 1
	})
	return list
}

func parseScriptLine(words []string, tries map[string]int) (history.Event, error) {
	ms, err := strconv.ParseInt(words[0], 10, 64)
	if err != nil {
		return history.Event{}, err
	}
	e := history.Event{T: (ms + 1000) * 1e6, Src: sources[words[1]], Ev: history.Note, What: words[2]}
	args, settings := splitSettings(words[3:])
	switch words[2] {
	case "attempt", "ack", "fail", "unknown", "gave-up", "sentinel":
		e.ID, e.Topic = e.Src+"-"+args[0], testTopic
		if words[2] == "attempt" {
			tries[e.ID]++
			e.Size, e.Sum = content(e.ID)
		}
		e.Try = tries[e.ID]
		if words[2] != "gave-up" && words[2] != "sentinel" {
			e.Ev, e.What = history.Kind(words[2]), ""
		}
	case "consume", "finish", "requeue", "malformed", "forgot", "overrun":
		e.Topic, e.Channel, e.Consumer = testTopic, strings.Split(e.Src, "-")[1], e.Src
		e.ID, e.Pos = longID(args[0]), position(args[1])
		if slices.Contains([]string{"consume", "finish", "requeue"}, words[2]) {
			e.Ev, e.What = history.Kind(words[2]), ""
		}
		if words[2] == "consume" {
			e.Attempts, e.Held = 1, 1
			e.Size, e.Sum = content(e.ID)
		}
	case "phase":
		e.Ev, e.What = history.Phase, args[0]
	case "fault":
		e.Ev, e.What, e.Target, e.Edge = history.Fault, args[0], args[1], args[2]
		e.Ref, err = strconv.Atoi(args[3])
	case "started":
		e.Try, err = strconv.Atoi(args[0])
	case "exited":
		e.Target = args[0]
	case "watched":
	case "invariant":
		e.Target, e.Text = args[0], args[1]+": as seen"
	case "drained", "backlog":
		e.Topic, e.Channel = testTopic, args[0]
	case "stored":
		e.Topic, e.Channel, e.ID = testTopic, args[0], longID(args[1])
	case "stopped", "connected", "disconnected", "tick", "replayed":
	default:
		err = fmt.Errorf("there is no event %q", words[2])
	}
	if err == nil {
		err = set(&e, settings)
	}
	return e, err
}

func splitSettings(words []string) (args, settings []string) {
	for _, w := range words {
		if strings.Contains(w, "=") {
			settings = append(settings, w)
		} else {
			args = append(args, w)
		}
	}
	return args, settings
}

func set(e *history.Event, settings []string) error {
	for _, s := range settings {
		key, value, _ := strings.Cut(s, "=")
		n, _ := strconv.Atoi(value)
		switch key {
		case "try":
			e.Try = n
		case "attempts":
			e.Attempts = n
		case "held":
			e.Held = n
		case "defer": // ms
			e.Defer = int64(n) * 1e6
		case "text":
			e.Text = value
		case "size":
			e.Size = n
		case "sum":
			e.Sum = value
		case "id":
			e.ID = value
		case "src":
			e.Src = value
		case "topic":
			e.Topic = value
		case "target":
			e.Target = value
		case "channel":
			e.Channel = value
		case "consumer":
			e.Consumer = value
		case "edge":
			e.Edge = value
		default:
			return fmt.Errorf("there is no field %q", key)
		}
	}
	return nil
}

// longID turns p1-7 into producer-1-7; other ids stay.
func longID(short string) string {
	if head, counter, ok := strings.Cut(short, "-"); ok && sources[head] != "" {
		return sources[head] + "-" + counter
	}
	return short
}

// position turns @7 into Pestle's position 7 of partition 1, and @2:7 into 7
// of partition 2.
func position(short string) string {
	partition, offset, ok := strings.Cut(strings.TrimPrefix(short, "@"), ":")
	if !ok {
		partition, offset = "1", partition
	}
	p, _ := strconv.Atoi(partition)
	o, _ := strconv.Atoi(offset)
	return fmt.Sprintf("%05x%011x", p, o)
}

// content is the size and checksum of the message with the id.
func content(id string) (size int, sum string) {
	h := fingerprint(id)
	return 100 + int(h%1000), fmt.Sprintf("%016x%016x%016x%016x", h, h*3, h*5, h*7)
}

// edit changes the script: "- line" takes a line out, "+ line" adds one.
// Blanks do not matter, nor does the order: events are sorted by time.
func (s script) edit(t testing.TB, edits ...string) script {
	t.Helper()
	lines := s.lines(t)
	for _, change := range edits {
		text := strings.Join(strings.Fields(change[1:]), " ")
		if change[0] == '+' {
			lines = append(lines, text)
			continue
		}
		found := slices.IndexFunc(lines, func(line string) bool { return strings.Join(strings.Fields(line), " ") == text })
		if found < 0 {
			t.Fatalf("the script has no line %q", text)
		}
		lines = slices.Delete(lines, found, found+1)
	}
	return script(strings.Join(lines, "\n"))
}

// testConfig is the plan that the scripts belong to.
func testConfig() Config {
	return Config{
		Streams: []Stream{
			{Topic: testTopic, Channel: "ordered", Consumers: []string{"consumer-ordered-1"}},
			{Topic: testTopic, Channel: "shared", Consumers: []string{"consumer-shared-1", "consumer-shared-2"}},
		},
		Producers:   []string{"producer-1", "producer-2"},
		Order:       OrderPartition,
		MaxTries:    3,
		MinSize:     100,
		MaxSize:     1099,
		MsgTimeout:  5e9,
		Recovery:    1e9,
		FaultKinds:  []string{"kill", "pause"},
		Claims:      ClaimNames(),
		WarmUpFloor: 2,
		Ready:       map[string]int{"consumer-ordered-1": 1, "consumer-shared-1": 5, "consumer-shared-2": 5},
	}
}

// failer is a test: of package testing or of rapid.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// judge runs a whole history, which must be possible.
func judge(t failer, cfg Config, events []history.Event) Verdict {
	t.Helper()
	c := New(cfg)
	for _, e := range events {
		if err := c.Observe(e); err != nil {
			t.Fatalf("the history is refused: %v", err)
		}
	}
	return c.Verdict()
}

func (v Verdict) property(t failer, slug string) Property {
	t.Helper()
	for _, p := range v.Properties {
		if p.Slug == slug {
			return p
		}
	}
	t.Fatalf("the verdict has no property %s", slug)
	return Property{}
}

// explain prints a verdict for a failing test.
func explain(v Verdict) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n", v.Status, v.Reason)
	for _, p := range v.Properties {
		fmt.Fprintf(&b, "  %-20s %-14s %s\n", p.Slug, p.Status, p.Reason)
		for _, x := range p.Violations {
			fmt.Fprintf(&b, "    %s\n    %s\n", x.Cause, x.Detail)
		}
	}
	for _, c := range v.Claims {
		fmt.Fprintf(&b, "  %-40s %d\n", c.Name, c.Count)
	}
	return b.String()
}
