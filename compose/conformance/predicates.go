package conformance

import (
	"errors"
	"fmt"
	"slices"

	"pestle/history"
)

const (
	// edge is what is left out at both ends of a window: answers that were on
	// their way, and a harness that looks at the clock in steps.
	edge = 60 * millisecond
	// soon is how long clients and kernels take at most to find out that
	// something works again: an unanswered packet is sent after 200, 400, 800 ms.
	soon = 1700 * millisecond
	// fewest acks or sends show that somebody works, at 40 a second.
	fewest = 5
)

// both are all producers.
func both() []string { return []string{producer, other} }

// halted wants that producers went on trying from one moment to another and got
// no ack.
func halted(r *Run, from, to int64, producers ...string) error {
	var errs []error
	for _, p := range producers {
		if n := r.count(p, history.Attempt, from, to); n < 3 {
			errs = append(errs, fmt.Errorf("%s tried only %d sends", p, n))
		}
		if n := r.count(p, history.Ack, from, to); n > 0 {
			errs = append(errs, fmt.Errorf("%s got %d acks between %.3f and %.3f s", p, n, seconds(from), seconds(to)))
		}
	}
	return errors.Join(errs...)
}

// works wants acks in a stretch of time.
func works(r *Run, from, to int64, producers ...string) error {
	var errs []error
	for _, p := range producers {
		if n := r.count(p, history.Ack, from, to); n < fewest {
			errs = append(errs, fmt.Errorf("%s got only %d acks between %.3f and %.3f s", p, n, seconds(from), seconds(to)))
		}
	}
	return errors.Join(errs...)
}

// resumes wants acks soon after the end of a window.
func resumes(r *Run, w Window, producers ...string) error {
	return works(r, w.Ended, w.Ended+soon, producers...)
}

// told wants that producers lost their connections in a stretch of time.
func told(r *Run, from, to int64, producers ...string) error {
	var errs []error
	for _, p := range producers {
		if _, ok := r.noted(history.NoteDisconnected, p, "", from, to); !ok {
			errs = append(errs, fmt.Errorf("%s lost no connection between %.3f and %.3f s", p, seconds(from), seconds(to)))
		}
	}
	return errors.Join(errs...)
}

// untold wants that they did not.
func untold(r *Run, from, to int64, producers ...string) error {
	var errs []error
	for _, p := range producers {
		if e, ok := r.noted(history.NoteDisconnected, p, "", from, to); ok {
			errs = append(errs, fmt.Errorf("%s lost its connection at %.3f s: %s", p, seconds(e.T), e.Text))
		}
	}
	return errors.Join(errs...)
}

// restarted wants that the target was started again and is ready.
func restarted(r *Run, w Window) error {
	if _, ok := r.noted(history.NoteReady, "", w.Fault.Target, w.From, w.Ended+edge); !ok {
		return fmt.Errorf("%s is not ready again", w.Fault.Target)
	}
	return nil
}

// lives wants that it was not.
func lives(r *Run, w Window) error {
	if e, ok := r.noted(history.NoteReady, "", w.Fault.Target, w.Asked, w.Ended+edge); ok {
		return fmt.Errorf("%s was started again at %.3f s", w.Fault.Target, seconds(e.T))
	}
	return nil
}

// orderly wants that the fault ended its target in one way or the other.
func orderly(r *Run, w Window, want bool) error {
	switch how, known := r.Orderly[w.Fault.Ref]; {
	case !known:
		return fmt.Errorf("%s has not ended", w.Fault.Target)
	case how != want:
		return fmt.Errorf("%s ended in order: %v, want %v", w.Fault.Target, how, want)
	}
	return nil
}

// intact wants that no consumer got what nobody had sent.
func intact(r *Run) error {
	if e, ok := r.noted(history.NoteMalformed, "", "", -hourOf, hourOf); ok {
		return fmt.Errorf("%s was delivered damaged at %.3f s: %s", e.ID, seconds(e.T), e.Text)
	}
	return nil
}

const hourOf = 3600 * second

