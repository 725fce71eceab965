package composer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"pestle/scenarios"
)

const (
	topic   = "pestle-composer"
	ordered = "ordered" // channel of consumer-ordered-1 alone
	shared  = "shared"  // channel of any number of consumers

	msgTimeout = 5 * time.Second
	maxReady   = 20 // the largest RDY of any consumer

	// maxActor bounds the file of an actor, in bytes; real ones have some
	// hundreds.
	maxActor = 64 << 10
)

// channels are those of the topic.
func channels() []string { return []string{ordered, shared} }

// actor is one producer or consumer.
type actor struct {
	name string
	plan scenarios.Plan // that has it alone
	file *os.File       // locked while it is this process's
}

// release lets others have the actor.
func (a *actor) release() { a.file.Close() }

// errTaken means that another process has the actor.
var errTaken = errors.New("another command has it")

// workload is what all actors have in common. Times are those of a client that
// does not give up lightly, for a target on the same machine.
func workload() scenarios.Workload {
	return scenarios.Workload{
		Topic: topic, Tries: 4, Backoff: int64(100 * time.Millisecond), Timeout: int64(time.Second),
		MsgTimeout: int64(msgTimeout),
	}
}

// newProducer makes a producer of its own. How it works is drawn; its payloads
// follow from its name, so that a later life knows them again.
func (g *stage) newProducer() (*actor, error) {
	largest := oneOf(1, 100, 1<<10, 1<<12, 1<<16)
	interval, pending := between(time.Millisecond, 20*time.Millisecond), oneOf(1, 2, 8)
	return g.recruit("producer-", func(name string, n uint64) scenarios.Workload {
		w := workload()
		w.Producers = []scenarios.Producer{{Name: name, Interval: int64(interval), Pending: pending, MinSize: 1, MaxSize: largest, Seed: n}}
		return w
	})
}

// newSharer makes a consumer of the shared channel.
func (g *stage) newSharer(requeue int64) (*actor, error) {
	ready := oneOf(1, 2, 5, maxReady)
	return g.recruit("consumer-"+shared+"-", func(name string, n uint64) scenarios.Workload {
		return consumer(name, shared, ready, requeue, n)
	})
}

func consumer(name, channel string, ready int, requeue int64, seed uint64) scenarios.Workload {
	w := workload()
	w.Consumers = []scenarios.Consumer{{
		Name: name, Channel: channel, InFlight: ready,
		RequeuePermille: requeue, RequeueDelay: int64(50 * time.Millisecond), Seed: seed,
	}}
	return w
}

// theOrdered returns the one consumer of the ordered channel; errTaken while
// another process is it.
func (g *stage) theOrdered() (*actor, error) {
	const name = "consumer-" + ordered + "-1"
	if err := g.write(name, consumer(name, ordered, maxReady, 100, 1)); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return g.take(name)
}

// recruit makes an actor of the first name of its kind that nobody had.
func (g *stage) recruit(prefix string, of func(name string, n uint64) scenarios.Workload) (*actor, error) {
	names, err := g.names()
	if err != nil {
		return nil, err
	}
	n := uint64(0)
	for _, name := range names {
		if digits, ok := strings.CutPrefix(name, prefix); ok {
			had, _ := strconv.ParseUint(digits, 10, 31) // another kind's name has no number here
			n = max(n, had)
		}
	}
	for n++; ; n++ {
		name := prefix + strconv.FormatUint(n, 10)
		err := g.write(name, of(name, n))
		if errors.Is(err, fs.ErrExist) {
			continue // another command was faster
		}
		if err != nil {
			return nil, err
		}
		a, err := g.take(name)
		if errors.Is(err, errTaken) {
			continue // one that settles accounts looked at it first, and gives it back unused
		}
		return a, err
	}
}

func (g *stage) path(name string) string { return filepath.Join(g.State, "actors", name+".json") }

// write makes the file of an actor, whole or not at all; fs.ErrExist when there
// is one.
func (g *stage) write(name string, w scenarios.Workload) error {
	content, err := json.Marshal(w)
	if err != nil {
		panic("composer: encode " + name + ": " + err.Error()) // integers and strings: cannot fail
	}
	temp, err := os.CreateTemp(filepath.Join(g.State, "actors"), ".new-")
	if err != nil {
		return fmt.Errorf("make actor %s: %w", name, err)
	}
	_, err = temp.Write(content)
	err = errors.Join(err, temp.Chmod(0o644), temp.Close())
	if err == nil {
		err = os.Link(temp.Name(), g.path(name))
	}
	if err = errors.Join(err, os.Remove(temp.Name())); err != nil {
		return fmt.Errorf("make actor %s: %w", name, err)
	}
	return nil
}

// take reads an actor and holds its lock, or fails with errTaken.
func (g *stage) take(name string) (*actor, error) {
	file, err := os.Open(g.path(name))
	if err != nil {
		return nil, fmt.Errorf("take actor %s: %w", name, err)
	}
	a := &actor{name: name, file: file}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		a.release()
		if errors.Is(err, unix.EWOULDBLOCK) {
			err = errTaken
		}
		return nil, fmt.Errorf("take actor %s: %w", name, err)
	}
	if a.plan.Workload, err = g.read(name); err != nil {
		a.release()
		return nil, err
	}
	return a, nil
}

// read reads the file of an actor.
func (g *stage) read(name string) (scenarios.Workload, error) {
	var w scenarios.Workload
	info, err := os.Stat(g.path(name))
	if err == nil && info.Size() > maxActor {
		err = fmt.Errorf("it has %d bytes, at most %d are allowed", info.Size(), maxActor)
	}
	var content []byte
	if err == nil {
		content, err = os.ReadFile(g.path(name))
	}
	if err == nil {
		d := json.NewDecoder(bytes.NewReader(content))
		d.DisallowUnknownFields()
		err = d.Decode(&w)
	}
	if err == nil && len(w.Producers)+len(w.Consumers) != 1 {
		err = errors.New("want one producer or consumer in it")
	}
	if err != nil {
		return w, fmt.Errorf("read actor %s: %w", g.path(name), err)
	}
	return w, nil
}

// names lists every actor there ever was, sorted.
func (g *stage) names() ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(g.State, "actors"))
	if err != nil {
		return nil, fmt.Errorf("list the actors: %w", err)
	}
	var names []string
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ".json"); ok && !strings.HasPrefix(name, ".") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}
