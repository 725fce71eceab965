package checker

import "testing"

// again is a message after the quiet window whose second consume on shared
// must be explained; the oddities add the cause.
var again = []string{
	"+ 6100 p1 attempt 70", "+ 6101 p1 ack 70",
	"+ 6102 o1 consume p1-70 @50", "+ 6103 s1 consume p1-70 @50",
	"+ 6120 s2 consume p1-70 @50 attempts=2",
}

// oddities are histories that look wrong and are not.
var oddities = []struct {
	name  string
	edits []string
}{
	{"a requeue explains a duplicate", append([]string{"+ 6104 s1 requeue p1-70 @50"}, again...)},
	{"an expired lease explains a duplicate", append([]string{
		"+ 6104 s1 tick", "- 6120 s2 consume p1-70 @50 attempts=2", "+ 11100 s2 consume p1-70 @50 attempts=2"}, again...)},
	{"a consumer's disconnect explains a duplicate", append([]string{"+ 6110 s1 disconnected"}, again...)},
	{"a consumer's restart explains a duplicate", append([]string{"+ 6110 s1 started 2"}, again...)},
	{"a consumer's orderly stop explains a duplicate", append([]string{"+ 6110 s1 stopped"}, again...)},
	{"a consumer's unasked exit explains a duplicate", append([]string{"+ 6110 h exited consumer-shared-1"}, again...)},
	{"a killed consumer explains a duplicate", append([]string{
		"+ 6110 h fault kill consumer-shared-1 effective 9", "+ 6150 h fault kill consumer-shared-1 ended 9"}, again...)},
	{"a paused consumer explains a duplicate", append([]string{
		"+ 6110 h fault pause consumer-shared-1 effective 9", "+ 6150 h fault pause consumer-shared-1 ended 9"}, again...)},
	{"a consumer paused since before the send explains a duplicate", append([]string{
		"+ 6090 h fault pause consumer-shared-2 effective 9", "+ 6119 h fault pause consumer-shared-2 ended 9"}, again...)},
	{"a killed broker explains a duplicate", append([]string{
		"+ 6110 h fault kill broker-1 effective 9", "+ 6119 h fault kill broker-1 ended 9"}, again...)},
	{"a broker paused since before the send explains a duplicate", append([]string{
		"+ 6090 h fault pause broker-1 effective 9", "+ 6150 h fault pause broker-1 ended 9"}, again...)},
	{"a broker's unasked exit explains a duplicate", append([]string{"+ 6110 h exited broker-1"}, again...)},
	{"a cause is recorded shortly after its consequence", append([]string{"+ 7100 s1 disconnected"}, again...)},
	{"one cause explains a duplicate of each of two messages", append([]string{
		"+ 6110 s1 disconnected", "+ 6121 s2 consume p1-7 @12 attempts=2"}, again...)},

	{"a requeued message is passed by others", []string{
		"+ 2513 o1 requeue p1-6 @10", "+ 2700 o1 consume p1-6 @10 attempts=2"}},
	{"a message requeued three times comes four times", []string{
		"+ 2513 s1 requeue p1-6 @10", "+ 2520 s1 consume p1-6 @10 attempts=2",
		"+ 2521 s1 requeue p1-6 @10", "+ 2530 s2 consume p1-6 @10 attempts=3",
		"+ 2531 s2 requeue p1-6 @10", "+ 2540 s2 consume p1-6 @10 attempts=4"}},
	{"a consumer is killed after the handler and before the finish", []string{
		"+ 1050 o1 consume p2-5 @9", "- 1110 p2 attempt 5", "+ 1040 p2 attempt 5", "- 1210 o1 consume p2-5 @9",
		"+ 1210 o1 consume p2-5 @9 attempts=2"}},
	{"a consumer is killed between state line and history line", []string{
		"- 1210 o1 consume p2-5 @9", "+ 1202 o1 consume p2-5 @9 attempts=0 size=0 sum=", "+ 1203 o1 replayed",
		"+ 1210 o1 consume p2-5 @9 attempts=2"}},
	{"the other consumer has the message before its first consume is rebuilt", append([]string{
		"- 6103 s1 consume p1-70 @50", "+ 6105 h fault kill consumer-shared-1 effective 9",
		"+ 6150 h fault kill consumer-shared-1 ended 9", "+ 6151 s1 started 2",
		"+ 6152 s1 consume p1-70 @50 attempts=0 size=0 sum=", "+ 6153 s1 replayed"}, again...)},
	{"two consumers of one channel are out of order", []string{
		"- 2512 s1 consume p1-6 @10", "+ 2613 s1 consume p1-6 @10"}},
	{"a first delivery never reached a handler and the second comes late", []string{
		"- 1005 o1 consume p1-4 @6", "+ 1008 o1 consume p1-4 @6 attempts=2"}},
	{"two sends overlap and land the other way round", []string{
		"- 695 p1 ack 4", "+ 697 p1 ack 4", "- 1005 o1 consume p1-4 @6", "+ 1008 o1 consume p1-4 @6"}},
	{"an ack and the next send bear one time", []string{
		"- 695 p1 ack 4", "+ 696 p1 ack 4", "- 1005 o1 consume p1-4 @6", "+ 1008 o1 consume p1-4 @6"}},
	{"two partitions keep no common order", []string{
		"- 1005 o1 consume p1-4 @6", "+ 1008 o1 consume p1-4 @2:6", "- 1006 s1 consume p1-4 @6", "+ 1006 s1 consume p1-4 @2:6"}},

	{"an unknown send lands late", []string{
		"- 620 o1 consume p2-2 @4", "+ 7100 o1 consume p2-2 @44", "- 621 s2 consume p2-2 @4", "+ 7101 s2 consume p2-2 @44"}},
	{"an unknown send is retried and both copies are seen, the first one late", []string{
		"+ 395 p2 attempt 2", "+ 396 p2 fail 2", "+ 610 p2 attempt 2", "+ 612 p2 ack 2",
		"+ 7100 o1 consume p2-2 @44", "+ 7101 s2 consume p2-2 @44"}},
	{"an unknown send is retried, acked, and only the late copy is first on one channel", []string{
		"+ 601 p2 attempt 2", "+ 602 p2 ack 2", "- 620 o1 consume p2-2 @4",
		"+ 7100 o1 consume p2-2 @44", "+ 7101 s2 consume p2-2 @44", "+ 7102 o1 consume p2-2 @4 attempts=2"}},
	{"an unknown send was given up and is seen later", []string{
		"+ 395 p2 gave-up 2"}},
	{"an unknown send turns out acked", []string{"+ 630 p2 ack 2"}},
	{"an unknown send turns out refused and is never seen", []string{
		"+ 6100 p2 attempt 70", "+ 6200 p2 unknown 70", "+ 6300 p2 fail 70"}},
	{"a send cut short by a kill is never seen", []string{
		"- 1009 o1 consume p1-5 @8", "- 1010 s1 consume p1-5 @8"}},
	{"a consume is stamped before the ack", []string{
		"- 2510 p1 ack 6", "+ 2600 p1 ack 6"}},
	{"an acked message is still stored for a channel at the end", []string{
		"- 1006 s1 consume p1-4 @6", "+ 8600 h stored shared p1-4"}},
	{"a message that was given back is still stored at the end", []string{
		"+ 2513 s1 requeue p1-6 @10", "+ 8600 h stored shared p1-6"}},
	{"finishes are repeated, or of nothing", []string{
		"+ 8700 s1 finish p1-1 @1", "+ 8701 s1 finish p1-99 @99"}},

	{"a fault ends only inside the quiet window", []string{
		"+ 1900 h fault pause broker-1 effective 9", "+ 3500 h fault pause broker-1 ended 9",
		"- 2510 p1 ack 6", "+ 3600 p1 ack 6",
		"+ 4000 p1 attempt 60", "+ 4001 p1 ack 60", "+ 4002 o1 consume p1-60 @60", "+ 4003 s1 consume p1-60 @60",
		"+ 4000 p2 attempt 60", "+ 4001 p2 ack 60", "+ 4004 o1 consume p2-60 @61", "+ 4005 s1 consume p2-60 @61"}},
	{"a send starts too late in the window to need an ack in it", []string{
		"+ 5500 p1 attempt 60", "+ 6900 p1 unknown 60"}},
	{"a send of the window fails at first and succeeds within the bound", []string{
		"- 2610 p2 ack 6", "+ 2610 p2 fail 6", "+ 3500 p2 attempt 6", "+ 3590 p2 ack 6",
		"- 2611 o1 consume p2-6 @11", "- 2612 s2 consume p2-6 @11", "+ 3591 o1 consume p2-6 @11", "+ 3592 s2 consume p2-6 @11",
		"- 3000 p1 attempt 7", "+ 3560 p1 attempt 7", "- 3010 p1 ack 7", "+ 3561 p1 ack 7",
		"- 3011 o1 consume p1-7 @12", "+ 3593 o1 consume p1-7 @12", "- 3012 s1 consume p1-7 @12", "+ 3593 s1 consume p1-7 @12"}},
	{"a backlog goes before the window's own messages", []string{
		"- 1006 s1 consume p1-4 @6", "+ 3400 s1 consume p1-4 @6", "- 2512 s1 consume p1-6 @10", "+ 4300 s1 consume p1-6 @10"}},
	{"an older message follows a late one of the window", []string{
		"- 1006 s1 consume p1-4 @6", "+ 3700 s1 consume p1-4 @6", "- 2512 s1 consume p1-6 @10", "+ 3600 s1 consume p1-6 @10"}},
	{"a backlog outlasts the window and is worked off steadily", []string{
		"- 104 s1 consume p1-1 @1", "+ 3100 s1 consume p1-1 @1 attempts=2",
		"- 611 s1 consume p1-2 @3", "- 612 s1 finish p1-2 @3", "+ 4100 s1 consume p1-2 @3",
		"- 1006 s1 consume p1-4 @6", "+ 5500 s1 consume p1-4 @6",
		"- 2512 s1 consume p1-6 @10", "+ 6300 s1 consume p1-6 @10"}},
}

