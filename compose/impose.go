package compose

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"pestle/campaign/conductor"
	"pestle/faults"
	"pestle/faults/agent"
	"pestle/history"
)

// deed is one fault that this world carries out: how it begins, how it ends,
// and what is missing for it. All three are of a table by kind.
type deed struct {
	// begin carries it out and returns when it was certain, and what shows it.
	begin func(h *Host, ctx context.Context, f faults.Fault) (outcome, error)
	// end ends it; nil for faults that nobody lifts.
	end func(h *Host, ctx context.Context, f faults.Fault) (outcome, error)
	// can says why it cannot be carried out, or "".
	can func(h *Host, f faults.Fault) string
}

// outcome is when something was certain and what shows it.
type outcome struct {
	at       int64 // CLOCK_MONOTONIC ns
	evidence string
}

// deedOf is the table of what this world carries out.
func deedOf(k faults.Kind) (deed, bool) {
	switch k {
	case faults.Partition, faults.Cut, faults.Silence, faults.Clog, faults.Jam, faults.Latency, faults.Loss,
		faults.Reorder, faults.Duplicate, faults.Corrupt, faults.Refuse, faults.HalfOpen:
		return deed{begin: (*Host).disturb, end: (*Host).calm, can: (*Host).canDisturb}, true
	case faults.Reset:
		return deed{begin: (*Host).disturb, can: (*Host).canDisturb}, true
	case faults.CPUSlow:
		return deed{begin: (*Host).slowDown, end: (*Host).speedUp, can: (*Host).canSlowDown}, true
	case faults.OutOfMemory:
		return deed{begin: (*Host).exhaust, can: (*Host).canExhaust}, true
	case faults.PowerLoss:
		return deed{begin: (*Host).cutPower, can: (*Host).canDisturb}, true
	}
	if spoils(k) {
		return deed{begin: (*Host).spoil, end: (*Host).mend, can: (*Host).canSpoil}, true
	}
	return deed{}, false
}

// Can tells why this world cannot carry a fault out here, or "".
func (h *Host) Can(f faults.Fault) string {
	d, ok := deedOf(f.Kind)
	if !ok {
		return fmt.Sprintf("the Docker world has no %s", f.Kind)
	}
	return d.can(h, f)
}

// Impose begins a fault in the background.
func (h *Host) Impose(f faults.Fault) {
	if f.Kind == faults.PowerLoss {
		h.powerless[f.Target] = f.Ref
	}
	d, ok := deedOf(f.Kind)
	if !ok {
		d.begin = func(*Host, context.Context, faults.Fault) (outcome, error) {
			return outcome{}, errors.New("the Docker world does not know it")
		}
	}
	h.act(f, history.EdgeEffective, d.begin)
}

// Lift ends a fault in the background.
func (h *Host) Lift(f faults.Fault) {
	d, _ := deedOf(f.Kind)
	if d.end == nil {
		d.end = func(*Host, context.Context, faults.Fault) (outcome, error) {
			return outcome{}, errors.New("it is over without being lifted")
		}
	}
	h.act(f, history.EdgeEnded, d.end)
}

// act does one edge of a fault in the background and tells what became of it.
func (h *Host) act(f faults.Fault, edge string, do func(*Host, context.Context, faults.Fault) (outcome, error)) {
	h.background.Go(func() {
		ctx, cancel := context.WithTimeout(h.ctx, callWithin)
		defer cancel()
		out, err := do(h, ctx, f)
		if err != nil {
			err = fmt.Errorf("fault %d, %s of %s, %s: %w", f.Ref, f.Kind, f.Target, edge, err)
		}
		select {
		case h.actuations <- conductor.Actuation{Ref: f.Ref, Edge: edge, Done: out.at, Evidence: out.evidence, Err: err}:
		case <-h.ctx.Done():
		}
	})
}

// order is a request to the agent of one pod.
type order struct {
	pod     *pod
	request agent.Request
}

// orders translates a fault of the network into what each agent has to do: an
// agent acts on what comes in, so every link is for the agent at its far end.
// What tears connections is for the target's agent alone.
func (h *Host) orders(f faults.Fault) []order {
	target := h.byName[f.Target]
	switch f.Kind {
	case faults.Reset:
		return []order{{target, agent.Request{Op: agent.Reset, Peers: h.hitBy(f)}}}
	case faults.HalfOpen:
		return []order{{target, agent.Request{Op: agent.HalfOpen, Ref: f.Ref, Peers: h.hitBy(f)}}}
	case faults.Refuse:
		return []order{{target, agent.Request{Op: agent.Refuse, Ref: f.Ref, Peers: h.hitBy(f)}}}
	case faults.PowerLoss:
		return []order{{target, agent.Request{Op: agent.Silence, Ref: f.Ref}}}
	}
	template := agent.Request{Op: agent.Block, Ref: f.Ref}
	if s, shapes := h.shaping(f); shapes {
		template.Op, template.Shaping = agent.Shape, &s
	}
	var list []order
	for _, to := range h.pods {
		r := template
		for _, from := range h.pods {
			if f.Hits(from.Name, to.Name) {
				r.Peers = append(r.Peers, from.address)
			}
		}
		if len(r.Peers) > 0 {
			list = append(list, order{to, r})
		}
	}
	return list
}