// refusedOrLost wants that damage on the disk has shown: the target has ended or
// refused to start, or what it had acknowledged was never delivered. No consumer
// must have got anything that is damaged.
func refusedOrLost(r *Run, w Window) error {
	if err := intact(r); err != nil {
		return err
	}
	if _, ended := r.noted(history.NoteExited, "", w.Fault.Target, w.Asked, hourOf); ended {
		return nil
	}
	if r.lost() == 0 {
		return fmt.Errorf("%s has refused nothing, and lost nothing that it had acknowledged", w.Fault.Target)
	}
	return nil
}

// slower wants that the sends of a window waited several times as long as those
// before it.
func slower(r *Run, w Window, times int64, producers ...string) error {
	var errs []error
	for _, p := range producers {
		during, before, err := medians(r, w, p)
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("%s: %w", p, err))
		case during < times*before:
			errs = append(errs, fmt.Errorf("sends of %s waited %.1f ms, before it %.1f ms: less than %d times as long", p, ms(during), ms(before), times))
		}
	}
	return errors.Join(errs...)
}

// medians of how long sends waited in a window and shortly before it.
func medians(r *Run, w Window, p string) (during, before int64, err error) {
	during, err1 := quantile(r.waits(p, w.From, w.To-edge), 50)
	before, err2 := quantile(r.waits(p, w.Asked-second, w.Asked-edge), 50)
	return during, before, errors.Join(err1, err2)
}

// late wants that some sends of a window waited so long at least, and none of
// those of shortly before it.
func late(r *Run, w Window, percent int, wait int64, p string) error {
	during, err := quantile(r.waits(p, w.From, w.To-edge), percent)
	if err != nil {
		return err
	}
	before, err := quantile(r.waits(p, w.Asked-second, w.Asked-edge), percent)
	switch {
	case err != nil:
		return err
	case during < wait:
		return fmt.Errorf("%d %% of the sends of %s waited at most %.1f ms, want %.1f ms or more", percent, p, ms(during), ms(wait))
	case before >= wait:
		return fmt.Errorf("sends of %s waited %.1f ms before it already", p, ms(before))
	}
	return nil
}

// separated wants that one producer was cut off and not told, that the other was
// not, and that the first goes on afterwards.
func separated(r *Run, w Window) error {
	return errors.Join(
		halted(r, w.From+edge, w.To-edge, producer), untold(r, w.Asked, w.To-edge, producer),
		works(r, w.From, w.To, other), resumes(r, w, producer), lives(r, w))
}

// comeback is how long a message stayed away that was given back, and for how
// long it should have, by the consumer's clock.
type comeback struct {
	began, took, wanted int64
	came                bool
}

// comebacks are of the messages that a consumer gave back in a stretch of time.
func (r *Run) comebacks(consumer string, from, to int64) []comeback {
	var list []comeback
	open := map[string]int{}
	for _, e := range r.Events {
		if e.Src != consumer {
			continue
		}
		switch i, waits := open[e.ID]; {
		case e.Ev == history.Requeue && e.T >= from && e.T <= to && e.Defer > 0:
			open[e.ID] = len(list)
			list = append(list, comeback{began: e.T, wanted: e.Defer})
		case e.Ev == history.Consume && waits:
			list[i].took, list[i].came = e.T-list[i].began, true
			delete(open, e.ID)
		}
	}
	return list
}

// connectedBy returns what the target said of a client's connection in the last
// sample before a moment, or the first one after it.
func (r *Run) connectedBy(broker, of string, moment int64, before bool) (wall int64, ok bool) {
	samples := slices.Clone(r.Samples)
	slices.SortStableFunc(samples, func(a, b Sample) int { return int(a.T - b.T) })
	for _, s := range samples {
		at, known := s.Connected[of]
		switch {
		case s.Broker != broker || !known:
		case before && s.T < moment:
			wall, ok = at, true
		case !before && s.T > moment:
			return at, true
		}
	}
	return wall, ok
}

func seconds(t int64) float64 { return float64(t) / float64(second) }

func ms(t int64) float64 { return float64(t) / float64(millisecond) }
