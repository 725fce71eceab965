package checker

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestMissingExposureIsInconclusive takes from the clean run what one property
// or the run needs, and nothing else.
func TestMissingExposureIsInconclusive(t *testing.T) {
	const run = "" // the run as a whole is too weak, but every property passes
	for _, test := range []struct {
		name   string
		slug   string
		reason string
		edits  []string
		config func(*Config)
	}{
		{"sentinel not consumed", NoDataLoss, "the drain of orders/shared did not reach the end: the last message of producer-1 was not consumed",
			[]string{"- 8113 s1 consume p1-8 @13"}, nil},
		{"no sentinel", NoDataLoss, "the last message of producer-2 was not consumed",
			[]string{"- 8211 p2 sentinel 7"}, nil},
		{"statistics empty only before the sentinel", NoDataLoss, "its statistics never showed it empty after the last sentinel",
			[]string{"- 8500 h drained ordered", "+ 8211 h drained ordered"}, nil},
		{"a message missing and no proof", NoDataLoss, "did not reach the end",
			[]string{"- 1005 o1 consume p1-4 @6", "- 8500 h drained ordered", "+ 8211 h drained ordered"}, nil},
		{"a send after the proof", NoDataLoss, "the last message of producer-1 was not consumed",
			[]string{"+ 8600 p1 attempt 9"}, nil},
		{"a new sentinel after the proof", NoDataLoss, "its statistics never showed it empty after the last sentinel",
			[]string{"+ 8600 p1 attempt 9", "+ 8601 p1 ack 9", "+ 8602 p1 sentinel 9", "+ 8603 o1 consume p1-9 @15", "+ 8604 s1 consume p1-9 @15"}, nil},
		{"a fault kind without effect", NoDataLoss, "no fault of kind stop took effect",
			nil, func(c *Config) { c.FaultKinds = append(c.FaultKinds, "stop") }},
		{"a fault kind with nothing in flight", NoDataLoss, "no acked message was in flight or stored during a stop",
			[]string{"+ 7200 h fault stop broker-1 effective 9", "+ 7300 h fault stop broker-1 ended 9"},
			func(c *Config) { c.FaultKinds = append(c.FaultKinds, "stop") }},

		{"no small message", NoDataCorruption, "no message near the smallest size",
			nil, func(c *Config) { c.MinSize = -9000 }},
		{"no large message", NoDataCorruption, "no message near the largest size",
			nil, func(c *Config) { c.MaxSize = 9000 }},

		{"one producer silent in the window", ProducerProgress, "producer-2 started no send early enough in any quiet window",
			[]string{"- 2600 p2 attempt 6", "+ 1990 p2 attempt 6"}, nil},
		{"one producer sends too late in the window", ProducerProgress, "producer-2 started no send early enough in any quiet window",
			[]string{"- 2600 p2 attempt 6", "- 2610 p2 ack 6", "- 2611 o1 consume p2-6 @11", "- 2612 s2 consume p2-6 @11",
				"+ 5001 p2 attempt 6", "+ 6002 p2 ack 6", "+ 6003 o1 consume p2-6 @11", "+ 6004 s1 consume p2-6 @11"}, nil},

		{"no finish is proven durable", AckFinality, "no finish was proven to be durable",
			[]string{"- 103 o1 finish p1-1 @1"}, nil},
		{"no finish is proven durable before a broker ended", AckFinality, "no finish was proven to be durable before its broker ended or another took over",
			[]string{"- 103 o1 finish p1-1 @1", "+ 1211 o1 finish p2-5 @9"}, nil},
		{"no window was ever full", FlowControl, "no consumer ever held as many deliveries as its RDY allows",
			[]string{"+ 287 p1 attempt 53 defer=1", "+ 288 p1 ack 53", "+ 289 o1 consume p1-53 @43", "+ 289 s1 consume p1-53 @43",
				"+ 290 p1 attempt 55 defer=1", "+ 291 p1 ack 55", "+ 292 o1 consume p1-55 @45", "+ 292 s1 consume p1-55 @45"},
			func(c *Config) { c.Ready["consumer-ordered-1"] = 2 }},
		{"nothing was to be held back", NotEarly, "nothing that was to be held back was delivered and could be judged",
			[]string{"- 160 p2 attempt 51 defer=100", "+ 160 p2 attempt 51", "- 265 o1 consume p2-51 @41", "+ 165 o1 consume p2-51 @41"}, nil},
		{"a clock was wrong", NotEarly, "nothing that was to be held back was delivered and could be judged",
			[]string{"+ 155 h fault clock-jump broker-1 effective 9", "+ 161 h fault clock-jump broker-1 ended 9"}, nil},

		{"warm-up short of its floor", run, "the warm-up reached only 4 of 5 acks",
			nil, func(c *Config) { c.WarmUpFloor = 5 }},
		{"warm-up never ended", run, "the warm-up never ended",
			[]string{"- 200 h phase chaos"}, nil},
		{"a consume before its attempt", run, "the times of the history contradict each other: 1 consume came before the attempt",
			[]string{"- 2611 o1 consume p2-6 @11", "+ 1300 o1 consume p2-6 @11"}, nil},
		{"an unknown claim", run, "claim no-such-claim was not reached",
			nil, func(c *Config) { c.Claims = []string{ClaimGaveUp, "no-such-claim"} }},
		{"an unknown property", run, `property "no-such-thing" is not in the catalog`,
			nil, func(c *Config) { c.Required = []string{NoDataLoss, "no-such-thing"} }},
	} {
		t.Run(test.name, func(t *testing.T) {
			cfg := testConfig()
			if test.config != nil {
				test.config(&cfg)
			}
			if test.slug != run && !slices.Contains(Core(), test.slug) {
				cfg.Required = append(Core(), test.slug)
			}
			v := judge(t, cfg, clean.edit(t, test.edits...).events(t))
			for _, p := range v.Properties {
				want := Pass
				if p.Slug == test.slug {
					want = Inconclusive
				}
				if p.Status != want {
					t.Errorf("%s: %s (%s), want %s", p.Slug, p.Status, p.Reason, want)
				}
			}
			if v.Status != Inconclusive || !strings.Contains(v.Reason, test.reason) {
				t.Errorf("run: %s (%s), want inconclusive (%s)", v.Status, v.Reason, test.reason)
			}
		})
	}
}

