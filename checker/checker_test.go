package checker

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pestle/history"
)

var update = flag.Bool("update", false, "write the saved histories of testdata again from the scripts")

func TestCleanRunPasses(t *testing.T) {
	v := judge(t, testConfig(), clean.events(t))
	for _, p := range v.Properties {
		if p.Status != Pass {
			t.Errorf("%s: want pass", p.Slug)
		}
	}
	for _, c := range v.Claims {
		if c.Count != 1 && c.Name != ClaimRetriedFailedSend {
			t.Errorf("claim %s: met %d times, want once", c.Name, c.Count)
		}
	}
	if v.Status != Pass || t.Failed() {
		t.Fatalf("want pass, got %s", explain(v))
	}
}

// violations are edits of the clean run that break one promise each. The first
// of each property is also saved in testdata.
var violations = []struct {
	name  string
	slug  string // the property that fails; no other does
	cause string
	edits []string
}{
	{"sum-changed", NoDataCorruption, "checksum or size differs from what was sent",
		[]string{"- 2512 s1 consume p1-6 @10", "+ 2512 s1 consume p1-6 @10 sum=00ff"}},
	{"body-truncated", NoDataCorruption, "checksum or size differs from what was sent",
		[]string{"- 2512 s1 consume p1-6 @10", "+ 2512 s1 consume p1-6 @10 size=99"}},
	{"body-malformed", NoDataCorruption, "body does not match its own checksum",
		[]string{"- 2512 s1 consume p1-6 @10", "+ 2512 s1 malformed p1-6 @10"}},
	{"sum-changed-when-folded", NoDataCorruption, "checksum or size differs from what was sent",
		[]string{"+ 607 s2 consume p2-1 @2 attempts=2 sum=00ff"}},

	{"id-never-attempted", NoPhantomMessages, phantomID, []string{"+ 2613 s2 consume p2-99 @77"}},
	{"producer-unknown", NoPhantomMessages, phantomID, []string{"+ 2613 o1 consume producer-9-1 @77"}},
	{"no-id-in-a-damaged-body", NoPhantomMessages, phantomBody, []string{"+ 2613 s2 malformed - @77"}},
	{"sent-to-another-topic", NoPhantomMessages, phantomTopic, []string{
		"+ 2620 p2 attempt 99 topic=invoices", "+ 2621 p2 ack 99 topic=invoices", "+ 2622 s2 consume p2-99 @77"}},

	{"first-deliveries-swapped", MessageOrdering, "first delivered after a message that was sent after its ack",
		[]string{"- 1005 o1 consume p1-4 @6", "+ 1008 o1 consume p1-4 @6"}},
	{"passed-over-then-delivered", MessageOrdering, "first delivered after a message that was sent after its ack",
		[]string{"- 1005 o1 consume p1-4 @6", "+ 7100 o1 consume p1-4 @6"}},

	{"neighbours-swapped-in-the-file", MessageOrdering, "first delivered after a message that was sent after its ack",
		[]string{"- 2511 o1 consume p1-6 @10", "+ 2511 o1 consume p2-6 @11", "- 2611 o1 consume p2-6 @11", "+ 2611 o1 consume p1-6 @10"}},

	{"never-delivered", NoDataLoss, "acked but neither consumed nor stored after a proven drain",
		[]string{"- 1006 s1 consume p1-4 @6"}},
	{"passed-over-for-ever", NoDataLoss, "acked but neither consumed nor stored after a proven drain",
		[]string{"- 1005 o1 consume p1-4 @6"}},
	{"given-back-and-forgotten", NoDataLoss, "given back by its consumer and not delivered again before a proven drain",
		[]string{"+ 2513 s1 requeue p1-6 @10"}},
	{"given-back-again-and-forgotten", NoDataLoss, "given back by its consumer and not delivered again before a proven drain",
		[]string{"+ 2513 s1 requeue p1-6 @10", "+ 2520 s2 consume p1-6 @10 attempts=2", "+ 2521 s2 requeue p1-6 @10"}},

	{"no-ack-in-a-window", ProducerProgress, "no ack within the recovery bound of a quiet window",
		[]string{"- 2610 p2 ack 6"}},
	{"ack-too-late-in-a-window", ProducerProgress, "no ack within the recovery bound of a quiet window",
		[]string{"- 2610 p2 ack 6", "+ 3601 p2 ack 6"}},

	{"only-an-older-send-acked-in-a-window", ProducerProgress, "no ack within the recovery bound of a quiet window",
		[]string{"- 2610 p2 ack 6", "+ 1990 p2 attempt 60", "+ 2650 p2 ack 60", "+ 2651 o1 consume p2-60 @60", "+ 2652 s1 consume p2-60 @60"}},

	{"delivered-too-late-in-a-window", ConsumerProgress, "message of a quiet window not consumed within the recovery bound",
		[]string{"- 2512 s1 consume p1-6 @10", "+ 3511 s1 consume p1-6 @10"}},
	{"delivered-after-a-window", ConsumerProgress, "message of a quiet window not consumed within the recovery bound",
		[]string{"- 2512 s1 consume p1-6 @10", "+ 6500 s1 consume p1-6 @10"}},

	{"consumed-again", DeliveryGuarantee, "a position was consumed again without a recorded cause",
		[]string{"+ 2505 s1 consume p1-6 @10"}},
	{"consumed-again-when-folded", DeliveryGuarantee, "a position was consumed again without a recorded cause",
		[]string{"+ 3005 s2 consume p1-6 @10 attempts=2"}},
	{"more-duplicates-than-causes", DeliveryGuarantee, "a position was consumed again without a recorded cause",
		[]string{"+ 606 s2 consume p1-1 @1 attempts=3", "+ 607 s2 consume p1-1 @1 attempts=4"}},
	{"two-positions-one-try", DeliveryGuarantee, "more positions hold one id than it had tries",
		[]string{"+ 2505 s1 consume p1-6 @99"}},
	{"two-positions-when-folded", DeliveryGuarantee, "more positions hold one id than it had tries",
		[]string{"+ 3005 s1 consume p1-6 @99"}},
	{"refused-yet-seen", DeliveryGuarantee, "a message appeared although every try of it failed",
		[]string{"+ 2613 o1 consume p2-3 @77", "+ 2614 s1 consume p2-3 @77"}},
	{"seen-then-refused", DeliveryGuarantee, "a message appeared although every try of it failed",
		[]string{"- 501 p2 fail 3", "- 502 p2 gave-up 3", "+ 510 s1 consume p2-3 @77", "+ 520 p2 fail 3", "+ 521 p2 gave-up 3"}},

	{"finish-lost-in-a-crash", AckFinality, "delivered again after its finish had to be durable",
		[]string{"+ 604 o1 consume p1-1 @1 attempts=2"}},
	{"finish-forgotten-without-a-crash", AckFinality, "delivered again after its finish had to be durable",
		[]string{"+ 287 p1 attempt 53 defer=1", "+ 288 p1 ack 53", "+ 289 o1 consume p1-53 @43", "+ 289 s1 consume p1-53 @43",
			"+ 291 o1 consume p1-1 @1 attempts=2"}},

	{"drained-too-late", Drain, "backlog not gone within the drain's bound",
		[]string{"- 8500 h drained ordered", "+ 9050 h drained ordered"}},

	{"one-more-than-ready", FlowControl, "more in flight to a consumer than its RDY allows",
		[]string{"+ 2511 o1 overrun p1-6 @10 text=2"}},

	{"deferral-dropped", NotEarly, "deferred message delivered before it was due",
		[]string{"- 265 o1 consume p2-51 @41", "+ 258 o1 consume p2-51 @41"}},
	{"delay-of-a-requeue-ignored", NotEarly, "message given back delivered before its delay was over",
		[]string{"+ 2513 s1 requeue p1-6 @10 defer=500", "+ 3000 s2 consume p1-6 @10 attempts=2"}},

	{"two-leaders-of-a-term", Invariants, "one-leader",
		[]string{"+ 2513 h invariant broker-1 one-leader"}},
}

