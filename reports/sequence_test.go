package reports

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pestle/checker"
	"pestle/reports/page/pagetest"
	"pestle/scenarios"
	"pestle/sim"
)

// lostStory is what package sim tells of a message that a lying disk lost.
var lostStory = []sim.Moment{
	{Event: 1, T: 0, Who: "broker-1", What: "start 1"},
	{Event: 16, T: 22_113_630, Who: "consumer-a-1", What: "start 1"},
	{Event: 17, T: 22_113_630, Who: "consumer-b-1", What: "start 1"},
	{Event: 25, T: 42_059_260, Who: "producer-1", What: "start 1"},
	{Event: 26, T: 42_059_260, Who: "producer-2", What: "start 1"},
	{Event: 40, T: 498_000_000, Who: "producer-1", What: "effect history attempt producer-1-2"},
	{Event: 41, T: 498_010_000, Who: "producer-1", What: "effect send producer-1-2 try 1"},
	{Event: 42, T: 499_000_000, Who: "broker-1", What: "network connection 5 brings 328 bytes producer-1-2", From: 41},
	{Event: 43, T: 499_000_000, Who: "broker-1", What: "event connection 5 data 328 bytes producer-1-2"},
	{Event: 44, T: 499_000_000, Who: "broker-1", What: "effect write file 1 at 512 416 bytes producer-1-2"},
	{Event: 45, T: 499_000_000, Who: "broker-1", What: "effect sync file 1, token 14"},
	{Event: 46, T: 499_200_000, Who: "broker-1", What: "disk sync of file 1 at 0 is done"},
	{Event: 47, T: 499_200_000, Who: "broker-1", What: "event synced token 14"},
	{Event: 48, T: 499_200_000, Who: "broker-1", What: "effect send on connection 9 347 bytes producer-1-2"},
	{Event: 52, T: 500_000_000, Who: "producer-1", What: "event ack producer-1-2 try 1"},
	{Event: 53, T: 501_000_000, Who: "broker-1", What: "power-loss effective 1"},
	{Event: 54, T: 501_000_000, Who: "broker-1", What: "end 1"},
	{Event: 55, T: 502_000_000, Who: "consumer-b-1", What: "network connection 9 brings 347 bytes producer-1-2", From: 48},
	{Event: 56, T: 502_000_000, Who: "consumer-b-1", What: "event delivery 00001000000002b4 attempts 1 313 bytes producer-1-2"},
	{Event: 60, T: 600_000_000, Who: "producer-2", What: "kill effective 2"},
	{Event: 61, T: 600_000_000, Who: "producer-2", What: "end 1"},
	{Event: 70, T: 800_000_000, Who: "broker-1", What: "start 2"},
	{Event: 71, T: 801_000_000, Who: "broker-1", What: "power-loss ended 1"},
	{Event: 80, T: 1_100_000_000, Who: "consumer-a-1", What: "event delivery 00001000000002b4 attempts 1 90 bytes producer-2-7"},
	{Event: 85, T: 2_900_000_000, Who: "consumer-a-1", What: "event drain"}, // at the proof
	{Event: 90, T: 3_000_000_000, Who: "harness", What: "end"},              // after the proof
}

func lostPlan() scenarios.Plan {
	return scenarios.Plan{Workload: scenarios.Workload{
		Producers: []scenarios.Producer{{Name: "producer-1"}, {Name: "producer-2"}},
		Consumers: []scenarios.Consumer{{Name: "consumer-a-1", Channel: "a"}, {Name: "consumer-b-1", Channel: "b"}},
	}}
}

