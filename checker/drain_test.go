package checker

import (
	"strings"
	"testing"
)

func TestDrain(t *testing.T) {
	for _, test := range []struct {
		name   string
		edits  []string
		status Status
		detail string // of a violation, or the reason
	}{
		{"every channel is seen empty", nil, Pass, ""},
		{"one is not", []string{"- 8501 h drained shared"}, Fail, "what is left there is not known"},
		{"a note says what is left", []string{"- 8501 h drained shared", "+ 8900 h backlog shared text=3_messages_left"}, Fail,
			"orders/shared was not seen empty, with every producer's last message consumed, in the drain from +8.000000s to +9.000000s: 3_messages_left"},
		{"a note of a channel that is empty after all", []string{"- 8501 h drained shared", "+ 8400 h backlog shared text=x", "+ 8502 h drained shared"}, Pass, ""},
		{"seen empty before the drain", []string{"- 8501 h drained shared", "+ 7500 h drained shared"}, Fail, "not known"},
		{"seen empty after the drain", []string{"- 8501 h drained shared", "+ 9001 h drained shared"}, Fail, "not known"},
		{"interrupted in the drain", []string{"- 8501 h drained shared", "- 9000 h phase verify"}, Inconclusive, "the drain did not end"},
		{"interrupted before", []string{"- 8000 h phase drain", "- 9000 h phase verify"}, Inconclusive, "the run has no drain"},
	} {
		p := judge(t, testConfig(), clean.edit(t, test.edits...).events(t)).property(t, Drain)
		said := p.Reason
		for _, v := range p.Violations {
			said += v.Detail
		}
		if p.Status != test.status || p.Total > 1 || !strings.Contains(said, test.detail) {
			t.Errorf("%s: %s (%d violations: %s), want %s (%s)", test.name, p.Status, p.Total, said, test.status, test.detail)
		}
	}
}

// TestForgottenMessagesComeAgain: what its consumer never answered is not
// done, whatever the statistics say.
func TestForgottenMessagesComeAgain(t *testing.T) {
	forgot := []string{"- 612 s1 finish p1-2 @3", "+ 612 s1 forgot p1-2 @3"}
	wantOnly(t, judge(t, testConfig(), clean.edit(t, forgot...).events(t)), NoDataLoss)
	back := append(forgot, "+ 5600 s2 consume p1-2 @3 attempts=2", "+ 5601 s2 finish p1-2 @3")
	if v := judge(t, testConfig(), clean.edit(t, back...).events(t)); v.Status != Pass {
		t.Errorf("want pass, got %s", explain(v))
	}
}
