package reports

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"pestle/faults"
	"pestle/history"
	"pestle/reports/page"
	"pestle/scenarios"
)

// maxFaultRows bounds the table of faults; faults.ndjson has them all.
const maxFaultRows = 500

// fault is one planned fault with what became of it.
type fault struct {
	Ref      int
	Kind     string
	Target   string
	Anchor   string // fragment of its row in the page
	Asked    string // when the plan wanted it, in words
	Happened string // when it took effect, in words
	Length   string // how long it lasted, in words
	Late     string // how late it came, in words
	Note     string // what the actuation journal adds

	effective, ended bool
	from, to         int64 // CLOCK_MONOTONIC ns, where effective and ended
}

// Never tells whether the fault did not take effect.
func (f fault) Never() bool { return !f.effective }

// on tells whether the fault was on at some time between from and to.
func (f *fault) on(from, to int64) bool {
	return f.effective && f.from <= to && (!f.ended || f.to >= from)
}

// faultRows joins the plan's faults with what the history and the actuation
// journal say of them. The history tells when a fault was on, since the
// checker judges by it; the journal adds lateness and notes. A fault that the
// plan does not know is listed too.
func faultRows(plan scenarios.Plan, log []faults.Entry, events []history.Event) []fault {
	byRef := map[int]*fault{}
	var list []*fault
	row := func(ref int, kind, target string) *fault {
		f := byRef[ref]
		if f == nil {
			f = &fault{Ref: ref, Kind: page.Clip(kind), Target: page.Clip(target), Anchor: fmt.Sprintf("fault-%d", ref), Asked: "not in the plan", Late: "–"}
			byRef[ref] = f
			list = append(list, f)
		}
		return f
	}
	for _, p := range plan.Faults {
		row(p.Ref, string(p.Kind), p.Target).Asked = askedWords(p)
	}
	for i := range events {
		e := &events[i]
		if e.Ev != history.Fault {
			continue
		}
		f := row(e.Ref, e.What, e.Target)
		f.Target = page.Clip(e.Target) // where the plan has a selector, only history knows the process
		switch e.Edge {
		case history.EdgeEffective:
			f.from, f.effective = e.T, true
		case history.EdgeEnded:
			f.to, f.ended = e.T, true
		}
	}
	for _, e := range log {
		f := row(e.Ref, string(e.Kind), e.Target)
		f.Note = page.Clip(e.Note)
		if f.effective && e.Effective != faults.Never {
			f.Late = page.Span(e.Lateness)
		}
	}
	rows := make([]fault, len(list))
	for i, f := range list {
		f.Happened, f.Length = "never took effect", "–"
		if f.effective {
			f.Happened = page.Clock(f.from - events[0].T)
			f.Length = "until the end of the run"
		}
		if f.effective && f.ended {
			f.Length = page.Span(f.to - f.from)
		}
		rows[i] = *f
	}
	slices.SortStableFunc(rows, func(a, b fault) int { return cmp.Compare(a.Ref, b.Ref) })
	return rows
}

// askedWords says when the plan wants a fault, and on whom where that was not
// known before.
func askedWords(f faults.Fault) string {
	if faults.IsSelector(f.Target) {
		return whenWords(f) + ", on the " + page.Clip(f.Target)
	}
	return whenWords(f)
}

func whenWords(f faults.Fault) string {
	after := f.Anchor.After
	if after == nil {
		return page.Clock(f.Anchor.At) + " into chaos"
	}
	var parts []string
	if after.Acks > 0 {
		parts = append(parts, "after "+page.Counted(after.Acks, "ack"))
	}
	if after.Attempts > 0 {
		parts = append(parts, "after "+page.Counted(after.Attempts, "attempt"))
	}
	if after.Fault > 0 {
		parts = append(parts, fmt.Sprintf("after fault %d took effect", after.Fault))
	}
	if after.Point != "" {
		who := "any broker"
		if after.Process != faults.AnyProcess {
			who = page.Clip(after.Process)
		}
		parts = append(parts, fmt.Sprintf("after %s passed %s %s", who, page.Clip(after.Point), page.Counted(after.Count, "time")))
	}
	if after.Delay > 0 {
		parts = append(parts, "and "+page.Span(after.Delay)+" more")
	}
	return strings.Join(parts, " ")
}
