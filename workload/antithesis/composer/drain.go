package composer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"

	"pestle/history"
	"pestle/history/stream"
	"pestle/workload/driver"
)

const (
	// sealers is how many producers send their last message at the same time.
	sealers = 8

	// enough is how many rounds of statistics in a row prove a channel empty.
	enough = 2
)

// drainage is the end of a test: with faults stopped, every producer sends a
// last message, and everything is consumed.
type drainage struct {
	*stage
	diary   *stream.Writer             // what a harness would note
	lastIDs map[string]string          // of producers: their last message; "": none is acked yet
	seen    map[string]map[string]bool // by channel: last messages that were consumed
	follow  []*stream.Tail             // histories of the consumers that run
}

// drain brings the test to its end and tells whether everything was consumed
// within the bound.
func (g *stage) drain(ctx context.Context) (done bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, g.Drain)
	defer cancel()
	dead, err := g.reconcile(ctx)
	if err != nil {
		return false, err
	}
	d := &drainage{stage: g, lastIDs: map[string]string{}, seen: map[string]map[string]bool{}}
	if d.diary, err = g.newDiary(); err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, d.diary.Close()) }()
	for _, e := range dead {
		if _, err := d.diary.Append(e); err != nil {
			return false, err
		}
	}
	if err := d.remember(); err != nil {
		return false, err
	}
	if _, err := d.diary.Append(history.Event{Ev: history.Phase, What: history.PhaseDrain}); err != nil {
		return false, err
	}
	left, err := d.whileConsuming(ctx)
	if err != nil {
		return false, err
	}
	_, err = d.diary.Append(history.Event{Ev: history.Phase, What: history.PhaseVerify})
	return len(left) == 0, err
}

// reconcile completes the history of every actor from its state file, and
// returns, in order of time, that those ended which were killed. They have to be
// gone: the composer ends them before it comes here.
func (g *stage) reconcile(ctx context.Context) (dead []history.Event, err error) {
	names, err := g.names()
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		a, err := g.take(name)
		for errors.Is(err, errTaken) && ctx.Err() == nil {
			pause(ctx, lookEvery)
			a, err = g.take(name)
		}
		if err != nil {
			return nil, fmt.Errorf("%w: end the drivers first", err)
		}
		err = driver.Reconcile(a.plan, g.State, name)
		a.release()
		if err != nil {
			return nil, err
		}
		killed, err := g.killed(name)
		if err != nil {
			return nil, err
		}
		dead = append(dead, killed...)
	}
	slices.SortFunc(dead, func(a, b history.Event) int { return int(min(max(a.T-b.T, -1), 1)) })
	return dead, nil
}

// killed returns the end of an actor that did not end by itself. It bears the
// moment after its last line: whatever followed from its end came later.
func (g *stage) killed(name string) ([]history.Event, error) {
	events, err := stream.ReadFile(g.history(name))
	if err != nil {
		return nil, err
	}
	alive := false
	for _, e := range events {
		if e.Ev == history.Note {
			alive = e.What == history.NoteStarted || alive && e.What != history.NoteStopped
		}
	}
	if !alive {
		return nil, nil
	}
	last := events[len(events)-1]
	return []history.Event{{T: last.T + 1, Ev: history.Note, What: history.NoteExited, Target: name, Text: "killed, or cut off"}}, nil
}

// newDiary opens a history of its own: each drain writes of times before it, and
// a stream never goes back.
func (g *stage) newDiary() (*stream.Writer, error) {
	for n := 1; ; n++ {
		name := fmt.Sprintf("composer-%d", n)
		file, err := os.OpenFile(g.history(name), os.O_CREATE|os.O_EXCL, 0o644)
		if errors.Is(err, os.ErrExist) {
			continue
		}
		if err = errors.Join(err, file.Close()); err != nil {
			return nil, fmt.Errorf("make the history of the drain: %w", err)
		}
		return stream.OpenWriter(g.history(name), name)
	}
}

// remember reads what every producer sent last, and what of that was consumed.
func (d *drainage) remember() error {
	names, err := d.names()
	if err != nil {
		return err
	}
	var consumers []string
	for _, name := range names {
		w, err := d.read(name)
		if err != nil {
			return err
		}
		if len(w.Consumers) > 0 {
			consumers = append(consumers, name)
			continue
		}
		if err := d.lastOf(name); err != nil {
			return err
		}
	}
	for _, channel := range channels() {
		d.seen[channel] = map[string]bool{}
	}
	for _, name := range consumers {
		tail := stream.NewTail(d.history(name))
		_, err := d.drainTail(tail, d.consumed)
		if err := errors.Join(err, tail.Close()); err != nil {
			return err
		}
	}
	return nil
}

// lastOf reads a producer's last message that is acked.
func (d *drainage) lastOf(producer string) error {
	tail, last := stream.NewTail(d.history(producer)), ""
	_, err := d.drainTail(tail, func(e history.Event) {
		if e.Ev == history.Note && e.What == history.NoteSentinel {
			last = e.ID
		}
	})
	d.lastIDs[producer] = last
	return errors.Join(err, tail.Close())
}

