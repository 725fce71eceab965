package conductor

import (
	"encoding/json"
	"fmt"
	"os"

	"pestle/faults"
)

// ActuationsName is the journal of what was done to the processes, in a run
// directory.
const ActuationsName = "actuations.ndjson"

// EdgeLeftOut is the Line.Edge of a fault that was not carried out at all.
const EdgeLeftOut = "left-out"

// Line is one line of actuations.ndjson: a fault took effect, ended, or was
// left out. It is written when that happens. A fault of the plan without a line
// of EdgeEffective did not happen, and nothing rests on it.
//
//	key        value
//	ref        number of the fault in the plan, from 1
//	kind       a kind of the catalog
//	target     the process; of a fault that was left out, the plan's word for it
//	edge       effective, ended or left-out
//	due        when it was to happen
//	asked      when the host was told
//	done       when the host was certain that it had happened
//	lateness   ns from due to done
//	evidence   what shows it, or why it was left out; for people
//
// Times are nanoseconds since the start of chaos; a line of left-out has none.
type Line struct {
	Ref      int         `json:"ref"`
	Kind     faults.Kind `json:"kind"`
	Target   string      `json:"target"`
	Edge     string      `json:"edge"`
	Due      int64       `json:"due"`
	Asked    int64       `json:"asked"`
	Done     int64       `json:"done"`
	Lateness int64       `json:"lateness"`
	Evidence string      `json:"evidence,omitempty"`
}

// journal writes actuations.ndjson.
type journal struct{ file *os.File }

func newJournal(path string) (*journal, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("make the journal of actuations: %w", err)
	}
	return &journal{file}, nil
}

func (j *journal) write(l Line) error {
	text, err := json.Marshal(l)
	if err != nil {
		panic(fmt.Sprintf("conductor: encode the line of fault %d: %v", l.Ref, err)) // only integers and strings: cannot fail
	}
	if _, err := j.file.Write(append(text, '\n')); err != nil {
		return fmt.Errorf("write the journal of actuations: %w", err)
	}
	return nil
}

func (j *journal) close() error { return j.file.Close() }

func (c *Conductor) line(a *action, edge string, due, asked, done int64, evidence string) Line {
	f := a.fault
	return Line{
		Ref: f.Ref, Kind: f.Kind, Target: f.Target, Edge: edge, Evidence: evidence,
		Due: due - c.chaosBegan, Asked: asked - c.chaosBegan, Done: done - c.chaosBegan, Lateness: done - due,
	}
}
