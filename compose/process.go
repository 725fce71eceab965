package compose

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/pkg/stdcopy"

	"pestle/campaign/conductor"
)

const (
	callWithin = time.Minute      // one call to the engine
	tellWithin = time.Second      // a control line has to be taken
	lastOutput = 15 * time.Second // what a process wrote last has to be in its log after its end
)

// process is the container of one process of the run, made once and started
// again and again.
type process struct {
	engine *Engine
	name   string // in the plan
	id     string // of its container
	log    string // path of its log

	mu    sync.Mutex
	life  int           // incarnations begun
	up    chan struct{} // closed when this incarnation was started, or could not be
	over  bool          // this incarnation is
	stdin net.Conn      // of this incarnation; nil: it is not up
}

// begin starts an incarnation in the background, after first; exit gets its
// end. What it returns is closed when the incarnation was started, or could not
// be.
func (p *process) begin(ctx context.Context, first func(context.Context) error, exit func(conductor.Exit)) <-chan struct{} {
	p.mu.Lock()
	p.life++
	life, up := p.life, make(chan struct{})
	p.up, p.over = up, false
	p.mu.Unlock()
	go func() {
		end := p.live(ctx, first, up)
		end.Process, end.Life = p.name, life
		p.mu.Lock()
		p.over = true
		p.mu.Unlock()
		exit(end)
	}()
	return up
}

// isDown tells that no incarnation runs or is about to.
func (p *process) isDown() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.life == 0 || p.over
}

// live carries one incarnation from its start to its end.
func (p *process) live(ctx context.Context, first func(context.Context) error, up chan struct{}) conductor.Exit {
	begun := sync.OnceFunc(func() { close(up) })
	defer begun()
	if err := first(ctx); err != nil {
		return conductor.Exit{Err: fmt.Errorf("start %s: %w", p.name, err)}
	}
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return conductor.Exit{Err: fmt.Errorf("start %s: open its log: %w", p.name, err)}
	}
	defer log.Close()
	// Attach before start: the first line of output is not missed. Ask for the
	// end before start: not even the shortest life is.
	stream, err := p.engine.attach(ctx, p.id)
	if err != nil {
		return conductor.Exit{Err: fmt.Errorf("start %s: attach to its container: %w", p.name, err)}
	}
	defer stream.Close()
	ended, failed := p.engine.api.ContainerWait(ctx, p.id, container.WaitConditionNextExit)
	if err := p.engine.start(ctx, p.id); err != nil {
		return conductor.Exit{Err: fmt.Errorf("start %s: %w", p.name, err)}
	}
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		_, _ = stdcopy.StdCopy(log, log, stream.Reader) // it ends with the process, and with the engine
	}()
	p.setInput(stream.Conn)
	begun()
	defer p.setInput(nil)

	select {
	case end := <-ended:
		if end.Error != nil {
			return conductor.Exit{Err: fmt.Errorf("wait for %s: %s", p.name, end.Error.Message)}
		}
		select {
		case <-copied:
		case <-time.After(lastOutput):
			return conductor.Exit{Err: fmt.Errorf("wait for %s: its output does not end %v after itself", p.name, lastOutput)}
		}
		return p.exit(ctx, int(end.StatusCode))
	case err := <-failed:
		return conductor.Exit{Err: fmt.Errorf("wait for %s: %w", p.name, err)}
	}
}

// exit tells how an incarnation ended, from its code and what the engine knows.
func (p *process) exit(ctx context.Context, code int) conductor.Exit {
	ctx, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	seen, err := p.engine.api.ContainerInspect(ctx, p.id)
	if err != nil {
		return conductor.Exit{Err: fmt.Errorf("look at how %s ended: %w", p.name, err)}
	}
	return exitOf(code, seen.State.OOMKilled)
}

// exitOf reads a container's exit code: 128 and more are signals.
func exitOf(code int, outOfMemory bool) conductor.Exit {
	end := conductor.Exit{Code: code, How: fmt.Sprintf("exit status %d", code)}
	if code > 128 && code < 128+65 {
		end.Signal = syscall.Signal(code - 128)
		end.How = "signal: " + end.Signal.String()
	}
	if outOfMemory {
		end.How = "out of memory, " + end.How
	}
	return end
}

// signal sends a signal to this incarnation, which is up then.
func (p *process) signal(ctx context.Context, s syscall.Signal) error {
	if err := p.await(ctx); err != nil {
		return fmt.Errorf("send %v to %s: %w", s, p.name, err)
	}
	ctx, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	err := p.engine.api.ContainerKill(ctx, p.id, fmt.Sprint(int(s)))
	if errdefs.IsConflict(err) { // it is not running
		return fmt.Errorf("send %v to %s: %w", s, p.name, os.ErrProcessDone)
	}
	if err != nil {
		return fmt.Errorf("send %v to %s: %w", s, p.name, err)
	}
	return nil
}

// await waits until this incarnation was started.
func (p *process) await(ctx context.Context) error {
	p.mu.Lock()
	up := p.up
	p.mu.Unlock()
	if up == nil {
		return errors.New("it was never started")
	}
	select {
	case <-up:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// tell writes one control line.
func (p *process) tell(ctx context.Context, line string) error {
	if err := p.await(ctx); err != nil {
		return fmt.Errorf("tell %s to %s: %w", p.name, line, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stdin == nil {
		return fmt.Errorf("tell %s to %s: it is not running", p.name, line)
	}
	err := p.stdin.SetWriteDeadline(time.Now().Add(tellWithin))
	if err == nil {
		_, err = io.WriteString(p.stdin, line+"\n")
	}
	if err != nil {
		return fmt.Errorf("tell %s to %s: %w", p.name, line, err)
	}
	return nil
}

func (p *process) setInput(stdin net.Conn) {
	p.mu.Lock()
	p.stdin = stdin
	p.mu.Unlock()
}

// attach connects to the standard streams of a container, which lives on
// without them. Its standard input ends with the connection.
func (e *Engine) attach(ctx context.Context, id string) (types.HijackedResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	return e.api.ContainerAttach(ctx, id, container.AttachOptions{Stream: true, Stdin: true, Stdout: true, Stderr: true})
}

func (e *Engine) start(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	return e.api.ContainerStart(ctx, id, container.StartOptions{})
}
