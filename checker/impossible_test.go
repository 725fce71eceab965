package checker

import (
	"strings"
	"testing"

	"pestle/history"
)

// TestImpossibleHistoriesAreRefused: what cannot be true is the harness's
// fault, and is said so at the first line that shows it.
func TestImpossibleHistoriesAreRefused(t *testing.T) {
	for _, test := range []struct {
		name  string
		want  string
		edits []string
	}{
		{"ack of what was never sent", "producer-1-99 was never attempted", []string{"+ 3500 p1 ack 99"}},
		{"fail of what was never sent", "producer-1-99 was never attempted", []string{"+ 3500 p1 fail 99"}},
		{"ack twice", "producer-1-6 was acked before", []string{"+ 3500 p1 ack 6"}},
		{"ack twice before it is consumed", "try 1 had its outcome before", []string{"+ 696 p1 ack 4"}},
		{"ack after a sure failure", "try 1 had its outcome before", []string{"+ 312 p1 ack 3"}},
		{"failure after an ack", "try 1 had its outcome before", []string{"+ 696 p1 fail 4"}},
		{"unknown twice", "try 1 had its outcome before", []string{"+ 391 p2 unknown 2"}},
		{"ack of a later try than was sent", "try 2 was never started", []string{"- 695 p1 ack 4", "+ 695 p1 ack 4 try=2"}},
		{"ack on another topic", `it was sent to topic "orders", not "invoices"`, []string{"- 695 p1 ack 4", "+ 695 p1 ack 4 topic=invoices"}},
		{"attempt after the ack", "producer-1-6 was acked before", []string{"+ 3500 p1 attempt 6 try=2"}},
		{"attempt after the ack, before it is consumed", "producer-1-4 was acked before", []string{"+ 696 p1 attempt 4"}},
		{"attempt while one is open", "try 1 has no outcome yet", []string{"+ 295 p2 attempt 2"}},
		{"attempt after giving up", "producer-2-2 was given up before", []string{"+ 395 p2 gave-up 2", "+ 460 p2 attempt 2"}},
		{"attempt with a wrong number", "try 3 cannot follow try 1", []string{"- 450 p2 attempt 3", "+ 450 p2 attempt 3 try=3"}},
		{"more tries than planned", "try 4, but the plan allows 3", []string{"- 502 p2 gave-up 3", "+ 503 p2 attempt 3"}},
		{"attempt with other content", "its content was", []string{"- 450 p2 attempt 3", "+ 450 p2 attempt 3 sum=00ff"}},
		{"attempt on another topic", `its topic was "orders" and is "invoices"`, []string{"- 450 p2 attempt 3", "+ 450 p2 attempt 3 topic=invoices"}},
		{"another deferral", "its deferral was 0 ns and is 5000000 ns", []string{"- 450 p2 attempt 3", "+ 450 p2 attempt 3 defer=5"}},
		{"attempt without topic", "an attempt needs a topic", []string{"+ 3500 p1 attempt 70 topic="}},
		{"attempt of another's id", "producer-2-70 is not an id of producer-1", []string{"+ 3500 p1 attempt 70 id=producer-2-70"}},
		{"attempt of no id", `"seven" is no id`, []string{"+ 3500 p1 attempt 70 id=seven"}},
		{"attempt of counter nought", `"producer-1-0" is no id`, []string{"+ 3500 p1 attempt 0"}},
		{"attempt by an unknown producer", "the plan has no producer producer-9", []string{"+ 3500 p1 attempt 70 id=producer-9-1 src=producer-9"}},
		{"giving up what was acked", "producer-1-6 was acked or never attempted", []string{"+ 3500 p1 gave-up 6"}},
		{"giving up what was never sent", "producer-1-99 was acked or never attempted", []string{"+ 3500 p1 gave-up 99"}},
		{"sentinel that is not acked", "producer-1-5 is not acked", []string{"+ 8300 p1 sentinel 5"}},

		{"unknown channel", "the plan has no channel orders/lost", []string{"+ 3500 o1 consume p1-6 @10 channel=lost"}},
		{"unknown topic", "the plan has no channel invoices/ordered", []string{"+ 3500 o1 finish p1-6 @10 topic=invoices"}},
		{"consumer of another channel", "the plan has no consumer consumer-shared-1 on orders/ordered", []string{"+ 3500 s1 requeue p1-6 @10 channel=ordered"}},
		{"consumer in another's name", "it names the consumer consumer-shared-2", []string{"+ 3500 s1 consume p1-6 @10 consumer=consumer-shared-2"}},
		{"consume without checksum", "a message consumed live needs a checksum", []string{"+ 3500 s1 consume p1-6 @10 sum="}},
		{"drain of an unknown channel", "the plan has no channel orders/lost", []string{"+ 8502 h drained lost"}},
		{"backlog of an unknown channel", "the plan has no channel orders/lost", []string{"+ 8502 h backlog lost"}},
		{"forgotten by a consumer of another channel", "the plan has no consumer consumer-shared-1 on orders/ordered", []string{"+ 3500 s1 forgot p1-6 @10 channel=ordered"}},
		{"overrun of a consumer of another channel", "the plan has no consumer consumer-shared-1 on orders/ordered", []string{"+ 3500 s1 overrun p1-6 @10 channel=ordered"}},
		{"stored for an unknown channel", "the plan has no channel orders/lost", []string{"+ 8502 h stored lost p1-6"}},

		{"quiet within quiet", "the quiet window before has not ended", []string{"+ 3500 h phase quiet"}},
		{"end of no quiet window", "no quiet window has begun", []string{"+ 6001 h phase quiet-end"}},
		{"heal within quiet", "the quiet window has not ended", []string{"- 6000 h phase quiet-end"}},
		{"unknown phase", "there is no such phase", []string{"+ 3500 h phase lunch"}},
		{"fault twice", "fault 1 on broker-1 took effect before and has not ended", []string{"+ 400 h fault kill broker-1 effective 1"}},
		{"fault ended without effect", "fault 9 on broker-1 never took effect", []string{"+ 400 h fault kill broker-1 ended 9"}},
		{"fault with a strange edge", `there is no edge "asked" of a fault`, []string{"+ 400 h fault kill broker-1 asked 9"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := New(testConfig())
			var err error
			for _, e := range clean.edit(t, test.edits...).events(t) {
				if err = c.Observe(e); err != nil {
					break
				}
			}
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got error %v, want one that says %q", err, test.want)
			}
		})
	}
}

