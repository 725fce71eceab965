package compose

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/docker/docker/api/types/events"
	"github.com/docker/docker/api/types/filters"
)

// eventsName is the file in the run directory with what the engine saw of the
// run's containers, one JSON object a line.
const eventsName = "docker.ndjson"

// sighting is one event of a container: a line of the file.
type sighting struct {
	Time      int64  `json:"time"` // ns since 1970, by the engine's clock
	Container string `json:"container"`
	Action    string `json:"action"`              // start, kill, die, oom, update, …
	Signal    string `json:"signal,omitempty"`    // of kill
	ExitCode  string `json:"exit_code,omitempty"` // of die
}

// evidence follows the engine's events of a run, and remembers for each
// container and action the last one.
type evidence struct {
	file *os.File
	done chan struct{}
	stop context.CancelFunc

	mu   sync.Mutex
	seen map[[2]string]sighting // by container and action
	err  error
}

// watch begins to follow the events of a run, which end in the file at path.
func (e *Engine) watch(ctx context.Context, run, path string) (*evidence, error) {
	file, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("open the file of the engine's events: %w", err)
	}
	ctx, stop := context.WithCancel(ctx)
	v := &evidence{file: file, stop: stop, done: make(chan struct{}), seen: map[[2]string]sighting{}}
	messages, failed := e.api.Events(ctx, events.ListOptions{Filters: filters.NewArgs(
		filters.Arg("type", string(events.ContainerEventType)), filters.Arg("label", labelRun+"="+run))})
	go v.follow(ctx, messages, failed)
	return v, nil
}

func (v *evidence) follow(ctx context.Context, messages <-chan events.Message, failed <-chan error) {
	defer close(v.done)
	lines := bufio.NewWriter(v.file)
	defer lines.Flush() // an error stays with the writer: close asks for it
	for {
		select {
		case m := <-messages:
			s := sightingOf(m)
			v.mu.Lock()
			v.seen[[2]string{s.Container, s.Action}] = s
			v.mu.Unlock()
			line, err := json.Marshal(s)
			if err == nil {
				_, err = lines.Write(append(line, '\n'))
			}
			v.fail(err)
		case err := <-failed:
			if ctx.Err() == nil {
				v.fail(fmt.Errorf("follow the engine's events: %w", err))
			}
			return
		}
	}
}

func sightingOf(m events.Message) sighting {
	action, _, _ := strings.Cut(string(m.Action), ":") // "exec_start: sh" and the like
	return sighting{
		Time: m.TimeNano, Container: m.Actor.Attributes["name"], Action: action,
		Signal: m.Actor.Attributes["signal"], ExitCode: m.Actor.Attributes["exitCode"],
	}
}

// last returns the last event of a container with that action.
func (v *evidence) last(container, action string) (sighting, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	s, ok := v.seen[[2]string{container, action}]
	return s, ok
}

// words tells an event in one line.
func (s sighting) words() string {
	w := "docker: " + s.Action
	if s.Signal != "" {
		w += " signal=" + s.Signal
	}
	if s.ExitCode != "" {
		w += " exitCode=" + s.ExitCode
	}
	return w
}

func (v *evidence) fail(err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.err == nil {
		v.err = err
	}
}

// close ends the following and the file.
func (v *evidence) close() error {
	v.stop()
	<-v.done
	err := v.file.Close()
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.err != nil {
		return v.err
	}
	if err != nil {
		return fmt.Errorf("close the file of the engine's events: %w", err)
	}
	return nil
}
