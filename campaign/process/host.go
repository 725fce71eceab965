package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"pestle/campaign/conductor"
	"pestle/faults"
	"pestle/workload/antithesis/quiet"
)

// goneWithin is how long a killed process may take to be gone.
const goneWithin = 5 * time.Second

// Host is this machine as the place where the processes of a run live. It
// implements conductor.Host.
type Host struct {
	program string // Pestle's own binary
	layout  conductor.Layout
	nursery *nursery // nil before Prepare and after Close
	exits   chan conductor.Exit

	mu       sync.Mutex
	children map[string]*child
	living   sync.WaitGroup // their incarnations
}

// NewHost returns the host of one run. program is Pestle's own binary, which is
// the broker and the workload.
func NewHost(program string) *Host {
	return &Host{program: program, exits: make(chan conductor.Exit, 64), children: map[string]*child{}}
}

// Prepare implements conductor.Host.
func (h *Host) Prepare(_ context.Context, l conductor.Layout) error {
	h.layout = l
	site := conductor.Site{Program: h.program, Dir: l.Dir, Address: h.Address, Broker: []string{"--die-with-stdin"},
		Quiet: filepath.Join(l.Dir, quiet.Dir, quiet.LinkName)}
	for _, p := range l.Processes {
		args := l.Command(p, site)
		if p.Role == faults.Broker && l.Plan.Target.Kind != "pestle" {
			var err error
			if args, err = h.foreign(p); err != nil {
				return err
			}
		}
		h.children[p.Name] = &child{name: p.Name, args: args, env: l.Environment(p, site), log: filepath.Join(l.Dir, "logs", p.Name+".log")}
	}
	if slices.ContainsFunc(l.Processes, func(p conductor.Process) bool { return p.Role != faults.Broker }) {
		if err := os.Symlink(h.program, site.Quiet); err != nil {
			return fmt.Errorf("make the stop-faults command: %w", err)
		}
	}
	h.nursery = newNursery()
	return nil
}

// foreign is the command of a broker that is not Pestle's.
func (h *Host) foreign(p conductor.Process) ([]string, error) {
	t := h.layout.Plan.Target
	if t.Kind != "nsq" {
		return nil, fmt.Errorf("the process world cannot run a target of kind %q", t.Kind)
	}
	nsqd, err := exec.LookPath("nsqd")
	if err != nil {
		return nil, fmt.Errorf("%w: no nsqd on PATH; install NSQ (nsq.io/deployment/installing) so that the shell finds nsqd, or set target.address and target.http to a running one", conductor.ErrTargetMissing)
	}
	own := h.Address(p.Number)
	return append([]string{
		nsqd, "--tcp-address=" + own.TCP, "--http-address=" + own.HTTP,
		"--broadcast-address=" + loopback(os.Getpid()), "--data-path=" + h.dataDir(p.Name),
	}, t.Flags...), nil
}

// Address implements conductor.Host.
func (h *Host) Address(broker int) conductor.Endpoints {
	if t := h.layout.Plan.Target; t.Address != "" {
		return conductor.Endpoints{Call: t.HTTP, TCP: t.Address, HTTP: t.HTTP}
	}
	return endpointsOf(broker)
}

func (h *Host) dataDir(broker string) string { return filepath.Join(h.layout.Dir, "data", broker) }

// Start implements conductor.Host.
func (h *Host) Start(process string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.children[process]
	cmd, err := h.nursery.start(c)
	if err != nil {
		return err
	}
	h.living.Add(1)
	go h.await(c, c.lives, cmd)
	return nil
}

// await reports the end of an incarnation.
func (h *Host) await(c *child, life int, cmd *exec.Cmd) {
	err := cmd.Wait()
	var status *exec.ExitError
	if errors.As(err, &status) {
		err = nil // the state says it
	}
	h.mu.Lock()
	c.gone()
	h.mu.Unlock()
	h.living.Done()
	h.exits <- exitOf(c.name, life, cmd.ProcessState, err)
}

// exitOf tells how an incarnation ended.
func exitOf(process string, life int, state *os.ProcessState, err error) conductor.Exit {
	e := conductor.Exit{Process: process, Life: life, Err: err}
	if state == nil {
		return e
	}
	e.Code, e.How = state.ExitCode(), state.String()
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		e.Signal = status.Signal()
	}
	return e
}

// Signal implements conductor.Host.
func (h *Host) Signal(process string, s syscall.Signal) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.children[process].signal(s)
}

// Tell implements conductor.Host.
func (h *Host) Tell(process, line string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.children[process].tell(line)
}

// Exits implements conductor.Host.
func (h *Host) Exits() <-chan conductor.Exit { return h.exits }

// LastWords implements conductor.Host.
func (h *Host) LastWords(process string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return conductor.LastWords(h.children[process].log)
}

// LoseData implements conductor.Host.
func (h *Host) LoseData(broker string) error {
	if err := os.RemoveAll(h.dataDir(broker)); err != nil {
		return fmt.Errorf("empty the data directory of %s: %w", broker, err)
	}
	if err := os.MkdirAll(h.dataDir(broker), 0o755); err != nil {
		return fmt.Errorf("make the data directory of %s: %w", broker, err)
	}
	return nil
}

// Can implements conductor.Host. Signals are all that this world has.
func (h *Host) Can(f faults.Fault) (why string) {
	return fmt.Sprintf("the processes of one machine share its disk, network and clock: no %s hits one of them alone", f.Kind)
}

// Impose implements conductor.Host; what Can refuses is never asked for.
func (h *Host) Impose(f faults.Fault) { panic(fmt.Sprintf("process: asked for a %s", f.Kind)) }

// Lift implements conductor.Host; see Impose.
func (h *Host) Lift(f faults.Fault) { panic(fmt.Sprintf("process: asked to lift a %s", f.Kind)) }

// Actuations implements conductor.Host; nothing ever comes.
func (h *Host) Actuations() <-chan conductor.Actuation { return nil }

// Close implements conductor.Host.
func (h *Host) Close() error {
	if h.nursery == nil {
		return nil
	}
	var errs []error
	h.mu.Lock()
	for _, c := range h.children {
		if err := c.signal(syscall.SIGKILL); !errors.Is(err, os.ErrProcessDone) {
			errs = append(errs, err)
		}
	}
	h.mu.Unlock()
	gone := make(chan struct{})
	go func() {
		h.living.Wait()
		close(gone)
	}()
	select {
	case <-gone:
	case <-time.After(goneWithin):
		errs = append(errs, fmt.Errorf("killed processes are not gone after %v", goneWithin))
	}
	h.nursery.close()
	h.nursery = nil
	return errors.Join(errs...)
}
