package checker

import "testing"

// The clean run finishes p1-1 on channel ordered at 103. It is proven served at
// 153, by the second message consumed after it, and durable at 258: a message
// sent at 250 came at 252, and then one that was sent at 256. The broker is
// killed at 300, and the consumers are connected again at 602.

// TestWhatProvesAFinish takes links of that proof away. Then a delivery after
// the crash is no breach.
func TestWhatProvesAFinish(t *testing.T) {
	const again = "+ 604 o1 consume p1-1 @1 attempts=2"
	for _, test := range []struct {
		name  string
		edits []string
		total int64
	}{
		{"the whole proof", nil, 1},
		{"no finish line", []string{"- 103 o1 finish p1-1 @1"}, 0},
		{"a finish of another position", []string{"- 103 o1 finish p1-1 @1", "+ 103 o1 finish p1-1 @2"}, 0},
		{"given back instead", []string{"- 103 o1 finish p1-1 @1", "+ 103 o1 requeue p1-1 @1"}, 0},
		{"forgotten instead", []string{"- 103 o1 finish p1-1 @1", "+ 103 o1 forgot p1-1 @1"}, 0},

		{"too few messages after it", []string{"- 153 o1 consume p1-50 @40", "- 252 o1 consume p1-52 @42", "- 258 o1 consume p1-54 @44", "- 265 o1 consume p2-51 @41"}, 0},
		{"the last of them comes late", []string{"- 153 o1 consume p1-50 @40", "- 252 o1 consume p1-52 @42", "+ 258 o1 consume p1-50 @40"}, 0},
		{"the last of them is rebuilt", []string{"- 153 o1 consume p1-50 @40", "+ 153 o1 consume p1-50 @40 attempts=0 size=0 sum=", "- 252 o1 consume p1-52 @42", "- 265 o1 consume p2-51 @41"}, 0},
		{"another connection since", []string{"+ 110 o1 connected"}, 0},
		{"another incarnation since", []string{"+ 110 o1 started 2"}, 0},
		{"another connection between the two steps", []string{"+ 160 o1 connected"}, 0},
		{"another connection between the two messages", []string{"+ 255 o1 connected"}, 0},
		{"another connection after the proof", []string{"+ 259 o1 connected"}, 1},

		{"no message sent after the ledger bound", []string{"- 252 o1 consume p1-52 @42", "- 258 o1 consume p1-54 @44"}, 0},
		{"only one", []string{"- 258 o1 consume p1-54 @44"}, 0},
		{"both sent before the first came", []string{"- 256 p1 attempt 54", "+ 251 p1 attempt 54"}, 0},
		{"the first sent just before the ledger bound", []string{"- 250 p1 attempt 52", "+ 172 p1 attempt 52"}, 0},
		{"the first sent just after the ledger bound", []string{"- 250 p1 attempt 52", "+ 173 p1 attempt 52"}, 1},
		{"they came to the other channel", []string{"- 252 o1 consume p1-52 @42", "- 258 o1 consume p1-54 @44", "+ 254 s2 consume p1-52 @42 attempts=2"}, 0},

		{"the broker was killed before, and the connection lost", []string{
			"+ 200 h fault kill broker-1 effective 9", "+ 230 h fault kill broker-1 ended 9", "+ 231 o1 connected"}, 0},
		{"the broker was killed before it was proven served, and the connection lost", []string{
			"+ 120 h fault kill broker-1 effective 9", "+ 145 h fault kill broker-1 ended 9", "+ 146 o1 connected"}, 0},
		{"the broker was killed when all of it was sent", []string{
			"+ 251 h fault kill broker-1 effective 9", "+ 290 h fault kill broker-1 ended 9", "+ 291 o1 connected"}, 1},
		{"the broker was paused", []string{"+ 200 h fault pause broker-1 effective 9", "+ 230 h fault pause broker-1 ended 9"}, 1},
		{"the finisher was killed before", []string{
			"+ 200 h fault kill consumer-ordered-1 effective 9", "+ 230 h fault kill consumer-ordered-1 ended 9", "+ 231 o1 started 2"}, 0},

		{"a clock stood still when it was served", []string{"+ 120 h fault clock-freeze broker-1 effective 9", "+ 154 h fault clock-freeze broker-1 ended 9"}, 0},
		{"a clock stood still within the ledger bound", []string{"+ 160 h fault clock-freeze broker-1 effective 9", "+ 235 h fault clock-freeze broker-1 ended 9"}, 0},
		{"a clock ran again for the ledger bound", []string{"+ 160 h fault clock-freeze broker-1 effective 9", "+ 229 h fault clock-freeze broker-1 ended 9"}, 1},
	} {
		v := judge(t, testConfig(), clean.edit(t, append(test.edits, again)...).events(t))
		if p := v.property(t, AckFinality); p.Total != test.total {
			t.Errorf("%s: %d violations, want %d\n%s", test.name, p.Total, test.total, explain(v))
		}
	}
}

// TestWhatBreaksFinality: with the whole proof, only a delivery that was sent
// after it is a breach.
func TestWhatBreaksFinality(t *testing.T) {
	for _, test := range []struct {
		name  string
		edits []string
		total int64
	}{
		{"after a reconnect", []string{"+ 604 o1 consume p1-1 @1 attempts=2"}, 1},
		{"each time", []string{"+ 604 o1 consume p1-1 @1 attempts=2", "+ 606 o1 consume p1-1 @1 attempts=3"}, 2},
		{"with attempts counted anew", []string{"+ 604 o1 consume p1-1 @1 attempts=1"}, 1},
		{"rebuilt from a state file", []string{"+ 604 o1 consume p1-1 @1 attempts=0 size=0 sum="}, 0},
		{"on the old connection, with nothing newer before it", []string{"+ 290 o1 consume p1-1 @1 attempts=2"}, 0},
		{"on the old connection, after a message sent before the proof", []string{
			"+ 257 p2 attempt 53 defer=1", "+ 288 p2 ack 53", "+ 289 o1 consume p2-53 @43", "+ 290 o1 consume p1-1 @1 attempts=2"}, 0},
		{"on the old connection, after a message sent after the proof", []string{
			"+ 287 p2 attempt 53 defer=1", "+ 288 p2 ack 53", "+ 289 o1 consume p2-53 @43", "+ 290 o1 consume p1-1 @1 attempts=2"}, 1},
		{"another copy of the message", []string{"+ 604 o1 consume p1-1 @77 attempts=1"}, 0},
		{"on a channel that has not finished it", []string{"+ 604 s1 consume p1-1 @1 attempts=2"}, 0},
	} {
		v := judge(t, testConfig(), clean.edit(t, test.edits...).events(t))
		if p := v.property(t, AckFinality); p.Total != test.total {
			t.Errorf("%s: %d violations, want %d\n%s", test.name, p.Total, test.total, explain(v))
		}
	}
}

// TestFinalityWithoutLeases: where leases never expire, no time limits the
// proof; where they do, the message timeout does.
func TestFinalityWithoutLeases(t *testing.T) {
	for timeout, total := range map[int64]int64{0: 1, 53e6: 0, 54e6: 1} {
		cfg := testConfig()
		cfg.MsgTimeout = timeout
		v := judge(t, cfg, clean.edit(t, "+ 604 o1 consume p1-1 @1 attempts=2").events(t))
		if p := v.property(t, AckFinality); p.Total != total {
			t.Errorf("message timeout of %d ns: %d violations, want %d\n%s", timeout, p.Total, total, explain(v))
		}
	}
}
