package compose

import (
	"context"
	"fmt"

	"pestle/faults"
	"pestle/faults/agent"
	"pestle/history/stream"
)

// cutPower freezes the broker's disk with what it had synced, makes the pod
// silent, and kills the process, which nobody is told then.
//
// Disk and network go at the same moment, as near as can be. Were the network
// gone first, a broker that acknowledges too early would have time to write
// down what it had promised.
func (h *Host) cutPower(ctx context.Context, f faults.Fault) (outcome, error) {
	pod, err := h.pod(f.Target)
	if err != nil {
		return outcome{}, err
	}
	var lost string
	var silence outcome
	err = parallel([]func() error{
		func() (err error) { lost, err = h.loseUnsynced(ctx, pod, f); return err },
		func() (err error) { silence, err = h.disturb(ctx, f); return err },
	}, func(step func() error) error { return step() })
	if err != nil {
		return outcome{}, err
	}
	if err := h.killed(ctx, pod); err != nil {
		return outcome{}, err
	}
	return outcome{at: stream.Now(), evidence: fmt.Sprintf("%s; %s; docker: kill signal=9", lost, silence.evidence)}, nil
}

// power gives a process that is about to be started after a power loss its
// network back.
func (h *Host) power(p *pod) func(context.Context) error {
	ref, lost := h.powerless[p.Name]
	if !lost {
		return func(context.Context) error { return nil }
	}
	delete(h.powerless, p.Name)
	return func(ctx context.Context) error {
		if _, err := p.agent.Call(ctx, agent.Request{Op: agent.Lift, Ref: ref}); err != nil {
			return fmt.Errorf("end the silence after the power loss of %s: %w", p.Name, err)
		}
		return nil
	}
}
