package conductor

import (
	"syscall"

	"pestle/faults"
	"pestle/scenarios"
)

// node is one broker of the system under test.
type node struct {
	name string // of its process
	id   uint64 // in the cluster: the number of its name
	Endpoints
	process *process // nil: it runs already, was not started by the harness, and gets no faults

	// member tells that it is one of the cluster: not a spare that has not
	// joined, nor one that was replaced or has lost what it knew.
	member bool
	// harmed tells that its medium may have lost what was acknowledged: that it
	// takes part in nothing, or does not even start, is right then.
	harmed bool
	// out tells that it refuses to start for that: nobody starts it any more.
	out bool
}

// external tells that the harness did not start it.
func (n *node) external() bool { return n.process == nil }

// process is one process of the run over all its incarnations.
type process struct {
	Process
	node *node // of a broker: which one it is

	running  bool
	lives    int            // incarnations started
	ready    bool           // this incarnation works: a broker answers, a client has begun
	asked    syscall.Signal // what was sent to end it: for a fault, or at the end of the run; 0: nothing
	troubled bool           // this incarnation has met a fault of its disk, which may make it end itself
	again    int64          // when it is started again after it ended itself; 0: it did not
	ended    string         // how its last incarnation ended; "": none has
}

// spare tells that p is a broker that is no member: not yet, or not any more.
func (p *process) spare() bool { return p.node != nil && !p.node.member }

// endedAsAsked reports that the process ended as it was asked to: by the
// signal, or, of SIGTERM, in order. A signal also reaches a process that has
// just crashed; only how it ended tells the two apart.
func (p *process) endedAsAsked(e Exit) bool {
	switch {
	case p.asked == 0:
		return false
	case e.Signal != 0:
		return e.Signal == p.asked
	}
	return p.asked == syscall.SIGTERM && e.Code == 0
}

// newCast returns the processes and brokers of a layout that is prepared. A
// target that the harness does not start has one broker.
func newCast(l Layout, h Host) (processes []*process, nodes []*node) {
	if l.brokers() == 0 {
		nodes = []*node{{name: brokerName(1), id: 1, Endpoints: h.Address(1), member: true}}
	}
	for _, of := range l.Processes {
		p := &process{Process: of}
		if of.Role == faults.Broker {
			p.node = &node{name: of.Name, id: uint64(of.Number), Endpoints: h.Address(of.Number), process: p, member: !of.Spare}
			p.node.harmed = l.Plan.Target.Disk == scenarios.DiskLying
			nodes = append(nodes, p.node)
		}
		processes = append(processes, p)
	}
	return processes, nodes
}
