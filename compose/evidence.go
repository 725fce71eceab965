package compose

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

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

// evidence follows the engine's events of a run.
type evidence struct {
	file *os.File
	done chan struct{}
	stop context.CancelFunc

	err error // set before done is closed
}

// watch begins to follow the events of a run, which end in the file at path.
func (e *Engine) watch(ctx context.Context, run, path string) (*evidence, error) {
	file, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("open the file of the engine's events: %w", err)
	}
	ctx, stop := context.WithCancel(ctx)
	v := &evidence{file: file, stop: stop, done: make(chan struct{})}
	messages, failed := e.api.Events(ctx, events.ListOptions{Filters: filters.NewArgs(
		filters.Arg("type", string(events.ContainerEventType)), filters.Arg("label", labelRun+"="+run))})
	go v.follow(ctx, messages, failed)
	return v, nil
}

func (v *evidence) follow(ctx context.Context, messages <-chan events.Message, failed <-chan error) {
	defer close(v.done)
	for {
		select {
		case m := <-messages:
			line, err := json.Marshal(sightingOf(m))
			if err == nil {
				_, err = v.file.Write(append(line, '\n'))
			}
			if err != nil {
				v.err = fmt.Errorf("write the engine's events: %w", err)
				return
			}
		case err := <-failed:
			if ctx.Err() == nil {
				v.err = fmt.Errorf("follow the engine's events: %w", err)
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

// close ends the following and the file.
func (v *evidence) close() error {
	v.stop()
	<-v.done
	err := v.file.Close()
	if v.err != nil {
		return v.err
	}
	if err != nil {
		return fmt.Errorf("close the file of the engine's events: %w", err)
	}
	return nil
}
