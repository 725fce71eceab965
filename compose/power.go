package compose

import (
	"context"
	"fmt"

	"pestle/faults"
	"pestle/faults/agent"
	"pestle/history/stream"
)

// cutPower makes the pod silent, so that nobody is told what happens now, rolls
// back what the broker had not synced, and kills it.
func (h *Host) cutPower(ctx context.Context, f faults.Fault) (outcome, error) {
	pod, err := h.pod(f.Target)
	if err != nil {
		return outcome{}, err
	}
	out, err := h.disturb(ctx, f)
	if err != nil {
		return outcome{}, err
	}
	lost, err := h.loseUnsynced(ctx, pod, f)
	if err != nil {
		return outcome{}, err
	}
	if err := h.killed(ctx, pod); err != nil {
		return outcome{}, err
	}
	return outcome{at: stream.Now(), evidence: fmt.Sprintf("%s; %s; docker: kill signal=9", out.evidence, lost)}, nil
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
