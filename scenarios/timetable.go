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
	width := len("pause") // of the column kind
	for _, f := range p.Faults {
		width = max(width, len(f.Kind))
	}
	fmt.Fprintf(&b, "\n        at  ref  %-*s  target                      for\n", width, "kind")
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
		line := fmt.Sprintf("%10s  %3d  %-*s  %-24s  %6s  %s", clock(f.Anchor), f.Ref, width, f.Kind, f.Target, formatDuration(f.For), details(f))
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
	if t.clustered() {
		what += fmt.Sprintf(", %d brokers", t.nodes())
	}
	if t.Disk != "" {
		what += ", " + t.Disk + " disk"
	}
	if t.Plant != "" {
		what += ", plant " + t.Plant
	}
	if k := t.Knobs; k != nil {
		what += fmt.Sprintf(", journal files of %d bytes, cache of %d bytes", k.FileSize, k.Cache)
		if k.Log > 0 {
			what += fmt.Sprintf(", %d bytes of entries for who lags", k.Log)
		}
	}
	fmt.Fprintf(b, "target    %s\n", what)
	if n := p.Network; n != nil {
		fmt.Fprintf(b, "network   %s, and %s more on average; %s of the links slower by up to %s\n", formatDuration(n.Latency), formatDuration(n.Spread), formatPercent(n.Asymmetry), formatDuration(n.SlowerBy))
	}
	w := p.Workload
	for _, x := range w.Producers {
		fmt.Fprintf(b, "          %s: a message to %s every %s, %d..%d bytes, %d open at most", x.Name, w.Topic, formatDuration(x.Interval), x.MinSize, x.MaxSize, x.Pending)
		if x.DeferPermille > 0 {
			fmt.Fprintf(b, ", %s deferred by %s..%s", formatPercent(x.DeferPermille), formatDuration(x.DeferMin), formatDuration(x.DeferMax))
		}
		if x.Only != nil {
			fmt.Fprintf(b, "; only %s", ranges(x.Only))
		}
		b.WriteByte('\n')
	}
	for _, x := range w.Consumers {
		fmt.Fprintf(b, "          %s: %d in flight", x.Name, x.InFlight)
		if x.RequeuePermille > 0 {
			fmt.Fprintf(b, ", gives %s back for %s", formatPercent(x.RequeuePermille), formatDuration(x.RequeueDelay))
		}
		if x.ForgetPermille > 0 {
			fmt.Fprintf(b, ", forgets %s", formatPercent(x.ForgetPermille))
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

// ranges lists counters, the first few ranges of them.
func ranges(only [][2]uint64) string {
	const shown = 8
	var parts []string
	for i, r := range only {
		if i == shown {
			parts = append(parts, fmt.Sprintf("and %d ranges more", len(only)-shown))
			break
		}
		if r[0] == r[1] {
			parts = append(parts, fmt.Sprint(r[0]))
			continue
		}
		parts = append(parts, fmt.Sprintf("%d..%d", r[0], r[1]))
	}
	if len(parts) == 0 {
		return "the last one"
	}
	return strings.Join(parts, ", ")
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

// details is the last column of a fault: its parameters and trigger.
func details(f faults.Fault) string {
	spec, _ := faults.Find(f.Kind)
	var parts []string
	if f.Shape != "" {
		shape := string(f.Shape)
		if f.Among != "" {
			shape += " of the " + string(f.Among) + "s"
		}
		parts = append(parts, shape)
	}
	if len(f.Side) > 0 {
		parts = append(parts, "side "+strings.Join(f.Side, " "))
	}
	if f.Peer != "" {
		parts = append(parts, "peer "+f.Peer)
	}
	for _, param := range spec.Params {
		if param.Unit == faults.NoNumber || param.Optional && f.Value(param.Name) == 0 {
			continue
		}
		parts = append(parts, param.Name+" "+shapeOf(param).format()(f.Value(param.Name)))
	}
	if f.Anchor.After != nil {
		parts = append(parts, trigger(f.Anchor.After))
	}
	return strings.Join(parts, ", ")
}

// trigger says in words what a fault waits for.
func trigger(e *faults.Event) string {
	var what string
	switch {
	case e.Fault > 0:
		what = fmt.Sprintf("fault %d took effect", e.Fault)
	case e.Point != "":
		who := e.Process
		if who == faults.AnyProcess {
			who = "any broker"
		}
		what = fmt.Sprintf("%s passed %s %d times", who, e.Point, e.Count)
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