// consumed notes a last message that was consumed. It keeps no other: there may
// be very many.
func (d *drainage) consumed(e history.Event) {
	if e.Ev != history.Consume || d.seen[e.Channel] == nil {
		return
	}
	for _, last := range d.lastIDs {
		if last == e.ID {
			d.seen[e.Channel][e.ID] = true
		}
	}
}

// whileConsuming runs a consumer of each channel until nothing is left, or ctx
// ends, and returns the channels where something may be.
func (d *drainage) whileConsuming(ctx context.Context) (left []string, err error) {
	var consumers []*actor
	for _, make := range []func() (*actor, error){d.theOrdered, func() (*actor, error) { return d.newSharer(0) }} {
		a, err := make()
		if err != nil {
			return nil, err
		}
		defer a.release()
		consumers = append(consumers, a)
		tail := stream.NewTail(d.history(a.name))
		defer func() { err = errors.Join(err, tail.Close()) }()
		if _, err := d.drainTail(tail, nil); err != nil { // known from remember
			return nil, err
		}
		d.follow = append(d.follow, tail)
	}
	done := make(chan struct{})
	ended := make(chan error, len(consumers))
	for _, a := range consumers {
		go func() {
			ended <- d.live(context.WithoutCancel(ctx), a, driver.Consume, func(context.Context, func(string)) error {
				<-done
				return nil
			})
		}()
	}
	if err = d.seal(ctx); err == nil {
		left, err = d.watch(ctx)
	}
	close(done)
	for range consumers {
		err = errors.Join(err, <-ended)
	}
	return left, err
}

// seal has every producer send a last message of which none is acked, or whose
// last one some channel has not consumed: it may be lost, and only one that
// comes proves that nothing is left to come.
func (d *drainage) seal(ctx context.Context) error {
	var names []string
	for name, last := range d.lastIDs {
		if last == "" || len(d.missing(last)) > 0 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var mu sync.Mutex
	var errs []error
	var all sync.WaitGroup
	free := make(chan struct{}, sealers)
	for _, name := range names {
		free <- struct{}{}
		all.Go(func() {
			defer func() { <-free }()
			err := d.sealOne(ctx, name)
			mu.Lock()
			defer mu.Unlock()
			errs = append(errs, err)
		})
	}
	all.Wait()
	for _, name := range names {
		errs = append(errs, d.lastOf(name))
	}
	return errors.Join(errs...)
}

func (d *drainage) sealOne(ctx context.Context, name string) error {
	a, err := d.take(name)
	if err != nil {
		return err
	}
	defer a.release()
	_, err = d.publish(ctx, a, 0, d.Drain)
	return err
}

// missing names the channels that have not consumed a message.
func (d *drainage) missing(id string) []string {
	var list []string
	for _, channel := range channels() {
		if !d.seen[channel][id] {
			list = append(list, channel)
		}
	}
	return list
}

// watch follows the consumers and the statistics until every channel has
// consumed all last messages and holds nothing, or ctx ends.
func (d *drainage) watch(ctx context.Context) (left []string, err error) {
	rounds := map[string]int{} // by channel, in a row, in which it held nothing
	for {
		for _, tail := range d.follow {
			if _, err := d.drainTail(tail, d.consumed); err != nil {
				return nil, err
			}
		}
		backlog := d.backlog(ctx)
		left = nil
		for _, channel := range channels() {
			if n, told := backlog[channel]; told && n == 0 {
				rounds[channel]++
			} else {
				rounds[channel] = 0
			}
			if rounds[channel] < enough || !d.complete(channel) {
				left = append(left, channel)
			}
		}
		switch {
		case len(left) == 0:
			return nil, d.noteEmpty()
		case ctx.Err() != nil:
			return left, d.noteLeft(left, backlog)
		}
		pause(ctx, askEvery)
	}
}

// complete tells whether a channel has consumed every producer's last message.
func (d *drainage) complete(channel string) bool {
	for _, last := range d.lastIDs {
		if last == "" || !d.seen[channel][last] {
			return false
		}
	}
	return true
}

func (d *drainage) noteEmpty() error {
	for _, channel := range channels() {
		if _, err := d.diary.Append(history.Event{Ev: history.Note, What: history.NoteDrained, Topic: topic, Channel: channel}); err != nil {
			return err
		}
	}
	return nil
}

func (d *drainage) noteLeft(left []string, backlog map[string]int64) error {
	for _, channel := range left {
		text := "no broker that leads the topic gave statistics"
		if n, told := backlog[channel]; told {
			text = fmt.Sprintf("%d messages left", n)
		}
		if _, err := d.diary.Append(history.Event{Ev: history.Note, What: history.NoteBacklog, Topic: topic, Channel: channel, Text: text}); err != nil {
			return err
		}
	}
	return nil
}
