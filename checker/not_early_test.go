package checker

import (
	"fmt"
	"testing"
)

// TestDueTimes: the deferral of p2-51, sent at 160, is over at 260.
func TestDueTimes(t *testing.T) {
	for _, test := range []struct {
		name  string
		edits []string
		total int64
	}{
		{"within the grain", []string{"- 265 o1 consume p2-51 @41", "+ 259 o1 consume p2-51 @41"}, 0},
		{"before it", []string{"- 265 o1 consume p2-51 @41", "+ 258 o1 consume p2-51 @41"}, 1},
		{"on both channels", []string{"- 265 o1 consume p2-51 @41", "+ 258 o1 consume p2-51 @41", "- 266 s1 consume p2-51 @41", "+ 170 s1 consume p2-51 @41"}, 2},
		{"rebuilt from a state file", []string{"- 265 o1 consume p2-51 @41", "+ 258 o1 consume p2-51 @41 attempts=0 size=0 sum="}, 0},
		{"its first delivery was lost", []string{"- 265 o1 consume p2-51 @41", "+ 258 o1 consume p2-51 @41 attempts=2"}, 1},
		{"due at its first try", []string{"- 265 o1 consume p2-51 @41", "- 162 p2 ack 51",
			"+ 170 p2 fail 51", "+ 220 p2 attempt 51 defer=100", "+ 221 p2 ack 51", "+ 265 o1 consume p2-51 @41"}, 0},
		{"a clock is wrong", []string{"+ 200 h fault clock-drift broker-1 effective 9", "- 265 o1 consume p2-51 @41", "+ 258 o1 consume p2-51 @41", "+ 270 h fault clock-drift broker-1 ended 9"}, 0},
		{"a clock was wrong meanwhile", []string{"+ 200 h fault clock-jump broker-1 effective 9", "+ 201 h fault clock-jump broker-1 ended 9", "- 265 o1 consume p2-51 @41", "+ 258 o1 consume p2-51 @41"}, 0},
		{"a clock was wrong before", []string{"+ 155 h fault clock-jump broker-1 effective 9", "+ 159 h fault clock-jump broker-1 ended 9", "- 265 o1 consume p2-51 @41", "+ 258 o1 consume p2-51 @41"}, 1},
		{"another fault excuses nothing", []string{"+ 200 h fault kill broker-1 effective 9", "+ 250 h fault kill broker-1 ended 9", "- 265 o1 consume p2-51 @41", "+ 258 o1 consume p2-51 @41"}, 1},
	} {
		v := judge(t, testConfig(), clean.edit(t, test.edits...).events(t))
		if p := v.property(t, NotEarly); p.Total != test.total {
			t.Errorf("%s: %d violations, want %d\n%s", test.name, p.Total, test.total, explain(v))
		}
	}
}

// TestDelayOfARequeue: p1-70 is sent at 6100, given back at 6104 for half a
// second, and comes at 6300.
func TestDelayOfARequeue(t *testing.T) {
	for _, test := range []struct {
		name  string
		edits []string
		total int64
	}{
		{"nothing else happens", nil, 1},
		{"given back without a delay", []string{"- 6104 s1 requeue p1-70 @50 defer=500", "+ 6104 s1 requeue p1-70 @50"}, 0},
		{"it comes in time", []string{"- 6300 s2 consume p1-70 @50 attempts=2", "+ 6603 s2 consume p1-70 @50 attempts=2"}, 0},
		{"just too early", []string{"- 6300 s2 consume p1-70 @50 attempts=2", "+ 6602 s2 consume p1-70 @50 attempts=2"}, 1},
		{"it comes twice, and only once too early for what it was given back", []string{"+ 6310 s2 consume p1-70 @50 attempts=3"}, 1},
		{"on another channel", []string{"- 6300 s2 consume p1-70 @50 attempts=2", "+ 6300 o1 consume p1-70 @50 attempts=2", "+ 6700 s2 consume p1-70 @50 attempts=2"}, 0},
		{"another copy", []string{"- 6300 s2 consume p1-70 @50 attempts=2", "+ 6300 s2 consume p1-70 @51", "+ 6700 s2 consume p1-70 @50 attempts=2"}, 0},

		{"the holder lost its connection before", []string{"+ 6105 s1 disconnected"}, 0},
		{"it noticed after the delivery", []string{"+ 7299 s1 disconnected"}, 0},
		{"it noticed too late", []string{"+ 7301 s1 disconnected"}, 1},
		{"it had lost it before the send", []string{"+ 6099 s1 disconnected"}, 1},
		{"the other consumer lost its connection", []string{"+ 6105 s2 disconnected"}, 1},
		{"the holder began anew", []string{"+ 6105 s1 started 2"}, 0},
		{"the holder ended in order", []string{"+ 6200 s1 stopped"}, 0},
		{"the holder ended by itself", []string{"+ 6200 h exited consumer-shared-1"}, 0},
		{"a broker ended by itself", []string{"+ 6200 h exited broker-1"}, 0},
		{"a broker had ended before the send", []string{"+ 6099 h exited broker-1"}, 1},
		{"any fault since the send", []string{"+ 6101 h fault pause producer-2 effective 9", "+ 6102 h fault pause producer-2 ended 9"}, 0},
		{"a fault that lasts", []string{"+ 6050 h fault pause producer-2 effective 9", "+ 6500 h fault pause producer-2 ended 9"}, 0},
		{"a fault over before the send", []string{"+ 6050 h fault pause producer-2 effective 9", "+ 6099 h fault pause producer-2 ended 9"}, 1},
	} {
		edits := append([]string{
			"+ 6100 p1 attempt 70", "+ 6101 p1 ack 70", "+ 6102 o1 consume p1-70 @50", "+ 6103 s1 consume p1-70 @50",
			"+ 6104 s1 requeue p1-70 @50 defer=500", "+ 6300 s2 consume p1-70 @50 attempts=2",
		}, test.edits...)
		v := judge(t, testConfig(), clean.edit(t, edits...).events(t))
		if p := v.property(t, NotEarly); p.Total != test.total {
			t.Errorf("%s: %d violations, want %d\n%s", test.name, p.Total, test.total, explain(v))
		}
	}
}

