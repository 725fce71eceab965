package checker

import (
	"fmt"
	"testing"
)

// TestRunStatus: over required properties, fail outranks inconclusive outranks
// pass; what is not required or not applicable does not count.
func TestRunStatus(t *testing.T) {
	const (
		lossy  = "- 1005 o1 consume p1-4 @6" // no-data-loss fails
		asleep = "- 2000 h phase quiet"      // both liveness properties are inconclusive
		awake  = "- 6000 h phase quiet-end"
	)
	for _, test := range []struct {
		edits    []string
		required []string
		promised func(*Config)
		status   Status
	}{
		{nil, nil, nil, Pass},
		{[]string{lossy}, nil, nil, Fail},
		{[]string{asleep, awake}, nil, nil, Inconclusive},
		{[]string{lossy, asleep, awake}, nil, nil, Fail},
		{[]string{lossy}, []string{NoDataCorruption, MessageOrdering}, nil, Pass},
		{[]string{lossy, asleep, awake}, []string{ProducerProgress}, nil, Inconclusive},
		{[]string{asleep, awake}, []string{NoDataLoss}, nil, Pass},
		{[]string{lossy}, nil, func(c *Config) { c.Unpromised = map[string]string{NoDataLoss: "in memory only"} }, Pass},
		{[]string{"- 1005 o1 consume p1-4 @6", "+ 1008 o1 consume p1-4 @6"}, nil, func(c *Config) { c.Order = OrderNone }, Pass},
	} {
		cfg := testConfig()
		cfg.Required = test.required
		if test.promised != nil {
			test.promised(&cfg)
		}
		if v := judge(t, cfg, clean.edit(t, test.edits...).events(t)); v.Status != test.status {
			t.Errorf("%q with %q required: want %s, got %s", test.edits, test.required, test.status, explain(v))
		}
	}
}

func TestUnpromisedIsNotApplicable(t *testing.T) {
	cfg := testConfig()
	cfg.Order = OrderNone
	cfg.Unpromised = map[string]string{NoDataLoss: "in memory only"}
	v := judge(t, cfg, clean.edit(t, "- 1005 o1 consume p1-4 @6", "+ 1008 o1 consume p1-4 @6", "- 1006 s1 consume p1-4 @6").events(t))
	for slug, reason := range map[string]string{NoDataLoss: "in memory only", MessageOrdering: "the target promises no order"} {
		p := v.property(t, slug)
		if p.Status != NotApplicable || p.Reason != reason || p.Required || len(p.Violations) > 0 || p.Total > 0 {
			t.Errorf("%s: %+v, want not-applicable (%s)", slug, p, reason)
		}
	}
}

// TestLostLinesForbidAPass: a gap in a source's count can hide anything, but
// what is there is still judged.
func TestLostLinesForbidAPass(t *testing.T) {
	drop := func(s script, at int64) Verdict {
		var kept = s.events(t)
		for i := range kept {
			if kept[i].T == (at+1000)*1e6 {
				kept = append(kept[:i], kept[i+1:]...)
				break
			}
		}
		return judge(t, testConfig(), kept)
	}
	v := drop(clean, 115) // a finish
	if want := "the history lost 1 line: consumer-shared-2 lacks 1 line before line 4"; v.Status != Inconclusive || v.Reason != want {
		t.Errorf("without a finish: %s (%s), want inconclusive (%s)", v.Status, v.Reason, want)
	}
	v = drop(clean, 1005) // a consume
	if p := v.property(t, NoDataLoss); v.Status != Fail || p.Total != 1 || v.Reason == "" {
		t.Errorf("without a consume: want fail of no-data-loss and the lost line named, got %s", explain(v))
	}
}

func TestOnlyTheFirstViolationsAreKept(t *testing.T) {
	s := clean
	const phantoms = maxHeld + 7
	for i := range phantoms {
		s += script(fmt.Sprintf("\n7500 o1 consume p1-%d @%d", 1000+i, 1000+i))
	}
	c := New(testConfig())
	for _, e := range s.events(t) {
		if err := c.Observe(e); err != nil {
			t.Fatal(err)
		}
	}
	p := c.Verdict().property(t, NoPhantomMessages)
	if p.Total != phantoms || len(p.Violations) != MaxViolations || len(c.early.held) != maxHeld {
		t.Errorf("%d violations of %d kept and %d consumes held, want %d of %d and %d",
			len(p.Violations), p.Total, len(c.early.held), MaxViolations, phantoms, maxHeld)
	}
}

// TestManyCopiesStayCheap: a target that copies one message without end costs
// no more than the violations.
func TestManyCopiesStayCheap(t *testing.T) {
	s := clean
	for i := range 3 * maxPositions {
		s += script(fmt.Sprintf("\n7500 s1 consume p1-4 @%d\n7500 s1 requeue p1-4 @%d", 1000+i, 1000+i))
	}
	c := New(testConfig())
	for _, e := range s.events(t) {
		if err := c.Observe(e); err != nil {
			t.Fatal(err)
		}
	}
	p := c.Verdict().property(t, DeliveryGuarantee)
	m := c.producerByName["producer-1"].open[4]
	if p.Total != 3*maxPositions || len(m.positions) > maxPositions || len(m.deliveries) > 2*maxPositions {
		t.Errorf("%d violations, %d positions and %d deliveries kept of %d copies",
			p.Total, len(m.positions), len(m.deliveries), 3*maxPositions)
	}
}

func TestCatalogAndFilesAgree(t *testing.T) {
	v := New(Config{}).Verdict()
	for i, entry := range Catalog() {
		if v.Properties[i].Slug != entry.Slug || v.Properties[i].Class != entry.Class || entry.Statement == "" || entry.Needs == "" {
			t.Errorf("catalog entry %+v does not match property %+v", entry, v.Properties[i])
		}
	}
	for i, name := range ClaimNames() {
		if v.Claims[i].Name != name {
			t.Errorf("claim %d is %s, want %s", i, v.Claims[i].Name, name)
		}
	}
}
