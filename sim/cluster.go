package sim

import (
	"fmt"

	"pestle/broker/core"
	"pestle/faults"
	"pestle/scenarios"
	"pestle/sim/network"
	"pestle/sim/schedule"
)

// spares counts the brokers that wait to join in the place of others: one for
// each replacement of the plan.
func spares(p *scenarios.Plan) (n int) {
	for _, f := range p.Faults {
		if f.Kind == faults.Replace {
			n++
		}
	}
	return n
}

// joins reports that a broker is none of those that the cluster begins with.
func (b *broker) joins() bool { return b.number > uint64(max(1, b.plan.Target.Nodes)) }

// members are whom a broker knows of at first: those that the cluster begins
// with, and itself. A broker is reached by its name.
func (b *broker) members() (list []core.Member) {
	for _, m := range b.brokers {
		if m == b || !m.joins() {
			list = append(list, core.Member{ID: m.number, Address: m.name})
		}
	}
	return list
}

// tell sends another broker what the core has for it.
func (b *broker) tell(now int64, e *core.Effect) {
	to := b.process.world.process(e.Text)
	if to == nil {
		b.fail(fmt.Errorf("%s tells node %d something at %q, which is no process of this run", b.name, e.Node, e.Text))
		return
	}
	b.datagrams.Send(now, network.Packet{From: b.host, To: to.host, Data: e.Data})
}

// arrived hands a datagram to its broker. One that does not run gets nothing;
// one that is paused gets it later: its kernel has it.
func (w *world) arrived(ev schedule.Event) {
	packet, ok := w.datagrams.Step(ev)
	if !ok {
		return
	}
	w.input = input{event: schedule.Event{Kind: evTold}, told: packet.Data}
	w.processes[packet.To].deliver(ev.At, &w.input)
}