// TestEventsMustBeInOrder is about time and line numbers, whatever the events.
func TestEventsMustBeInOrder(t *testing.T) {
	tick := func(src string, seq uint64, t int64) history.Event {
		return history.Event{Seq: seq, T: t, Src: src, Ev: history.Note, What: history.NoteTick}
	}
	for _, test := range []struct {
		name   string
		events []history.Event
		want   string // empty: allowed
	}{
		{"one after another", []history.Event{tick("a", 1, 5), tick("b", 1, 5), tick("b", 2, 5), tick("a", 2, 6)}, ""},
		{"time goes back", []history.Event{tick("a", 1, 5), tick("b", 1, 4)}, "do not come after line 1 of a at 5"},
		{"sources of one time swapped", []history.Event{tick("b", 1, 5), tick("a", 1, 5)}, "do not come after line 1 of b"},
		{"line repeated", []history.Event{tick("a", 1, 5), tick("a", 1, 6)}, "line 1 of this source came before"},
		{"line number goes back", []history.Event{tick("a", 1, 5), tick("a", 2, 6), tick("a", 1, 7)}, "line 2 of this source came before"},
		{"line number nought", []history.Event{tick("a", 0, 5)}, "a number from 1"},
		{"no source", []history.Event{tick("", 1, 5)}, "a line needs a source"},
		{"no such event", []history.Event{{Seq: 1, T: 1, Src: "a", Ev: "sneeze"}}, "there is no such event"},
	} {
		c := New(testConfig())
		var err error
		for _, e := range test.events {
			if err = c.Observe(e); err != nil {
				break
			}
		}
		switch {
		case test.want == "" && err != nil:
			t.Errorf("%s: refused: %v", test.name, err)
		case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
			t.Errorf("%s: got error %v, want one that says %q", test.name, err, test.want)
		}
	}
}

// TestErrorsSayWhereAndWhat pins the form: line, source, event, reason, and
// whose fault it is.
func TestErrorsSayWhereAndWhat(t *testing.T) {
	err := New(testConfig()).Observe(history.Event{Seq: 1, T: 1, Src: "producer-1", Ev: history.Ack, ID: "producer-1-7"})
	const want = "judge line 1 of producer-1 (ack producer-1-7): producer-1-7 was never attempted; the recorder or the file of producer-1 is at fault, not the target"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}
