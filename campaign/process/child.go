package process

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"
)

// child is one process of the run over all its incarnations.
type child struct {
	name string
	args []string // program and arguments, the same at every start
	env  []string // of its environment, beside the harness's own
	log  string   // file of its output

	process *os.Process    // nil while it is down
	stdin   io.WriteCloser // control lines; its end tells the child that the harness is gone
	lives   int            // incarnations started
}

// nursery starts processes. The kernel ties a child's parent-death signal to
// the thread that started it, so one locked thread starts them all and lives
// as long as the harness.
type nursery struct{ starts chan func() }

func newNursery() *nursery {
	n := &nursery{starts: make(chan func())}
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

// start begins a new incarnation of c, for which the caller has to wait. Its
// output is appended to its log.
func (n *nursery) start(c *child) (*exec.Cmd, error) {
	if c.process != nil {
		return nil, fmt.Errorf("start %s: it is running already (pid %d)", c.name, c.process.Pid)
	}
	log, err := os.OpenFile(c.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("start %s: open its log: %w", c.name, err)
	}
	defer log.Close()
	cmd := exec.Command(c.args[0], c.args[1:]...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = append(os.Environ(), c.env...)
	// Its own process group: a Ctrl-C at the terminal reaches the harness
	// only, which then ends its children in order.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", c.name, err)
	}
	started := make(chan error)
	n.starts <- func() { started <- cmd.Start() }
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", c.name, err)
	}
	c.process, c.stdin = cmd.Process, stdin
	c.lives++
	return cmd, nil
}

// gone notes that c's process has ended.
func (c *child) gone() {
	if c.stdin != nil {
		c.stdin.Close()
	}
	c.process, c.stdin = nil, nil
}

// signal sends sig to the child's process; os.ErrProcessDone when there is none
// any more.
func (c *child) signal(sig syscall.Signal) error {
	if c.process == nil {
		return fmt.Errorf("send %v to %s: %w", sig, c.name, os.ErrProcessDone)
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
