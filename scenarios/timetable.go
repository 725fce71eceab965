//det:ring0

package scenarios

import (
	"fmt"
	"strings"

	"pestle/faults"
)

// Timetable returns the plan for people: who takes part and what happens when,
// in lines. The times of faults count from the start of chaos.
func (p Plan) Timetable() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, seed %d, plan %s\n\n", p.Scenario, p.Seed, p.ShortHash())
	p.writeParts(&b)
	b.WriteString("\n        at  ref  kind   target                      for\n")
	quiet := p.Phases.Quiet
	for _, f := range p.Faults {
		for f.Anchor.After == nil && len(quiet) > 0 && quiet[0].From <= f.Anchor.At {
			writeQuiet(&b, quiet[0])
			quiet = quiet[1:]
		}
		if f.Anchor.After != nil && f.Anchor.After.Fault == 0 {
			for _, q := range quiet {
				writeQuiet(&b, q)
			}
			quiet = nil
		}
		line := fmt.Sprintf("%10s  %3d  %-5s  %-24s  %6s  %s", clock(f.Anchor), f.Ref, f.Kind, f.Target, formatDuration(f.For), trigger(f.Anchor.After))
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	for _, q := range quiet {
		writeQuiet(&b, q)
	}
	fmt.Fprintf(&b, "%10s  chaos ends\n\nsha-256 %s\n", seconds(p.Phases.Chaos), p.Hash())
	return b.String()
}

func (p Plan) writeParts(b *strings.Builder) {
	t := p.Target
	what := t.Kind
	for _, s := range append([]string{t.Durability, t.Address}, t.Flags...) {
		if s != "" {
			what += " " + s
		}
	}
	fmt.Fprintf(b, "target    %s\n", what)
	w := p.Workload
	for _, x := range w.Producers {
		fmt.Fprintf(b, "          %s: a message to %s every %s, %d..%d bytes, %d open at most\n", x.Name, w.Topic, formatDuration(x.Interval), x.MinSize, x.MaxSize, x.Pending)
	}
	for _, x := range w.Consumers {
		fmt.Fprintf(b, "          %s: %d in flight", x.Name, x.InFlight)
		if x.RequeuePermille > 0 {
			fmt.Fprintf(b, ", gives %s back for %s", formatPercent(x.RequeuePermille), formatDuration(x.RequeueDelay))
		}
		if w.ConsumeAfterChaos {
			b.WriteString(", starts with the drain")
		}
		b.WriteByte('\n')
	}
	ph := p.Phases
	fmt.Fprintf(b, "phases    warm-up %d acks within %s, chaos %s, drain within %s\n",
		ph.WarmUpAcks, formatDuration(ph.WarmUpWithin), formatDuration(ph.Chaos), formatDuration(ph.DrainWithin))
}

func writeQuiet(b *strings.Builder, q Quiet) {
	fmt.Fprintf(b, "%10s  quiet until %s\n", seconds(q.From), seconds(q.To))
}

// clock is the first column of a fault: its time, or a mark that a trigger
// decides.
func clock(a faults.Anchor) string {
	if a.After == nil {
		return seconds(a.At)
	}
	return "·"
}

// trigger says in words what a fault waits for.
func trigger(e *faults.Event) string {
	if e == nil {
		return ""
	}
	var what string
	switch {
	case e.Fault > 0:
		what = fmt.Sprintf("fault %d took effect", e.Fault)
	case e.Acks > 0:
		what = fmt.Sprintf("%d acks", e.Acks)
	default:
		what = fmt.Sprintf("%d attempts", e.Attempts)
	}
	if e.Delay > 0 {
		return formatDuration(e.Delay) + " after " + what
	}
	return "after " + what
}

// seconds writes a moment in seconds with milliseconds.
func seconds(ns int64) string {
	return fmt.Sprintf("%d.%03ds", ns/second, ns%second/millisecond)
}
