package compose

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"pestle/faults"
	"pestle/faults/agent"
	"pestle/faults/control"
	"pestle/history/stream"
)

// askAgain is how soon a control port is asked again that did not answer: its
// process is being started.
const askAgain = 10 * time.Millisecond

// troubles are the faults of disk and clock that a broker is under. They live
// in its process, so its successor has to be put under them again.
type troubles struct {
	mu   sync.Mutex
	list []faults.Fault

	live  bool // the process runs: its files are its own
	dying bool // it is losing its power
}

func (t *troubles) index(ref int) int {
	return slices.IndexFunc(t.list, func(f faults.Fault) bool { return f.Ref == ref })
}

func (t *troubles) add(f faults.Fault) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.list = append(t.list, f)
}

func (t *troubles) remove(ref int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if i := t.index(ref); i >= 0 {
		t.list = slices.Delete(t.list, i, i+1)
	}
}

func (t *troubles) setLive(live bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.live, t.dying = live, false
}

// losePower notes that the process is about to lose its power: from then on it
// answers nothing, and is as good as gone.
func (t *troubles) losePower() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.dying = true
}

// tend does something by the process, or to its files where it does not run: it
// is not started meanwhile, and does not lose its power. While it is neither
// here nor gone the error is errDown.
func (t *troubles) tend(by, without func() error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case !t.live:
		return without()
	case t.dying:
		return errDown
	}
	return by()
}

// ifThere does something if a fault was not lifted yet, and is not meanwhile.
func (t *troubles) ifThere(ref int, do func() error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.index(ref) < 0 {
		return nil
	}
	return do()
}

// brokerFlags are those of every broker in this world beside the plan's.
func (h *Host) brokerFlags() []string {
	return []string{"--chaos-address=" + controlAddress().String()}
}

func controlAddress() netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), controlPort)
}

// control returns the client of a broker's control port, which listens in its
// own pod only: the agent there relays.
func (p *pod) control() *control.Client {
	return control.NewClientOver(func(ctx context.Context, method, path string, request []byte) (int, []byte, error) {
		a, err := p.agent.Call(ctx, agent.Request{Op: agent.Control, Relay: &agent.Relay{
			Port: controlPort, Method: method, Path: path, Body: string(request),
		}})
		switch {
		case err != nil:
			return 0, nil, err
		case a.Reply == nil:
			return 0, nil, errors.New("the agent relayed no answer")
		}
		return a.Reply.Status, []byte(a.Reply.Body), nil
	})
}

// errDown means that there is no process to ask.
var errDown = errors.New("its process does not run")

// isDeaf tells that a process could not be asked, now.
func isDeaf(err error) bool {
	var unreached *agent.RemoteError // the agent could not
	return errors.Is(err, errDown) || errors.As(err, &unreached)
}

// reach makes one call to a control port, and waits for one that is about to
// listen. When down says that none is, it is errDown.
func reach(ctx context.Context, down func() bool, call func() error) error {
	for {
		err := call()
		switch {
		case !isDeaf(err):
			return err
		case down():
			return errDown
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(askAgain):
		}
	}
}

// spoil puts a broker under a fault of its disk or clock. One that is down is
// about to be started by the conductor, and waited for.
func (h *Host) spoil(ctx context.Context, f faults.Fault) (outcome, error) {
	pod, err := h.pod(f.Target)
	if err != nil {
		return outcome{}, err
	}
	pod.troubles.add(f)
	never := func() bool { return false }
	if err := reach(ctx, never, func() error { return pod.control().Impose(ctx, f, h.seed(f)) }); err != nil {
		return outcome{}, err
	}
	return outcome{at: stream.Now(), evidence: "control port: imposed"}, nil
}

// mend ends a fault of a disk or a clock. Where the process is gone its faults
// are, but for what the medium has kept.
func (h *Host) mend(ctx context.Context, f faults.Fault) (outcome, error) {
	pod, err := h.pod(f.Target)
	if err != nil {
		return outcome{}, err
	}
	pod.troubles.remove(f.Ref)
	var out outcome
	for {
		err := pod.troubles.tend(func() error {
			bites, err := pod.control().Lift(ctx, f.Ref)
			out.evidence = fmt.Sprintf("control port: lifted, it bit %d times", bites)
			return err
		}, func() error {
			out.evidence = "its process was gone when it was lifted"
			return h.mendAtRest(f)
		})
		out.at = stream.Now()
		if !isDeaf(err) {
			return out, err
		}
		select {
		case <-ctx.Done():
			return out, err
		case <-time.After(askAgain):
		}
	}
}

// mendAtRest ends a fault in the files of a broker that does not run, for when it
// runs again.
func (h *Host) mendAtRest(f faults.Fault) error {
	if spec, _ := faults.Find(f.Kind); spec.Class != faults.OfMedia {
		return nil
	}
	return control.Mend(filepath.Join(h.layout.Dir, "data", f.Target), f.Ref)
}

func (h *Host) canSpoil(faults.Fault) string { return "" } // all brokers are of a build with tag chaos

// spoils tells whether a kind is for a broker's control port.
func spoils(k faults.Kind) bool { return control.Carries(k) }

// again puts a process that is being started under the faults that its
// predecessor was under. Operations that were to fail have had their chance:
// they are what it ended by.
func (h *Host) again(ctx context.Context, p *pod) error {
	p.troubles.mu.Lock()
	list := slices.Clone(p.troubles.list)
	p.troubles.mu.Unlock()
	for _, f := range list {
		if f.Kind == faults.FsyncError || f.Kind == faults.DiskWriteShort {
			continue
		}
		err := reach(ctx, p.process.isDown, func() error {
			return p.troubles.ifThere(f.Ref, func() error { return p.control().Impose(ctx, f, h.seed(f)) })
		})
		if errors.Is(err, errDown) {
			return nil // the next one's affair
		}
		if err != nil {
			return fmt.Errorf("put %s under fault %d, %s, again: %w", p.Name, f.Ref, f.Kind, err)
		}
	}
	return nil
}

// loseUnsynced rolls back what a broker had written and not synced. From then
// on its disk does nothing any more.
func (h *Host) loseUnsynced(ctx context.Context, p *pod, f faults.Fault) (string, error) {
	p.troubles.losePower()
	var loss control.Loss
	err := reach(ctx, p.process.isDown, func() error {
		var err error
		loss, err = p.control().PowerLoss(ctx, h.seed(f))
		return err
	})
	if errors.Is(err, errDown) {
		return "its process was gone already", nil
	}
	return fmt.Sprintf("control port: of the operations that were not synced %d kept, %d torn, %d dropped", loss.Kept, loss.Torn, loss.Dropped), err
}

// seed is that of everything that is drawn for a fault.
func (h *Host) seed(f faults.Fault) uint64 { return h.layout.Plan.Seed ^ uint64(f.Ref)<<32 }

// decode reads one JSON value of bounded length.
func decode(r io.Reader, into any) error {
	const longest = 1 << 20
	if err := json.NewDecoder(io.LimitReader(r, longest)).Decode(into); err != nil {
		return fmt.Errorf("decode the answer: %w", err)
	}
	return nil
}