func TestOneViolationFailsItsPropertyAlone(t *testing.T) {
	for _, test := range violations {
		t.Run(test.name, func(t *testing.T) {
			v := judge(t, testConfig(), clean.edit(t, test.edits...).events(t))
			wantOnly(t, v, test.slug)
			p := v.property(t, test.slug)
			if p.Total != 1 || p.Violations[0].Cause != test.cause {
				t.Errorf("want one violation, %q, got %s", test.cause, explain(v))
			}
		})
	}
}

// wantOnly checks that the run and the property of slug fail and that every
// other property passes.
func wantOnly(t *testing.T, v Verdict, slug string) {
	t.Helper()
	for _, p := range v.Properties {
		want := Pass
		if p.Slug == slug {
			want = Fail
		}
		if p.Status != want {
			t.Errorf("%s: %s, want %s", p.Slug, p.Status, want)
		}
	}
	if v.Status != Fail || t.Failed() {
		t.Fatalf("want fail of %s alone, got %s", slug, explain(v))
	}
}

// TestSavedHistories judges the files in testdata, named after the property
// that fails; clean.ndjson passes. They run ten times slower than the scripts,
// so that they also fail by the generous bounds of who has no plan to go by.
func TestSavedHistories(t *testing.T) {
	slow := func(s script) []history.Event {
		events := s.events(t)
		for i := range events {
			events[i].T *= 10
			events[i].Defer *= 10
		}
		return events
	}
	cfg := testConfig()
	cfg.Recovery, cfg.MsgTimeout = 5e9, 50e9
	saved := map[string][]history.Event{"clean": slow(clean)}
	order := []string{"clean"}
	for _, test := range violations {
		if saved[test.slug] == nil {
			saved[test.slug] = slow(clean.edit(t, test.edits...))
			order = append(order, test.slug)
		}
	}
	for _, name := range order {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join("testdata", name+".ndjson")
			if *update {
				var file []byte
				for _, e := range saved[name] {
					file = history.AppendLine(file, e)
				}
				if err := os.WriteFile(path, file, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			events := readHistory(t, path)
			if diff := cmp.Diff(saved[name], events); diff != "" {
				t.Errorf("%s differs from its script; run go test ./checker -update (-script +file):\n%s", path, diff)
			}
			v := judge(t, cfg, events)
			if name == "clean" {
				if v.Status != Pass {
					t.Fatalf("want pass, got %s", explain(v))
				}
				return
			}
			wantOnly(t, v, name)
		})
	}
}