// TestRequeueAfterALongWait: once a lease may have run out it, and not the
// requeue, may have brought the message back.
func TestRequeueAfterALongWait(t *testing.T) {
	for consumed, total := range map[int]int64{11099: 1, 11100: 0} {
		v := judge(t, testConfig(), clean.edit(t, "+ 6100 p1 attempt 70", "+ 6101 p1 ack 70", "+ 6102 o1 consume p1-70 @50",
			"+ 11000 s1 consume p1-70 @50", "+ 11001 s1 requeue p1-70 @50 defer=500",
			fmt.Sprintf("+ %d s2 consume p1-70 @50 attempts=2", consumed)).events(t))
		if p := v.property(t, NotEarly); p.Total != total {
			t.Errorf("consumed at %d: %d violations, want %d\n%s", consumed, p.Total, total, explain(v))
		}
	}
}

// TestDeferredMessagesWait: what is held back is neither out of order nor a
// backlog, and no message that it is due in time.
func TestDeferredMessagesWait(t *testing.T) {
	for name, edits := range map[string][]string{
		"it is passed by messages sent after its ack": nil,
		"it passes messages":                          {"+ 1114 p2 attempt 70 defer=1", "+ 1115 p2 ack 70", "+ 1116 o1 consume p2-70 @70", "+ 1116 s1 consume p2-70 @70"},
		"one sent in a quiet window is not consumed in it": {
			"+ 2501 p2 attempt 70 defer=4000", "+ 2502 p2 ack 70", "+ 6550 o1 consume p2-70 @70", "+ 6550 s1 consume p2-70 @70"},
		"one sent in a quiet window is consumed in it, after the recovery bound": {
			"+ 2501 p2 attempt 70 defer=2000", "+ 2502 p2 ack 70", "+ 4502 o1 consume p2-70 @70", "+ 4502 s1 consume p2-70 @70"},
		"one sent before a quiet window is no backlog": {
			"+ 1990 p2 attempt 70 defer=3900", "+ 1991 p2 ack 70", "+ 5900 o1 consume p2-70 @70", "+ 5900 s1 consume p2-70 @70"},
	} {
		v := judge(t, testConfig(), clean.edit(t, edits...).events(t))
		if v.Status != Pass {
			t.Errorf("%s: %s", name, explain(v))
		}
	}
}

// TestComingAgainIsNoBacklog: a message that was forgotten before a quiet
// window comes back late in it; nothing waited for its turn meanwhile.
func TestComingAgainIsNoBacklog(t *testing.T) {
	v := judge(t, testConfig(), clean.edit(t, "- 612 s1 finish p1-2 @3", "+ 612 s1 forgot p1-2 @3",
		"+ 5950 s2 consume p1-2 @3 attempts=2").events(t))
	if p := v.property(t, ConsumerProgress); p.Status != Pass || p.Exposure["windows that a backlog outlasted"] != 0 {
		t.Errorf("%s", explain(v))
	}
}