// shaping tells what a fault does to the packets that it is on.
func (h *Host) shaping(f faults.Fault) (agent.Shaping, bool) {
	s := agent.Shaping{Seed: h.seed(f)}
	delay := time.Duration(f.Delay)
	switch f.Kind {
	case faults.Clog:
		s.BytesPerSecond, s.Delay = f.BytesPerSecond, delay
	case faults.Jam:
		s.Jam = true
	case faults.Latency:
		s.Delay, s.Jitter = delay, time.Duration(f.Jitter)
	case faults.Loss:
		s.Loss = int(f.Rate)
	case faults.Reorder:
		s.Reorder, s.ReorderBy = int(f.Rate), delay
	case faults.Duplicate:
		s.Duplicate = int(f.Rate)
	case faults.Corrupt:
		s.Corrupt = int(f.Rate)
	default:
		return agent.Shaping{}, false
	}
	return s, true
}

// hitBy are the addresses whose packets to the target the fault is on.
func (h *Host) hitBy(f faults.Fault) (list []netip.Addr) {
	for _, p := range h.pods {
		if f.Hits(p.Name, f.Target) {
			list = append(list, p.address)
		}
	}
	return list
}

// disturb gives the orders of a fault of the network.
func (h *Host) disturb(ctx context.Context, f faults.Fault) (outcome, error) {
	orders := h.orders(f)
	if len(orders) == 0 {
		return outcome{}, errors.New("it is on no link of this run")
	}
	answers, err := command(ctx, orders)
	if err != nil {
		return outcome{}, err
	}
	var out outcome
	torn := 0
	for _, a := range answers {
		out.at = max(out.at, a.At)
		torn += a.Torn
	}
	out.evidence = fmt.Sprintf("agents: %s at %d of %d pods", answers[0].Op, len(answers), len(h.pods))
	if torn > 0 {
		out.evidence += fmt.Sprintf(", %d connections torn", torn)
	}
	return out, nil
}

// calm takes the orders back.
func (h *Host) calm(ctx context.Context, f faults.Fault) (outcome, error) {
	var lifts []order
	for _, o := range h.orders(f) {
		lifts = append(lifts, order{o.pod, agent.Request{Op: agent.Lift, Ref: f.Ref}})
	}
	answers, err := command(ctx, lifts)
	if err != nil {
		return outcome{}, err
	}
	var out outcome
	var all agent.Hits
	for _, a := range answers {
		out.at = max(out.at, a.At)
		for _, hits := range a.Counters {
			all.Packets += hits.Packets
			all.Bytes += hits.Bytes
			all.Lost += hits.Lost
			all.Duplicated += hits.Duplicated
			all.Corrupted += hits.Corrupted
			all.Reordered += hits.Reordered
			all.Overflowed += hits.Overflowed
		}
	}
	out.evidence = hitWords(all)
	return out, nil
}

// hitWords tells what a fault has met.
func hitWords(h agent.Hits) string {
	words := fmt.Sprintf("agents: %d packets met, %d bytes", h.Packets, h.Bytes)
	for _, n := range []struct {
		name string
		is   int64
	}{{"lost", h.Lost}, {"doubled", h.Duplicated}, {"damaged", h.Corrupted}, {"reordered", h.Reordered}, {"lost for want of room", h.Overflowed}} {
		if n.is > 0 {
			words += fmt.Sprintf(", %d %s", n.is, n.name)
		}
	}
	return words
}

// command sends orders to their agents, all at once, and returns the answers in
// the order of the orders.
func command(ctx context.Context, orders []order) ([]agent.Answer, error) {
	answers := make([]agent.Answer, len(orders))
	index := make([]int, len(orders))
	for i := range index {
		index[i] = i
	}
	err := parallel(index, func(i int) error {
		var err error
		if answers[i], err = orders[i].pod.agent.Call(ctx, orders[i].request); err != nil {
			return fmt.Errorf("pod of %s: %w", orders[i].pod.Name, err)
		}
		return nil
	})
	return answers, err
}

// canDisturb looks whether the agents can follow the orders of a fault. Its
// target may be a selector: all agents have one kernel, so any pod will do.
func (h *Host) canDisturb(f faults.Fault) string {
	request := agent.Request{Op: agent.Block}
	switch s, shapes := h.shaping(f); {
	case shapes:
		request.Op, request.Shaping = agent.Shape, &s
	case f.Kind == faults.Reset:
		request.Op = agent.Reset
	case f.Kind == faults.HalfOpen:
		request.Op = agent.HalfOpen
	case f.Kind == faults.Refuse:
		request.Op = agent.Refuse
	}
	for _, need := range request.Needs() {
		for _, p := range h.pods {
			if why := lacks(p.report.Abilities, need); why != "" {
				return why
			}
		}
	}
	return ""
}

// lacks says why an ability is missing, or "".
func lacks(abilities []agent.Ability, name string) string {
	i := slices.IndexFunc(abilities, func(a agent.Ability) bool { return a.Name == name })
	switch {
	case i < 0:
		return fmt.Sprintf("the agent says nothing of %s", name)
	case !abilities[i].OK:
		return fmt.Sprintf("the kernel has no %s for containers: %s", name, abilities[i].Why)
	}
	return ""
}