func lostVerdict() checker.Verdict {
	return checker.Verdict{Status: checker.Fail, Properties: []checker.Property{
		{Slug: checker.ProducerProgress, Required: true, Total: 1, Violations: []checker.Violation{{T: 1, Cause: "names no message"}}},
		{Slug: checker.NoDataLoss, Required: true, Total: 2, Violations: []checker.Violation{
			{ID: "producer-1-9", T: 2_950_000_000, Cause: "acked and lost"},
			{ID: "producer-1-2", Channel: "a", T: 2_900_000_000, Cause: "acked and lost", Detail: "producer-1-2 is lost; producer-1-3, sent after its ack, was delivered"},
		}},
		{Slug: checker.DeliveryGuarantee, Total: 1, Violations: []checker.Violation{{ID: "producer-1-1", T: 1_000_000_000, Cause: "not required"}}},
	}}
}

// drawn writes a diagram as lines: its columns, then from top to bottom
// what is drawn.
func drawn(s *sequence) string {
	var b strings.Builder
	fmt.Fprintf(&b, "of %s, %s\n", s.IDs, s.Cause)
	column := map[string]string{}
	for _, h := range s.Heads {
		column[h.X] = h.Title
		fmt.Fprintf(&b, "column at %s: %s\n", h.X, h.Title)
	}
	for _, l := range s.Lives {
		fmt.Fprintf(&b, "%s %s from %d to %d\n", column[l.X], l.Class, l.Y, l.Foot())
	}
	for _, f := range s.Faults {
		fmt.Fprintf(&b, "on from %d to %d: %s\n", f.Y, f.Foot(), f.Title)
	}
	for _, r := range s.Rows {
		fmt.Fprintf(&b, "%d %s %s %s %q %+d from its %s", r.Y, r.At, column[r.X], r.Glyph, r.Words, r.Foot-r.Y, map[string]string{"start": "right", "end": "left"}[r.Anchor])
		for _, a := range s.Arrows {
			if a.Y2 == r.Y {
				way := map[bool]string{true: "rightwards", false: "leftwards"}[strings.Contains(a.Tip, "L-")]
				fmt.Fprintf(&b, ", %s from %s at %d", way, column[a.X1], a.Y1)
			}
		}
		b.WriteByte('\n')
	}
	for _, g := range s.Gaps {
		fmt.Fprintf(&b, "%d %s\n", g.Y, g.Words)
	}
	fmt.Fprintf(&b, "%d %s %s\n%s\n", s.Proof.Y, s.Proof.At, s.Proof.Words, s.Label)
	return b.String()
}

func TestSequenceOfALostMessage(t *testing.T) {
	s := newSequence(lostPlan(), lostVerdict(), lostStory, 0)
	golden(t, "lost-sequence.txt", []byte(drawn(s)))
	// What is not drawn is told in words all the same, up to the proof.
	if want := len(lostStory) - 1; len(s.Told) != want || s.Earlier != 0 {
		t.Errorf("%d moments in words after %d others, want %d after 0", len(s.Told), s.Earlier, want)
	}
}

func TestSubject(t *testing.T) {
	order := func(required bool) checker.Property {
		return checker.Property{Slug: checker.MessageOrdering, Required: required, Violations: []checker.Violation{
			{ID: "producer-1-300", T: 5, Detail: "producer-1-300 was delivered after producer-1-301, and producer-1-302"},
		}}
	}
	for _, row := range []struct {
		name       string
		properties []checker.Property
		want       string
	}{
		{"the first proven of the required ones that name a message", lostVerdict().Properties, "producer-1-2"},
		{"a wrong order has two halves", []checker.Property{order(true)}, "producer-1-300 producer-1-301"},
		{"one that is not required, for want of a better", []checker.Property{order(false)}, "producer-1-300 producer-1-301"},
		{"no violation names a message", lostVerdict().Properties[:1], ""},
		{"no violation", nil, ""},
	} {
		_, ids, ok := Subject(checker.Verdict{Properties: row.properties})
		if got := strings.Join(ids, " "); got != row.want || ok != (row.want != "") {
			t.Errorf("%s: %q, %v; want %q", row.name, got, ok, row.want)
		}
	}
}