// TestExposureOfCleanRun spells out what was tested, in words.
func TestExposureOfCleanRun(t *testing.T) {
	v := judge(t, testConfig(), clean.events(t))
	want := map[string]Exposure{
		NoDataCorruption: {
			"messages checked": 37, "messages without a checksum": 0,
			"messages of the least sizes": 8, "messages of the largest sizes": 2,
		},
		NoPhantomMessages: {"messages consumed": 37},
		MessageOrdering:   {"first deliveries compared": 17, "faults that separated an ordered pair": 3},
		NoDataLoss: {
			"messages acked": 16, "messages seen still stored": 0, "acked messages passed over so far": 0,
			"channels proven drained":                         2,
			"acked messages in flight or stored during kill":  5,
			"acked messages in flight or stored during pause": 2,
		},
		ProducerProgress: {"quiet windows after a fault": 1, "windows with sends, over all producers": 2},
		ConsumerProgress: {
			"quiet windows after a fault": 1, "messages of a window consumed in time": 6,
			"windows that a backlog outlasted": 0,
		},
		DeliveryGuarantee: {
			"messages consumed": 37, "retries": 3, "second positions of an id": 0,
			"duplicates consumed": 1, "duplicates explained": 1,
		},
		AckFinality: {"finishes proven durable": 1, "finishes proven durable before their broker ended or another took over": 1},
		Drain:       {"channels drained": 2},
		FlowControl: {"deliveries counted by their client": 37, "deliveries that filled the window": 18},
		NotEarly: {
			"deferred deliveries judged": 2, "deliveries after a delayed requeue judged": 0,
			"deliveries exempt for a wrong clock or a fault": 0,
		},
		Invariants: {"clusters watched from inside": 1},
	}
	got := map[string]Exposure{}
	for _, p := range v.Properties {
		got[p.Slug] = p.Exposure
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestExposureOfOneMessage adds a message to the clean run, after its faults.
func TestExposureOfOneMessage(t *testing.T) {
	const during = "acked messages in flight or stored during pause"
	pause := []string{"+ 7200 h fault pause broker-1 effective 9", "+ 7300 h fault pause broker-1 ended 9"}
	message := func(sent, acked, ordered, shared string) []string {
		return []string{"+ " + sent + " p1 attempt 70", "+ " + acked + " p1 ack 70",
			"+ " + ordered + " o1 consume p1-70 @70", "+ " + shared + " s1 consume p1-70 @70"}
	}
	for _, test := range []struct {
		name  string
		edits []string
		slug  string
		entry string
		more  int64 // than in the clean run
	}{
		{"over before the fault", append(message("7100", "7110", "7120", "7199"), pause...), NoDataLoss, during, 0},
		{"sent before and consumed during the fault", append(message("7100", "7110", "7120", "7201"), pause...), NoDataLoss, during, 1},
		{"acked last, during the fault", append(message("7100", "7201", "7120", "7130"), pause...), NoDataLoss, during, 1},
		{"all of it during the fault", append(message("7210", "7220", "7230", "7240"), pause...), NoDataLoss, during, 1},
		{"sent during and consumed after the fault", append(message("7299", "7310", "7320", "7330"), pause...), NoDataLoss, during, 1},
		{"sent after the fault", append(message("7301", "7310", "7320", "7330"), pause...), NoDataLoss, during, 0},
		{"never acked", []string{"+ 7100 p1 attempt 70", "+ 7220 o1 consume p1-70 @70", pause[0], pause[1]}, NoDataLoss, during, 0},
		{"never consumed", []string{"+ 7100 p1 attempt 70", "+ 7110 p1 ack 70", pause[0], pause[1]}, NoDataLoss, during, 1},

		{"in a window", message("5500", "5501", "5502", "5503"), ConsumerProgress, "messages of a window consumed in time", 2},
		{"in a window, consumed before the ack", message("5500", "5503", "5501", "5502"), ConsumerProgress, "messages of a window consumed in time", 2},
		{"in a window, deferred, consumed before the ack", []string{"+ 5500 p1 attempt 70 defer=1", "+ 5501 o1 consume p1-70 @70",
			"+ 5502 s1 consume p1-70 @70", "+ 5503 p1 ack 70"}, ConsumerProgress, "messages of a window consumed in time", 0},
		{"in a window, on one channel after it", message("5500", "5501", "5502", "6100"), ConsumerProgress, "messages of a window consumed in time", 1},
	} {
		before := judge(t, testConfig(), clean.events(t)).property(t, test.slug).Exposure[test.entry]
		after := judge(t, testConfig(), clean.edit(t, test.edits...).events(t)).property(t, test.slug).Exposure[test.entry]
		if after-before != test.more {
			t.Errorf("%s: %s went from %d to %d, want %d more", test.name, test.entry, before, after, test.more)
		}
	}
}

// TestWindows is about when liveness is judged at all.
func TestWindows(t *testing.T) {
	for _, test := range []struct {
		name   string
		edits  []string
		config func(*Config)
		status Status // of both liveness properties
	}{
		{"no window", []string{"- 2000 h phase quiet", "- 6000 h phase quiet-end"}, nil, Inconclusive},
		{"window not over", []string{"- 6000 h phase quiet-end", "- 7000 h phase heal", "- 8000 h phase drain",
			"- 9000 h phase verify", "- 9100 h phase end"}, nil, Inconclusive},
		{"interrupted in the window", []string{"- 6000 h phase quiet-end", "- 7000 h phase heal", "- 8000 h phase drain",
			"- 9000 h phase verify"}, nil, Inconclusive},
		{"fault inside the window", []string{"+ 2100 h fault kill broker-1 effective 9", "+ 2200 h fault kill broker-1 ended 9"}, nil, Inconclusive},
		{"fault throughout the window", []string{"+ 1900 h fault kill broker-1 effective 9", "+ 6100 h fault kill broker-1 ended 9"}, nil, Inconclusive},
		{"recovery bound not known", nil, func(c *Config) { c.Recovery = 0 }, Inconclusive},
		{"a second window", []string{"+ 6100 h phase quiet", "+ 6900 h phase quiet-end"}, nil, Pass},
	} {
		cfg := testConfig()
		if test.config != nil {
			test.config(&cfg)
		}
		v := judge(t, cfg, clean.edit(t, test.edits...).events(t))
		for _, slug := range []string{ProducerProgress, ConsumerProgress} {
			if p := v.property(t, slug); p.Status != test.status {
				t.Errorf("%s: %s is %s, want %s: %s", test.name, slug, p.Status, test.status, explain(v))
			}
		}
	}
}

func TestWindowBeforeAnyFaultProvesNothing(t *testing.T) {
	const calm script = `
		100 h  phase chaos
		200 h  phase quiet
		300 p1 attempt 1
		301 p1 ack 1
		302 o1 consume p1-1 @1
		303 s1 consume p1-1 @1
		3000 h phase quiet-end`
	v := judge(t, testConfig(), calm.events(t))
	for _, slug := range []string{ProducerProgress, ConsumerProgress} {
		if p := v.property(t, slug); p.Status != Inconclusive || p.Exposure["quiet windows after a fault"] != 0 {
			t.Errorf("%s: %s with %v, want inconclusive without a window", slug, p.Status, p.Exposure)
		}
	}
}

// TestBacklogMustMoveInEachQuarter: the window is 2 s to 6 s and the recovery
// bound 1 s, so that the first quarter counts too.
func TestBacklogMustMoveInEachQuarter(t *testing.T) {
	backlog := []string{
		"- 104 s1 consume p1-1 @1", "+ 3100 s1 consume p1-1 @1 attempts=2",
		"- 611 s1 consume p1-2 @3", "- 612 s1 finish p1-2 @3", "+ 4100 s1 consume p1-2 @3",
		"- 1006 s1 consume p1-4 @6", "+ 5500 s1 consume p1-4 @6",
		"- 2512 s1 consume p1-6 @10", "+ 6300 s1 consume p1-6 @10",
	}
	for _, test := range []struct {
		name   string
		edits  []string
		detail string // of the violation; empty: none
	}{
		{"it moves in each", nil, ""},
		{"nothing in the first", []string{"- 2612 s2 consume p2-6 @11", "+ 3050 s2 consume p2-6 @11"}, "consumed nothing between +2.000000s and +3.000000s"},
		{"nothing in the third", []string{"- 4100 s1 consume p1-2 @3", "+ 5400 s1 consume p1-2 @3"}, "consumed nothing between +4.000000s and +5.000000s"},
		{"nothing in the second", []string{
			"- 3012 s1 consume p1-7 @12", "+ 4012 s1 consume p1-7 @12", "- 3100 s1 consume p1-1 @1 attempts=2", "+ 4013 s1 consume p1-1 @1 attempts=2"}, "consumed nothing between +3.000000s and +4.000000s"},
		{"nothing in the last, but no backlog either", []string{"- 5500 s1 consume p1-4 @6", "+ 4900 s1 consume p1-4 @6", "- 6300 s1 consume p1-6 @10", "+ 4950 s1 consume p1-6 @10"}, ""},
	} {
		s := clean.edit(t, "+ 2999 s1 tick")
		for _, edits := range [][]string{backlog, test.edits} {
			s = s.edit(t, edits...)
		}
		v := judge(t, testConfig(), s.events(t))
		p := v.property(t, ConsumerProgress)
		switch {
		case test.detail == "" && p.Status != Pass:
			t.Errorf("%s: want pass, got %s", test.name, explain(v))
		case test.detail != "" && (p.Total != 1 || !strings.Contains(p.Violations[0].Detail, test.detail)):
			t.Errorf("%s: want one violation that says %q, got %s", test.name, test.detail, explain(v))
		}
	}
}

// TestAtMostOnce: producers that never retry need neither a retry nor a
// duplicate, and an id may hold one position.
func TestAtMostOnce(t *testing.T) {
	cfg := testConfig()
	cfg.AtMostOnce, cfg.MaxTries = true, 1
	cfg.Claims = []string{ClaimUnknownLaterSeen, ClaimConsumerResumed, ClaimProducerKilledBetween}
	once := clean.edit(t,
		"- 450 p2 attempt 3", "- 451 p2 fail 3", "- 500 p2 attempt 3", "- 501 p2 fail 3", "- 502 p2 gave-up 3",
		"- 310 p1 attempt 3", "- 311 p1 fail 3", "- 605 s2 consume p1-1 @1 attempts=2")
	if v := judge(t, cfg, once.events(t)); v.Status != Pass {
		t.Errorf("want pass, got %s", explain(v))
	}
	twice := once.edit(t, "+ 622 s2 consume p2-2 @44")
	wantOnly(t, judge(t, cfg, twice.events(t)), DeliveryGuarantee)
}

func TestLossInOneChannelOutranksAnUnprovenDrainOfAnother(t *testing.T) {
	v := judge(t, testConfig(), clean.edit(t, "- 1005 o1 consume p1-4 @6", "- 8501 h drained shared").events(t))
	p := v.property(t, NoDataLoss)
	if p.Status != Fail || p.Total != 1 || p.Exposure["channels proven drained"] != 1 {
		t.Errorf("want one loss and one proven channel, got %s", explain(v))
	}
	const later = "producer-2-7, sent after its ack, was delivered there"
	if !strings.Contains(p.Violations[0].Detail, later) {
		t.Errorf("detail %q does not name what passed it", p.Violations[0].Detail)
	}
}

func TestSuspectsAreCountedBeforeTheDrain(t *testing.T) {
	v := judge(t, testConfig(), clean.edit(t, "- 1005 o1 consume p1-4 @6", "- 8500 h drained ordered").events(t))
	if p := v.property(t, NoDataLoss); p.Exposure["acked messages passed over so far"] != 1 || p.Status != Inconclusive {
		t.Errorf("want one suspect and no verdict, got %s", explain(v))
	}
	v = judge(t, testConfig(), clean.edit(t, "- 690 p1 attempt 4", "+ 690 p1 attempt 4 defer=1", "- 1005 o1 consume p1-4 @6", "- 8500 h drained ordered").events(t))
	if p := v.property(t, NoDataLoss); p.Exposure["acked messages passed over so far"] != 0 {
		t.Errorf("a deferred message may be passed, got %s", explain(v))
	}
}

// TestClaims: each edit takes one situation away, and only its claim with it.
func TestClaims(t *testing.T) {
	for claim, edits := range map[string][]string{
		ClaimRetriedFailedSend: {"- 450 p2 attempt 3", "- 451 p2 fail 3", "- 500 p2 attempt 3", "- 501 p2 fail 3", "- 502 p2 gave-up 3",
			"- 310 p1 attempt 3", "- 311 p1 fail 3", "+ 6500 p1 gave-up 5"},
		ClaimGaveUp:            {"- 500 p2 attempt 3", "- 501 p2 fail 3"},
		ClaimDuplicateConsumed: {"- 605 s2 consume p1-1 @1 attempts=2"},
		ClaimUnknownLaterSeen:  {"- 390 p2 unknown 2"},
		ClaimConsumerResumed: {"- 1100 h fault kill consumer-ordered-1 effective 4", "- 1200 h fault kill consumer-ordered-1 ended 4",
			"+ 1100 h fault stop consumer-ordered-1 effective 4", "+ 1200 h fault stop consumer-ordered-1 ended 4"},
		ClaimProducerKilledBetween: {"- 800 h fault kill producer-1 effective 3", "- 900 h fault kill producer-1 ended 3",
			"+ 800 h fault stop producer-1 effective 3", "+ 900 h fault stop producer-1 ended 3", // leaves a try open, and
			"+ 7200 h fault kill producer-1 effective 9", "+ 7300 h fault kill producer-1 ended 9"}, // the next one none
	} {
		v := judge(t, testConfig(), clean.edit(t, edits...).events(t))
		for _, c := range v.Claims {
			gone := c.Name == claim || claim == ClaimRetriedFailedSend && c.Name == ClaimGaveUp
			if c.Reached == gone {
				t.Errorf("without %s: claim %s is met %d times", claim, c.Name, c.Count)
			}
		}
		if v.Status != Inconclusive || !strings.Contains(v.Reason, "claim "+claim+" was not reached") {
			t.Errorf("without %s: %s (%s)", claim, v.Status, v.Reason)
		}
	}
}

// TestClaimsAreNotMetByLess: what looks like one of the situations and is not
// adds nothing to the count of the clean run.
func TestClaimsAreNotMetByLess(t *testing.T) {
	for _, test := range []struct {
		name  string
		claim string
		edits []string
	}{
		{"unknown turned acked, retry open", ClaimUnknownLaterSeen, []string{
			"+ 6100 p1 attempt 70", "+ 6200 p1 unknown 70", "+ 6300 p1 attempt 70", "+ 6400 p1 ack 70 try=1",
			"+ 6401 o1 consume p1-70 @70", "+ 6402 s1 consume p1-70 @71"}},
		{"the copy may be the retry's", ClaimUnknownLaterSeen, []string{
			"+ 6100 p1 attempt 70", "+ 6200 p1 unknown 70", "+ 6300 p1 attempt 70", "+ 6401 o1 consume p1-70 @70"}},
		{"the try was refused", ClaimUnknownLaterSeen, []string{
			"+ 6100 p1 attempt 70", "+ 6200 p1 fail 70", "+ 6401 o1 consume p1-70 @70"}},
		{"the consume was rebuilt from the state file", ClaimConsumerResumed, []string{
			"+ 8600 h fault kill consumer-shared-1 effective 9", "+ 8700 h fault kill consumer-shared-1 ended 9",
			"+ 8701 s1 consume p1-8 @13 attempts=0 size=0 sum=", "+ 8702 s1 replayed"}},
		{"given up before the last try", ClaimGaveUp, []string{
			"+ 6100 p1 attempt 70", "+ 6200 p1 fail 70", "+ 6201 p1 gave-up 70"}},
	} {
		for _, c := range judge(t, testConfig(), clean.edit(t, test.edits...).events(t)).Claims {
			if c.Name == test.claim && c.Count != 1 {
				t.Errorf("%s: claim %s was met %d times, want once as in the clean run", test.name, c.Name, c.Count)
			}
		}
	}
}

// TestBacklogIsJudgedAsLongAsItLasts: with a recovery bound of more than a
// quarter, a backlog can outlast the window by its bound although its last
// message comes in the middle. A silent third quarter is no stall then.
func TestBacklogIsJudgedAsLongAsItLasts(t *testing.T) {
	cfg := testConfig()
	cfg.Recovery = 2.1e9
	s := clean.edit(t, "- 1006 s1 consume p1-4 @6", "+ 4000 s1 consume p1-4 @6",
		"+ 5490 p1 attempt 60", "+ 5491 p1 ack 60", "+ 5492 o1 consume p1-60 @60", "+ 5500 s1 consume p1-60 @60")
	if p := judge(t, cfg, s.events(t)).property(t, ConsumerProgress); p.Status != Pass || p.Exposure["windows that a backlog outlasted"] != 1 {
		t.Errorf("want pass with a backlog that outlasted a window, got %s %v %v", p.Status, p.Exposure, p.Violations)
	}
}

// TestBacklogMayWaitForTheRecoveryBound: quarters that end before it are not
// judged.
func TestBacklogMayWaitForTheRecoveryBound(t *testing.T) {
	cfg := testConfig()
	cfg.Recovery = 1.2e9
	s := clean.edit(t, "- 2612 s2 consume p2-6 @11", "+ 3050 s2 consume p2-6 @11", "- 2512 s1 consume p1-6 @10", "+ 3051 s1 consume p1-6 @10",
		"- 611 s1 consume p1-2 @3", "- 612 s1 finish p1-2 @3", "+ 4100 s1 consume p1-2 @3",
		"- 1006 s1 consume p1-4 @6", "+ 5500 s1 consume p1-4 @6")
	if p := judge(t, cfg, s.events(t)).property(t, ConsumerProgress); p.Status != Pass || p.Exposure["windows that a backlog outlasted"] != 1 {
		t.Errorf("want pass with a backlog that outlasted the window, got %s %v %v", p.Status, p.Exposure, p.Violations)
	}
}
