package reports

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pestle/checker"
	"pestle/faults"
	"pestle/history"
	"pestle/scenarios"
)

func lives(s *synthetic) []group {
	return newFindings(s.plan, s.verdict, s.events, faultRows(s.plan, s.run.FaultLog, s.events))
}

// transcript writes a life as the page shows it.
func transcript(f finding) string {
	var b strings.Builder
	for _, m := range f.Life {
		fmt.Fprintf(&b, "%s %s %s %s", m.At, m.Since, m.Glyph, m.Text)
		if m.ID != "" {
			fmt.Fprintf(&b, " [%s]", m.ID)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func TestLives(t *testing.T) {
	told := map[string]finding{}
	for _, g := range lives(failing()) {
		told[g.Slug] = g.Findings[0]
	}
	for _, row := range []struct{ name, slug, want string }{
		{"a lost message: the kill after its ack, and where it never arrived", checker.NoDataLoss, `
4.961 s +0 µs ○ producer-1 sends it, try 1, 186 bytes
4.963 s +2.3 ms ● acked to producer-1, try 1
5.001 s +40.0 ms ▼ kill 1 takes effect on broker-1
5.460 s +499 ms ▲ kill 1 of broker-1 is over, after 459 ms
43.100 s +38.1 s ◆ here the violation was proven
44.000 s +39.0 s ✕ the run ends; never delivered on channel ordered
44.000 s +39.0 s ✕ the run ends; never delivered on channel shared
`},
		{"a phantom: no fault was near, so the nearest on both sides are told", checker.NoPhantomMessages, `
11.002 s −5.04 s ▼ pause 3 takes effect on broker-1
11.100 s −4.94 s ▼ kill 4 takes effect on consumer-ordered-1
11.700 s −4.34 s ▲ kill 4 of consumer-ordered-1 is over, after 600 ms
11.902 s −4.14 s ▲ pause 3 of broker-1 is over, after 900 ms
13.000 s −3.04 s – a quiet window begins
16.040 s +0 µs ✕ no producer ever attempted to send this id
16.040 s +0 µs ■ delivered to consumer-shared-1 on channel shared, position 0000100000002328, attempts 1
16.040 s +0 µs ◆ here the violation was proven
16.041 s +1.0 ms · finished by consumer-shared-1 on channel shared
18.000 s +1.96 s – the quiet window ends
21.003 s +4.96 s ▼ stop 5 takes effect on broker-1
21.950 s +5.91 s ▲ stop 5 of broker-1 is over, after 947 ms
`},
		{"a wrong order: both messages, the second found in the sentence", checker.MessageOrdering, `
11.002 s −4.66 s ▼ pause 3 takes effect on broker-1
11.100 s −4.56 s ▼ kill 4 takes effect on consumer-ordered-1
11.700 s −3.96 s ▲ kill 4 of consumer-ordered-1 is over, after 600 ms
11.902 s −3.76 s ▲ pause 3 of broker-1 is over, after 900 ms
13.000 s −2.66 s – a quiet window begins
15.661 s +0 µs ○ producer-1 sends it, try 1, 400 bytes [producer-1-300]
15.663 s +2.0 ms ● acked to producer-1, try 1 [producer-1-300]
15.666 s +5.0 ms ■ delivered to consumer-shared-1 on channel shared, position 000010000000012c, attempts 1 [producer-1-300]
15.667 s +6.0 ms · finished by consumer-shared-1 on channel shared [producer-1-300]
15.711 s +50.0 ms ○ producer-1 sends it, try 1, 401 bytes [producer-1-301]
15.713 s +52.3 ms ● acked to producer-1, try 1 [producer-1-301]
15.715 s +54.0 ms ■ delivered to consumer-ordered-1 on channel ordered, position 000010000000012d, attempts 1 [producer-1-301]
15.716 s +55.0 ms · finished by consumer-ordered-1 on channel ordered [producer-1-301]
15.716 s +55.0 ms ■ delivered to consumer-shared-2 on channel shared, position 000010000000012d, attempts 1 [producer-1-301]
15.717 s +56.0 ms · finished by consumer-shared-2 on channel shared [producer-1-301]
15.900 s +239 ms ■ delivered to consumer-ordered-1 on channel ordered, position 000010000000012c, attempts 1 [producer-1-300]
15.900 s +239 ms · finished by consumer-ordered-1 on channel ordered [producer-1-300]
15.900 s +239 ms ◆ here the violation was proven
18.000 s +2.34 s – the quiet window ends
21.003 s +5.34 s ▼ stop 5 takes effect on broker-1
21.950 s +6.29 s ▲ stop 5 of broker-1 is over, after 947 ms
`},
		{"no message: what the world did before", checker.ProducerProgress, `
27.001 s −999 ms ▼ kill 6 takes effect on broker-1
29.700 s +1.70 s ▲ kill 6 of broker-1 is over, after 2.70 s
33.000 s +5.00 s – a quiet window begins
38.000 s +10.0 s – the quiet window ends
38.000 s +10.0 s – phase heal begins
38.000 s +10.0 s ◆ here the violation was proven
38.500 s +10.5 s – phase drain begins
`},
	} {
		t.Run(row.name, func(t *testing.T) {
			if diff := cmp.Diff(strings.TrimPrefix(row.want, "\n"), transcript(told[row.slug])); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A message that was redelivered a thousand times is told by its beginning and
// its end.
func TestLongLifeLosesItsMiddle(t *testing.T) {
	s := small()
	for i := range int64(1_000) {
		s.add(900*millisecond+i*millisecond, history.Event{Src: "consumer-a-1", Ev: history.Consume, ID: "producer-1-2", Channel: "a", Attempts: int(i) + 1})
	}
	s.sort()
	f := lives(s)[0].Findings[0]
	if len(f.Life) != maxMoments || f.Half != maxMoments/2 {
		t.Errorf("%d moments, the gap after %d; want %d, %d", len(f.Life), f.Half, maxMoments, maxMoments/2)
	}
	text := transcript(f)
	if !strings.Contains(text, "acked to producer-1") || !strings.Contains(text, "attempts 1000\n") {
		t.Errorf("beginning or end are missing:\n%s", text)
	}
}

// Every property gets its share of the page, however many violations another
// one has.
func TestFindingsAreShared(t *testing.T) {
	for _, row := range []struct {
		kept []int
		want []int
	}{
		{[]int{}, []int{}},
		{[]int{0, 3, 0}, []int{0, 3, 0}},
		{[]int{50, 1, 50}, []int{25, 1, 24}},
		{[]int{50, 50}, []int{25, 25}},
	} {
		var v checker.Verdict
		for i, n := range row.kept {
			v.Properties = append(v.Properties, checker.Property{
				Slug: fmt.Sprintf("property-%d", i), Total: int64(2 * n), Violations: make([]checker.Violation, n),
			})
		}
		got := make([]int, len(row.kept))
		for _, g := range newFindings(scenarios.Plan{}, v, nil, nil) {
			var i int
			if _, err := fmt.Sscanf(g.Slug, "property-%d", &i); err != nil {
				t.Fatal(err)
			}
			got[i] = len(g.Findings)
			if g.More != int64(2*row.kept[i]-got[i]) {
				t.Errorf("%v: %s says %d more, want %d", row.kept, g.Slug, g.More, 2*row.kept[i]-got[i])
			}
		}
		if diff := cmp.Diff(row.want, got); diff != "" {
			t.Errorf("%v (-want +got):\n%s", row.kept, diff)
		}
	}
}

// A fault on whom leads is listed on the process that led, and says what the
// plan asked for; so does one that nobody was found for.
func TestFaultRowsOfSelectors(t *testing.T) {
	plan := scenarios.Plan{Faults: []faults.Fault{
		{Ref: 1, Kind: faults.Kill, Target: faults.Leader, Anchor: faults.Anchor{At: 2 * second}},
		{Ref: 2, Kind: faults.Kill, Target: faults.Follower(2), Anchor: faults.Anchor{After: &faults.Event{Point: "vote-granted", Count: 1200, Process: faults.AnyProcess}}},
		{Ref: 3, Kind: faults.Kill, Target: "broker-1", Anchor: faults.Anchor{After: &faults.Event{Point: "ack", Count: 3, Process: "broker-1", Delay: millisecond}}},
	}}
	events := []history.Event{
		{T: boot},
		{T: boot + 5*second, Src: "harness", Ev: history.Fault, What: "kill", Target: "broker-3", Edge: history.EdgeEffective, Ref: 1},
	}
	var got []string
	for _, f := range faultRows(plan, nil, events) {
		got = append(got, strings.Join([]string{fmt.Sprint(f.Ref), f.Target, f.Asked, f.Happened}, " | "))
	}
	want := []string{
		"1 | broker-3 | 2.000 s into chaos, on the leader | 5.000 s",
		"2 | follower-2 | after any broker passed vote-granted 1,200 times, on the follower-2 | never took effect",
		"3 | broker-1 | after broker-1 passed ack 3 times and 1.0 ms more | never took effect",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFaultRows(t *testing.T) {
	s := newSynthetic()
	s.events = append(s.events, history.Event{T: boot + 43*second, Src: "harness", Ev: history.Fault, What: "pause", Target: "broker-9", Edge: history.EdgeEffective, Ref: 40})
	var got []string
	for _, f := range faultRows(s.plan, s.run.FaultLog, s.events) {
		got = append(got, strings.Join([]string{fmt.Sprint(f.Ref), f.Kind, f.Target, f.Asked, f.Happened, f.Late, f.Length, f.Note}, " | "))
	}
	want := []string{
		"1 | kill | broker-1 | 2.000 s into chaos | 5.001 s | 1.0 ms | 459 ms | ",
		"2 | kill | producer-2 | after 300 acks and 120 ms more | 7.300 s | 2.0 ms | 350 ms | ",
		"3 | pause | broker-1 | 8.000 s into chaos | 11.002 s | 3.0 ms | 900 ms | ",
		"4 | kill | consumer-ordered-1 | after fault 3 took effect | 11.100 s | 4.0 ms | 600 ms | ",
		"5 | stop | broker-1 | 18.000 s into chaos | 21.003 s | 5.0 ms | 947 ms | ",
		"6 | kill | broker-1 | 24.000 s into chaos | 27.001 s | 6.0 ms | 2.70 s | ",
		"7 | kill | broker-1 | after 1,000,000 attempts | never took effect | – | – | never due: chaos ended first",
		"40 | pause | broker-9 | not in the plan | 43.000 s | – | until the end of the run | ",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
