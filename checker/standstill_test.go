package checker

import (
	"fmt"
	"strings"
	"testing"
)

// ticks are the harness's watermarks of the clean script, every 200 ms, but for
// those between from and to.
func ticks(from, to int) (edits []string) {
	for ms := 250; ms < 9000; ms += 200 {
		if ms <= from || ms >= to {
			edits = append(edits, fmt.Sprintf("+ %d h tick", ms))
		}
	}
	return edits
}

// What did not happen while the machine stood still accuses nobody: it proves
// nothing either.
func TestAMachineThatStandsStillAccusesNobody(t *testing.T) {
	undrained := []string{"- 8501 h drained shared", "- 8500 h drained ordered"}
	unacked := []string{"- 2610 p2 ack 6"}
	late := []string{"- 2512 s1 consume p1-6 @10", "+ 3511 s1 consume p1-6 @10"}
	for _, c := range []struct {
		name     string
		edits    []string
		from, to int
		property string
		want     Status
	}{
		{"a drain", undrained, 0, 0, Drain, Fail},
		{"a drain in which it stood still", undrained, 8000, 9000, Drain, Inconclusive},
		{"a drain before which it did", undrained, 6100, 7900, Drain, Fail},
		{"no ack", unacked, 0, 0, ProducerProgress, Fail},
		{"no ack, it stood still", unacked, 2500, 5900, ProducerProgress, Inconclusive},
		{"no ack, it stood still before", unacked, 600, 1990, ProducerProgress, Fail},
		{"too late", late, 0, 0, ConsumerProgress, Fail},
		{"too late, it stood still", late, 2500, 5900, ConsumerProgress, Pass}, // others were in time
	} {
		p := judge(t, testConfig(), clean.edit(t, append(ticks(c.from, c.to), c.edits...)...).events(t)).property(t, c.property)
		if p.Status != c.want {
			t.Errorf("%s: %s (%s), want %s", c.name, p.Status, p.Reason, c.want)
		}
		if c.want == Inconclusive && c.property == Drain && !strings.Contains(p.Reason, "the machine stood still for 1.") {
			t.Errorf("%s: %s", c.name, p.Reason)
		}
	}
	if v := judge(t, testConfig(), clean.edit(t, ticks(2500, 5900)...).events(t)); v.Status != Pass {
		t.Errorf("a clean run whose machine stood still for a while: %s", explain(v))
	}
}
