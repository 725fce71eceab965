package fleet

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// worker is a worker process, seen from the campaign. One goroutine uses it,
// the one that started it, which is locked to its thread: the kernel ties the
// parent-death signal to that.
type worker struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	lines *bufio.Reader
	log   *os.File // its standard error
	heard int64    // length of the log when the job began

	orderly time.Duration // how long it may take to end a run when it is asked to
}

const (
	startWithin = time.Minute      // a worker has to be ready
	endWithin   = 20 * time.Second // it has to have ended the processes of its run
)

// start starts a worker. The calling goroutine is locked to its thread, and
// stays so until the worker is gone.
func start(ctx context.Context, command []string, logPath string, s setup) (*worker, error) {
	if err := os.MkdirAll(filepath.Dir(logPath), 0o755); err != nil {
		return nil, fmt.Errorf("start a campaign worker: %w", err)
	}
	log, err := os.OpenFile(logPath, os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("start a campaign worker: open its log: %w", err)
	}
	w := &worker{cmd: exec.Command(command[0], command[1:]...), log: log}
	if s.hasProcesses() {
		w.orderly = endWithin
	}
	w.cmd.Stderr = log
	// Its own process group: a Ctrl-C at the terminal reaches the campaign
	// only, which then ends its workers.
	w.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	w.stdin, err = w.cmd.StdinPipe()
	var stdout io.ReadCloser
	if err == nil {
		stdout, err = w.cmd.StdoutPipe()
	}
	if err == nil {
		err = w.cmd.Start()
	}
	if err != nil {
		log.Close()
		return nil, fmt.Errorf("start a campaign worker: %w", err)
	}
	w.lines = bufio.NewReader(stdout)
	a, err := w.ask(ctx, s, startWithin)
	switch {
	case err != nil:
		w.stop()
		return nil, fmt.Errorf("start a campaign worker: %w", err)
	case a.Error != "":
		w.stop()
		return nil, errors.New(a.Error)
	case !a.Ready:
		w.stop()
		return nil, fmt.Errorf("start a campaign worker: %s is none", command[0])
	}
	return w, nil
}

// errLost means that a worker died or hung; it must be stopped then.
var errLost = errors.New("the worker is lost")

// ask sends a worker a line and waits for its answer. The error is errLost
// when it gave none within the time, or died; or that of the context.
func (w *worker) ask(ctx context.Context, question any, within time.Duration) (answer, error) {
	if info, err := w.log.Stat(); err == nil {
		w.heard = info.Size()
	}
	var late atomic.Bool
	timer := time.AfterFunc(within, func() { late.Store(true); w.kill() })
	defer timer.Stop()
	defer context.AfterFunc(ctx, w.end)()
	var a answer
	err := send(w.stdin, question)
	if err == nil {
		err = line(w.lines, &a)
	}
	switch {
	case err == nil:
		return a, nil
	case ctx.Err() != nil:
		return answer{}, ctx.Err()
	case late.Load():
		return answer{}, fmt.Errorf("%w: it gave no answer within %v and was killed", errLost, within)
	}
	w.stop()
	return answer{}, fmt.Errorf("%w: it ended with %v; %s", errLost, w.cmd.ProcessState, w.lastWords())
}

// end asks the worker to end, and sees that it does. A simulated run has
// nothing to put in order.
func (w *worker) end() {
	if w.orderly == 0 || w.cmd.Process.Signal(syscall.SIGTERM) != nil {
		w.kill()
		return
	}
	time.AfterFunc(w.orderly, w.kill)
}

func (w *worker) kill() {
	// An error says that it is gone already.
	_ = w.cmd.Process.Kill()
}

// stop ends the worker, and waits for it. It may be called again.
func (w *worker) stop() {
	if w.cmd.ProcessState != nil {
		return
	}
	w.stdin.Close()
	w.kill()
	_ = w.cmd.Wait() // it was killed: how it ended is no news
}

// close is stop, and removes a log with nothing in it.
func (w *worker) close() {
	w.stop()
	info, err := w.log.Stat()
	w.log.Close()
	if err == nil && info.Size() == 0 {
		// Whatever else is in the folder keeps it; so may a missing permission.
		_ = os.Remove(w.log.Name())
		_ = os.Remove(filepath.Dir(w.log.Name()))
	}
}

// lastWords is what the worker wrote on standard error since the last question,
// for an error message: the line that says why Go gave up, or the last lines.
func (w *worker) lastWords() string {
	const most, lines = 64 << 10, 3
	text, err := io.ReadAll(io.NewSectionReader(w.log, w.heard, most))
	if err != nil {
		return "its log cannot be read: " + err.Error()
	}
	all := strings.Split(string(bytes.TrimSpace(text)), "\n")
	for _, l := range all {
		if strings.HasPrefix(l, "panic: ") || strings.HasPrefix(l, "fatal error: ") {
			return l + "; the stack is in " + w.log.Name()
		}
	}
	if words := strings.Join(all[max(0, len(all)-lines):], " | "); words != "" {
		return "its last words: " + words
	}
	return "it wrote nothing"
}
