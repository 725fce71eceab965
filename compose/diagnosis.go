package compose

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"pestle/campaign/conductor"
	"pestle/compose/program"
	"pestle/faults"
	"pestle/faults/agent"
	"pestle/scenarios"
)

// Diagnosis tells what of the Docker world works on an engine.
type Diagnosis struct {
	Engine    Facts           `json:"engine"`
	Program   string          `json:"program"`   // path of what goes into the containers
	Abilities []agent.Ability `json:"abilities"` // of the kernel, for containers
	Kinds     []KindHere      `json:"kinds"`     // every kind of fault of this world
}

// KindHere tells whether a kind of fault can be carried out here.
type KindHere struct {
	Kind faults.Kind `json:"kind"`
	OK   bool        `json:"ok"`
	Why  string      `json:"why,omitempty"` // not
}

// Diagnose tries out what a run needs: the engine, the program, the image, a
// network and one agent. What it has made is gone when it returns. An error
// means that nothing can run in this world here; what was found out by then is
// in the diagnosis.
func Diagnose(ctx context.Context, o Options) (d Diagnosis, err error) {
	dir, err := os.MkdirTemp("", "pestle-doctor-")
	if err != nil {
		return d, fmt.Errorf("make a directory for the trial: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	for _, sub := range []string{"history", "state", "logs"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o755); err != nil {
			return d, fmt.Errorf("make a directory for the trial: %w", err)
		}
	}
	h := New(o)
	defer func() { err = errors.Join(err, h.Close()) }()
	h.layout = conductor.Layout{Dir: dir}
	if h.engine, err = Connect(ctx); err != nil {
		return d, err
	}
	d.Engine = h.engine.Facts()
	return d, h.examine(ctx, &d)
}

// examine makes a run of one agent and asks it.
func (h *Host) examine(ctx context.Context, d *Diagnosis) error {
	var err error
	if h.owner, err = self(); err != nil {
		return err
	}
	d.Program = h.options.Program
	if d.Program == "" {
		if d.Program, err = program.Find(ctx, program.Wanted{Arch: d.Engine.Architecture, Progress: h.options.Progress}); err != nil {
			return err
		}
	}
	h.options.Program = d.Program
	if err := h.makeProject(ctx); err != nil {
		return err
	}
	trial := &pod{Process: conductor.Process{Name: "trial", Number: 1}}
	if trial.address, err = assign(h.project.subnet, 0); err != nil {
		return err
	}
	h.pods = append(h.pods, trial)
	ctx, cancel := whole(ctx)
	defer cancel()
	if err := h.project.startAgent(ctx, trial); err != nil {
		return fmt.Errorf("start an agent: %w; its log ends: %s", err, conductor.LastWords(trial.log.Name()))
	}
	d.Abilities = trial.report.Abilities
	for _, spec := range faults.Kinds() {
		if !spec.In(scenarios.Docker) {
			continue
		}
		k := KindHere{Kind: spec.Kind, OK: true}
		if _, ours := deedOf(spec.Kind); ours { // others are signals
			k.Why = h.Can(faults.Fault{Kind: spec.Kind})
			k.OK = k.Why == ""
		}
		d.Kinds = append(d.Kinds, k)
	}
	return nil
}