func TestNothingToDraw(t *testing.T) {
	for name, s := range map[string]*sequence{
		"no violation": newSequence(lostPlan(), checker.Verdict{}, lostStory, 0),
		"no story":     newSequence(lostPlan(), lostVerdict(), nil, 0),
		"all later":    newSequence(lostPlan(), lostVerdict(), lostStory[len(lostStory)-1:], 0),
	} {
		if s != nil {
			t.Errorf("%s: drawn as\n%s", name, drawn(s))
		}
	}
}

// A day in the life of a message that a thousand consumers requeue.
func TestSequenceIsBounded(t *testing.T) {
	var story []sim.Moment
	for i := range 20_000 {
		m := sim.Moment{Event: uint64(i + 1), T: int64(i), Who: fmt.Sprintf("consumer-a-%d", i%1_001)}
		switch i % 4 {
		case 0:
			m.What = "kill effective 1"
		case 1:
			m.What = "start 1"
		default:
			m.What = "event delivery 00001000000002b4 attempts 1 producer-1-2 " + strings.Repeat("é<", 500)
		}
		story = append(story, m)
	}
	s := newSequence(lostPlan(), lostVerdict(), story, 0)
	if len(s.Rows) != maxDrawn || len(s.Heads) > 2*maxProcesses {
		t.Errorf("%d moments of %d processes drawn, want %d of at most %d", len(s.Rows), len(s.Heads), maxDrawn, maxProcesses)
	}
	if len(s.Told) != maxTold || s.Earlier != len(story)-maxTold {
		t.Errorf("%d told after %d, want %d after %d", len(s.Told), s.Earlier, maxTold, len(story)-maxTold)
	}
	for _, r := range s.Rows {
		if n := len([]rune(r.Words)); n > maxSaid {
			t.Errorf("%d characters beside a mark: %q", n, r.Words)
		}
	}
}

// What the picture says to eyes, the page says to a screen reader too.
func TestSequenceIsTold(t *testing.T) {
	s := small()
	s.plan, s.verdict, s.run.Story = lostPlan(), lostVerdict(), lostStory
	text := renderPage(t, s)
	images := 0
	for _, e := range pagetest.Alone(t, text, func(string) bool { return true }) {
		if e.Name == "svg" && strings.HasPrefix(e.Attrs["aria-label"], "Sequence diagram of ") && e.Attrs["role"] == "img" {
			images++
		}
	}
	if images != 1 {
		t.Errorf("%d sequence diagrams with a label, want 1", images)
	}
	words := pagetest.Text(string(text))
	for _, m := range lostStory[:len(lostStory)-1] {
		if !strings.Contains(words, m.Who+" "+m.What) {
			t.Errorf("the page does not tell %s %s", m.Who, m.What)
		}
	}
}

// The kill that lost a message stands right behind its ack; forty restarts
// later the loss is proven.
func TestTurnsNearestToTheMessageAreDrawn(t *testing.T) {
	var story []sim.Moment
	add := func(who, what string) {
		story = append(story, sim.Moment{Event: uint64(len(story) + 1), T: int64(len(story)), Who: who, What: what})
	}
	restarts := func(n int) {
		for range n {
			add("broker-1", "kill effective 1")
			add("broker-1", "kill ended 1")
		}
	}
	restarts(50)
	add("producer-1", "event ack producer-1-2 try 1")
	restarts(50)
	s := newSequence(lostPlan(), lostVerdict(), story, 0)
	if len(s.Rows) != maxDrawn || len(s.Gaps) != 2 {
		t.Fatalf("%d moments with %d gaps, want %d without one between them: the picture is\n%s", len(s.Rows), len(s.Gaps), maxDrawn, drawn(s))
	}
	if i := slices.IndexFunc(s.Rows, func(r row) bool { return r.Words == "ack try 1" }); i < maxDrawn/2-2 || i > maxDrawn/2+1 {
		t.Errorf("the ack is moment %d of %d, want it in the middle of its turns", i, maxDrawn)
	}
}
