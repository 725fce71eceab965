package checker

import (
	"strings"

	"pestle/history"
)

// invariants: nothing is seen inside the target that its design rules out.
//
// Clients see a broken log late or never: it takes a second failure until what
// one broker alone holds is lost. A world that looks into the brokers while
// they run sees it at once, ends the run there and notes what it saw; this
// property only passes that on. A breach counts whether the scenario asks for
// the property or not.
type invariants struct {
	*run
	findings
	watched int64
}

func (p *invariants) watch() { p.watched++ }

func (p *invariants) broken(e history.Event) {
	name, detail, _ := strings.Cut(e.Text, ": ")
	p.add(Violation{T: e.T, Cause: name, Detail: e.Target + " breaks " + name + " at " + p.at(e.T) + ": " + detail})
}

func (p *invariants) judge() judgement {
	j := judgement{findings: p.clone(), exposure: Exposure{"clusters watched from inside": p.watched}}
	switch {
	case p.watched > 0:
	case p.now == 0:
		j.missing = append(j.missing, "nothing was seen at all")
	default:
		j.blind = "nobody looks into the target in this world"
	}
	return j
}