func readHistory(t *testing.T, path string) []history.Event {
	t.Helper()
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var events []history.Event
	for line := range bytes.Lines(file) {
		e, err := history.ParseLine(line)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		events = append(events, e)
	}
	return events
}

func TestEmptyHistoryProvesNothing(t *testing.T) {
	v := judge(t, testConfig(), nil)
	for _, p := range v.Properties {
		if p.Status != Inconclusive || p.Reason == "" || len(p.Exposure) == 0 {
			t.Errorf("%s: %s (%s), exposure %v; want inconclusive with reason and exposure", p.Slug, p.Status, p.Reason, p.Exposure)
		}
		for name, n := range p.Exposure {
			if n != 0 {
				t.Errorf("%s: %s is %d", p.Slug, name, n)
			}
		}
	}
	if v.Status != Inconclusive {
		t.Errorf("run: %s, want inconclusive", v.Status)
	}
}

// TestVerdictChangesNothing: a verdict may be asked for after any event, twice
// gives it twice, and the last one is not altered by those before.
func TestVerdictChangesNothing(t *testing.T) {
	for _, test := range violations {
		events := clean.edit(t, test.edits...).events(t)
		c := New(testConfig())
		for _, e := range events {
			if err := c.Observe(e); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.Verdict(), c.Verdict()); diff != "" {
				t.Fatalf("%s: two verdicts at one place differ:\n%s", test.name, diff)
			}
		}
		if diff := cmp.Diff(judge(t, testConfig(), events), c.Verdict()); diff != "" {
			t.Fatalf("%s: asking on the way changed the verdict:\n%s", test.name, diff)
		}
	}
}