func TestLegalOdditiesRaiseNothing(t *testing.T) {
	for _, test := range oddities {
		t.Run(test.name, func(t *testing.T) {
			// Additions first, so that an edit may take one of them out again.
			var additions, removals []string
			for _, e := range test.edits {
				if e[0] == '+' {
					additions = append(additions, e)
				} else {
					removals = append(removals, e)
				}
			}
			v := judge(t, testConfig(), clean.edit(t, append(additions, removals...)...).events(t))
			for _, p := range v.Properties {
				if p.Status != Pass {
					t.Errorf("%s: %s", p.Slug, p.Status)
				}
			}
			if t.Failed() {
				t.Log(explain(v))
			}
		})
	}
}

// TestOdditiesNeedTheirCause: without its cause each explained duplicate is a
// violation, and a cause that is over before the send, too late, or of another
// channel explains nothing.
func TestOdditiesNeedTheirCause(t *testing.T) {
	for name, edits := range map[string][]string{
		"no cause":                          nil,
		"requeue of another position":       {"+ 6104 s1 requeue p1-70 @51"},
		"requeue on another channel":        {"+ 6104 o1 requeue p1-70 @50"},
		"disconnect on another channel":     {"+ 6110 o1 disconnected"},
		"disconnect of a producer":          {"+ 6110 p1 disconnected"},
		"disconnect over before the send":   {"+ 6099 s1 disconnected"},
		"disconnect long after the consume": {"+ 7121 s1 disconnected"},
		"broker fault over before the send": {"+ 6050 h fault kill broker-1 effective 9", "+ 6099 h fault kill broker-1 ended 9"},
		"fault on a producer":               {"+ 6110 h fault kill producer-2 effective 9", "+ 6150 h fault kill producer-2 ended 9"},
		"first start of a consumer":         {"+ 6110 s1 started 1"},
	} {
		v := judge(t, testConfig(), clean.edit(t, append(edits, again...)...).events(t))
		if p := v.property(t, DeliveryGuarantee); p.Total != 1 {
			t.Errorf("%s: want one violation, got %s", name, explain(v))
		}
	}
}
