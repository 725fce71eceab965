package compose

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/docker/docker/api/types/container"

	"pestle/faults"
	"pestle/history/stream"
)

const wholeProcessor = int64(1e9) // NanoCPUs

// slowDown leaves the process a share of one processor.
func (h *Host) slowDown(ctx context.Context, f faults.Fault) (outcome, error) {
	share := wholeProcessor / f.Factor
	if err := h.update(ctx, f.Target, container.Resources{NanoCPUs: share}); err != nil {
		return outcome{}, err
	}
	return outcome{at: stream.Now(), evidence: fmt.Sprintf("docker: update NanoCPUs=%d", share)}, nil
}

// speedUp gives the process all processors back: the engine does not take 0 for
// no limit.
func (h *Host) speedUp(ctx context.Context, f faults.Fault) (outcome, error) {
	all := wholeProcessor * int64(h.engine.info.NCPU)
	if err := h.update(ctx, f.Target, container.Resources{NanoCPUs: all}); err != nil {
		return outcome{}, err
	}
	return outcome{at: stream.Now(), evidence: fmt.Sprintf("docker: update NanoCPUs=%d", all)}, nil
}

func (h *Host) canSlowDown(faults.Fault) string {
	if !h.engine.info.CPUCfsQuota {
		return "the engine cannot limit the processor time of a container"
	}
	return ""
}

// The numbers of running a container out of memory.
const (
	causeWithin   = 10 * time.Second
	headroom      = 8 << 20 // bytes it may still take when the limit is set: less, and the limit is refused
	limitTries    = 20      // it grows while the limit is being set
	exhaustWithin = 20 * time.Second
	lookEvery     = 5 * time.Millisecond
)

// hogCommand is the command of the program in the image that runs package hog
// against the first process of its container.
const hogCommand = "hog"

// exhaust limits the container to little more than it has, lets a second
// process in it take that, and waits until the kernel has killed the first.
// Then the limit is gone again: the process is to be started anew. That one
// which has ended before is os.ErrProcessDone.
func (h *Host) exhaust(ctx context.Context, f faults.Fault) (out outcome, err error) {
	pod, err := h.pod(f.Target)
	if err != nil {
		return outcome{}, err
	}
	defer func() {
		free := h.engine.info.MemTotal
		ctx, cancel := whole(ctx) // whatever became of it: its successor needs memory
		defer cancel()
		err = errors.Join(err, h.update(ctx, f.Target, container.Resources{Memory: free, MemorySwap: -1}))
	}()
	limit, err := h.squeeze(ctx, pod)
	if err != nil {
		return outcome{}, err
	}
	if err := h.engine.run(ctx, pod.process.id, programPath, hogCommand); err != nil {
		return outcome{}, fmt.Errorf("take its memory: %w", err)
	}
	died, err := h.awaitDeath(ctx, pod)
	if err != nil {
		return outcome{}, err
	}
	return outcome{at: stream.Now(), evidence: fmt.Sprintf("docker: update Memory=%d; %s", limit, died)}, nil
}

// run begins a second process in a container. Where the first does not run any
// more the error is os.ErrProcessDone.
func (e *Engine) run(ctx context.Context, id string, command ...string) error {
	second, err := e.api.ContainerExecCreate(ctx, id, container.ExecOptions{Cmd: command})
	if err == nil {
		err = e.api.ContainerExecStart(ctx, second.ID, container.ExecStartOptions{Detach: true})
	}
	if err == nil {
		return nil
	}
	if seen, inspect := e.api.ContainerInspect(ctx, id); inspect == nil && !seen.State.Running {
		return os.ErrProcessDone
	}
	return err
}

// squeeze sets the limit of a container's memory just above what it has, and
// returns the limit.
func (h *Host) squeeze(ctx context.Context, p *pod) (int64, error) {
	room := int64(headroom)
	for try := 1; ; try++ {
		used, err := h.engine.memory(ctx, p.process.id)
		if err != nil {
			return 0, err
		}
		limit := used + room
		err = h.update(ctx, p.Name, container.Resources{Memory: limit, MemorySwap: limit})
		if err == nil || try == limitTries {
			return limit, err
		}
		room += headroom // it took more meanwhile
	}
}

// awaitDeath waits until the kernel has killed the container's process for
// want of memory, and returns what shows it.
func (h *Host) awaitDeath(ctx context.Context, p *pod) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, exhaustWithin)
	defer cancel()
	var gone time.Time
	for {
		seen, err := h.engine.api.ContainerInspect(ctx, p.process.id)
		if err == nil && !seen.State.Running && gone.IsZero() {
			gone = time.Now()
		}
		switch {
		case err != nil:
			return "", fmt.Errorf("look whether it still lives: %w", err)
		case !seen.State.Running && !seen.State.OOMKilled && exitOf(seen.State.ExitCode, false).Signal != syscall.SIGKILL:
			return "", fmt.Errorf("it ended with exit status %d before its memory did: %w", seen.State.ExitCode, os.ErrProcessDone)
		case !seen.State.Running && !seen.State.OOMKilled && time.Since(gone) < causeWithin:
			// The engine hears of the end and of its cause one after the other, in
			// either order.
		case !seen.State.Running && !seen.State.OOMKilled:
			return "", fmt.Errorf("it was killed, and %v later the engine does not say that it was for want of memory", causeWithin)
		case !seen.State.Running:
			return fmt.Sprintf("OOMKilled exitCode=%d", seen.State.ExitCode), nil
		}
		select {
		case <-ctx.Done():
			return "", fmt.Errorf("it still lives %v after its memory was taken", exhaustWithin)
		case <-time.After(lookEvery):
		}
	}
}

func (h *Host) canExhaust(faults.Fault) string {
	if !h.engine.info.MemoryLimit {
		return "the engine cannot limit the memory of a container"
	}
	return ""
}

// update changes the limits of a process's container.
func (h *Host) update(ctx context.Context, process string, r container.Resources) error {
	p, err := h.pod(process)
	if err != nil {
		return err
	}
	if _, err := h.engine.api.ContainerUpdate(ctx, p.process.id, container.UpdateConfig{Resources: r}); err != nil {
		return fmt.Errorf("set the limits of the container of %s: %w", process, err)
	}
	return nil
}

// memory returns how many bytes a container has.
func (e *Engine) memory(ctx context.Context, id string) (int64, error) {
	answer, err := e.api.ContainerStatsOneShot(ctx, id)
	if err != nil {
		return 0, fmt.Errorf("look how much memory it has: %w", err)
	}
	defer answer.Body.Close()
	var stats container.StatsResponse
	if err := decode(answer.Body, &stats); err != nil {
		return 0, fmt.Errorf("look how much memory it has: %w", err)
	}
	return int64(stats.MemoryStats.Usage), nil
}

// isGone tells that a process had ended before it could be hurt.
func isGone(err error) bool { return errors.Is(err, os.ErrProcessDone) }

// killed sends SIGKILL; that the process is gone already is fine.
func (h *Host) killed(ctx context.Context, p *pod) error {
	if err := p.process.signal(ctx, syscall.SIGKILL); err != nil && !isGone(err) {
		return err
	}
	return nil
}
