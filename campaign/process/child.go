package process

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
)

// role tells what a child is to the run.
type role int

const (
	roleBroker role = iota
	roleProducer
	roleConsumer
)

// child is one process of the run over all its incarnations.
type child struct {
	name string
	role role
	node *node    // roleBroker: which one it is
	args []string // program and arguments
	dir  string   // run directory: logs go to logs/<name>.log

	process *os.Process    // nil while it is down
	stdin   io.WriteCloser // control lines; its end tells the child that the harness is gone
	lives   int            // incarnations started

	ready bool           // this incarnation works: a broker answers, a client has begun
	asked syscall.Signal // what was sent to end it: for a fault, or at the end of the run; 0: nothing
}

// exit reports that a child's incarnation has ended.
type exit struct {
	child *child
	life  int
	state *os.ProcessState
	err   error
}

// nursery starts processes. The kernel ties a child's parent-death signal to
// the thread that started it, so one locked thread starts them all and lives
// as long as the harness.
type nursery struct {
	starts chan func()
	exits  chan exit
}

func newNursery() *nursery {
	n := &nursery{starts: make(chan func()), exits: make(chan exit, 64)}
	go func() {
		runtime.LockOSThread()
		for start := range n.starts {
			start()
		}
		// Returning without UnlockOSThread would end the thread and with it
		// the children; the nursery closes only after they are gone.
	}()
	return n
}

func (n *nursery) close() { close(n.starts) }

// start begins a new incarnation of c. Its output is appended to its log.
func (n *nursery) start(c *child) error {
	if c.process != nil {
		return fmt.Errorf("start %s: it is running already (pid %d)", c.name, c.process.Pid)
	}
	log, err := os.OpenFile(c.logPath(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("start %s: open its log: %w", c.name, err)
	}
	defer log.Close()
	cmd := exec.Command(c.args[0], c.args[1:]...)
	cmd.Stdout, cmd.Stderr = log, log
	// Its own process group: a Ctrl-C at the terminal reaches the harness
	// only, which then ends its children in order.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return fmt.Errorf("start %s: %w", c.name, err)
	}
	started := make(chan error)
	n.starts <- func() { started <- cmd.Start() }
	if err := <-started; err != nil {
		return fmt.Errorf("start %s: %w", c.name, err)
	}
	c.process, c.stdin = cmd.Process, stdin
	c.lives++
	life := c.lives
	go func() {
		err := cmd.Wait()
		var status *exec.ExitError
		if errors.As(err, &status) {
			err = nil // the state says it
		}
		n.exits <- exit{child: c, life: life, state: cmd.ProcessState, err: err}
	}()
	return nil
}

// askTo sends a signal that is to end the child's process. That it has ended by
// itself just now is no error here: its exit is about to be reported, as one
// that nobody asked for.
func (c *child) askTo(end syscall.Signal) error {
	err := c.signal(end)
	switch {
	case err == nil:
		c.asked = end
	case errors.Is(err, os.ErrProcessDone):
		return nil
	}
	return err
}

// endedAsAsked reports that the process ended as it was asked to: by the
// signal, or, of SIGTERM, in order. A signal also reaches a process that has
// just crashed and is not yet reaped; only how it ended tells the two apart.
func (c *child) endedAsAsked(state *os.ProcessState) bool {
	status, ok := state.Sys().(syscall.WaitStatus)
	switch {
	case !ok || c.asked == 0:
		return false
	case status.Signaled():
		return status.Signal() == c.asked
	}
	return c.asked == syscall.SIGTERM && state.Success()
}

// gone notes that c's process has ended.
func (c *child) gone() {
	if c.stdin != nil {
		c.stdin.Close()
	}
	c.process, c.stdin = nil, nil
}

func (c *child) running() bool { return c.process != nil }

// spare tells that c is a broker that is no member: not yet, or not any more.
func (c *child) spare() bool { return c.node != nil && !c.node.member }

// signal sends sig to the child's process.
func (c *child) signal(sig syscall.Signal) error {
	if c.process == nil {
		return fmt.Errorf("send %v to %s: it is not running", sig, c.name)
	}
	if err := c.process.Signal(sig); err != nil {
		return fmt.Errorf("send %v to %s (pid %d): %w", sig, c.name, c.process.Pid, err)
	}
	return nil
}

// tell writes one control line to the child.
func (c *child) tell(line string) error {
	if c.stdin == nil {
		return fmt.Errorf("tell %s to %s: it is not running", c.name, line)
	}
	if _, err := io.WriteString(c.stdin, line+"\n"); err != nil {
		return fmt.Errorf("tell %s to %s: %w", c.name, line, err)
	}
	return nil
}

func (c *child) logPath() string { return filepath.Join(c.dir, "logs", c.name+".log") }

// lastWords returns the last lines of the child's log, for an error message; of
// a Go program that crashed, the line that says why, far above the end.
func (c *child) lastWords() string {
	const tail, lines = 64 << 10, 3
	file, err := os.Open(c.logPath())
	if err != nil {
		return "its log cannot be read: " + err.Error()
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil && info.Size() > tail {
		if _, err := file.Seek(-tail, io.SeekEnd); err != nil {
			return "its log cannot be read: " + err.Error()
		}
	}
	text, err := io.ReadAll(io.LimitReader(file, tail))
	if err != nil {
		return "its log cannot be read: " + err.Error()
	}
	all := strings.Split(strings.TrimSpace(string(text)), "\n")
	for i, line := range all {
		all[i] = strings.TrimSpace(line)
	}
	for _, line := range slices.Backward(all) {
		for _, crash := range []string{"panic: ", "fatal error: ", "SIGABRT: ", "SIGQUIT: ", "SIGSEGV: ", "SIGBUS: "} {
			if strings.HasPrefix(line, crash) {
				return line
			}
		}
	}
	if len(all) > lines {
		all = all[len(all)-lines:]
	}
	words := strings.Join(all, " | ")
	if words == "" {
		words = "it wrote nothing"
	}
	return words
}
