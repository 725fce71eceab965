package driver

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"pestle/history"
	"pestle/history/stream"
	"pestle/scenarios"
	"pestle/workload"
)

// book is a process's state file and history file, open for writing.
type book struct {
	state   *os.File
	history *stream.Writer
}

// carryOut does effects in their order, and says whether the last was reached.
// After an error the process must end: nothing may follow a line that is
// missing.
func (b *book) carryOut(effects []workload.Effect, w wire) (done bool, err error) {
	for _, e := range effects {
		switch e.Kind {
		case workload.FxState:
			if _, err := b.state.Write(e.Line); err != nil {
				return false, fmt.Errorf("write state: %w", err)
			}
		case workload.FxHistory:
			if _, err := b.history.Append(e.History); err != nil {
				return false, err
			}
		case workload.FxDone:
			return true, nil
		default:
			w.carry(e)
		}
	}
	return false, nil
}

func (b *book) close() {
	// Each line was written when it was due; there is nothing left to fail.
	_ = b.state.Close()
	_ = b.history.Close()
}

// Reconcile rebuilds what the history of a process that is not running lacks
// of its state file. A process does so itself when it starts again; the
// harness calls it in the end for those that did not.
func Reconcile(plan scenarios.Plan, dir, name string) error {
	var b *book
	producer, err := plan.ProducerConfig(name)
	if err == nil {
		b, _, err = openProducer(dir, producer)
	} else {
		var consumer workload.ConsumerConfig
		if _, consumer, err = plan.ConsumerConfig(name); err == nil {
			b, _, err = openConsumer(dir, consumer)
		}
	}
	if err != nil {
		return err
	}
	b.close()
	return nil
}

// openProducer opens a producer's files, reconciles them, and returns where it
// goes on.
func openProducer(dir string, config workload.ProducerConfig) (*book, workload.Resume, error) {
	var state workload.ProducerState
	b, resume, err := open(dir, config.Name, func(file []byte, events []history.Event) ([]history.Event, error) {
		number, err := workload.ProducerNumber(config.Name)
		if err != nil {
			return nil, err
		}
		lines, err := workload.ParseProducerLines(file)
		if err != nil {
			return nil, err
		}
		if state, err = workload.ReplayProducer(number, config.Only, lines); err != nil {
			return nil, err
		}
		return workload.MissingFromProducer(config, lines, events)
	})
	resume.Highest = state.Highest
	return b, resume, err
}

// openConsumer does the same for a consumer.
func openConsumer(dir string, config workload.ConsumerConfig) (*book, workload.Resume, error) {
	return open(dir, config.Name, func(file []byte, events []history.Event) ([]history.Event, error) {
		lines, err := workload.ParseConsumerLines(file)
		if err != nil {
			return nil, err
		}
		return workload.MissingFromConsumer(config, lines, events)
	})
}

// open opens both files of a process, cuts torn last lines off, and writes the
// history lines that compare finds missing.
func open(dir, name string, compare func(state []byte, events []history.Event) ([]history.Event, error)) (*book, workload.Resume, error) {
	statePath := filepath.Join(dir, "state", name+".state")
	historyPath := filepath.Join(dir, "history", name+".ndjson")
	for _, path := range []string{statePath, historyPath} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return nil, workload.Resume{}, fmt.Errorf("make the run directory: %w", err)
		}
	}
	events, err := stream.ReadFile(historyPath)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, workload.Resume{}, err
	}
	state, content, err := openState(statePath)
	if err != nil {
		return nil, workload.Resume{}, err
	}
	lacking, err := compare(content, events)
	if err != nil {
		return nil, workload.Resume{}, errors.Join(locate(err, statePath, historyPath), state.Close())
	}
	writer, err := stream.OpenWriter(historyPath, name)
	if err != nil {
		return nil, workload.Resume{}, errors.Join(err, state.Close())
	}
	b := &book{state: state, history: writer}
	for _, e := range lacking {
		if _, err := writer.Append(e); err != nil {
			b.close()
			return nil, workload.Resume{}, err
		}
	}
	return b, workload.Resume{Incarnation: workload.Incarnations(events) + 1}, nil
}

// openState opens or creates a state file for appending, cuts a torn last line
// off and returns the whole lines.
func openState(path string) (*os.File, []byte, error) {
	content, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("read state: %w", err)
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return nil, nil, fmt.Errorf("open state: %w", err)
	}
	whole := workload.WholeLines(content)
	if whole < len(content) {
		if err := file.Truncate(int64(whole)); err != nil {
			return nil, nil, errors.Join(fmt.Errorf("cut the torn last state line off: %w", err), file.Close())
		}
	}
	return file, content[:whole], nil
}

// locate says in which files the lines of an error are.
func locate(err error, statePath, historyPath string) error {
	var c *workload.Contradiction
	if !errors.As(err, &c) {
		return fmt.Errorf("%s: %w", statePath, err)
	}
	if c.StateLine == 0 {
		return fmt.Errorf("%s:%d: %s", historyPath, c.HistoryLine, c.Text)
	}
	return fmt.Errorf("%s:%d contradicts %s:%d: %s", statePath, c.StateLine, historyPath, c.HistoryLine, c.Text)
}
