package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"pestle/campaign"
	"pestle/campaign/conductor"
	"pestle/compose"
	"pestle/faults"
	"pestle/history"
	"pestle/history/stream"
	"pestle/scenarios"
)

// Contained carries a plan out in containers, with dir, which has to be empty,
// as its run directory.
func Contained(ctx context.Context, p scenarios.Plan, dir string) (*Run, error) {
	if err := scenarios.WritePlan(filepath.Join(dir, conductor.PlanName), p); err != nil {
		return nil, err
	}
	r := &Run{World: campaign.WorldDocker, Plan: p}
	host := &askedHost{Host: compose.New(compose.Options{}), brokers: brokersOf(p)}
	var events []history.Event
	outcome, err := conductor.New(conductor.Options{
		Plan: p, Dir: dir, Host: host,
		Sink: func(e history.Event) error { events = append(events, e); return nil },
	}).Run(ctx)
	switch {
	case err != nil:
		return nil, fmt.Errorf("run %s in containers: %w", p.Scenario, err)
	case outcome.Interrupted:
		return nil, fmt.Errorf("run %s in containers: %w", p.Scenario, context.Cause(ctx))
	}
	r.Faults, r.LeftOut, r.Samples = outcome.Faults, outcome.LeftOut, host.samples
	if err := r.readJournal(filepath.Join(dir, conductor.ActuationsName)); err != nil {
		return nil, err
	}
	if err := r.take(events); err != nil {
		return nil, fmt.Errorf("run %s in containers: %w", p.Scenario, err)
	}
	return r, nil
}

// brokersOf counts the brokers of a plan, those that replace others too.
func brokersOf(p scenarios.Plan) int {
	n := max(p.Target.Nodes, 1)
	for _, f := range p.Faults {
		if f.Kind == faults.Replace {
			n++
		}
	}
	return n
}

// readJournal takes from the journal of actuations what the agents have counted
// and how processes ended.
func (r *Run) readJournal(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read the journal of actuations: %w", err)
	}
	r.Orderly = map[int]bool{}
	for d := json.NewDecoder(bytes.NewReader(text)); d.More(); {
		var line conductor.Line
		if err := d.Decode(&line); err != nil {
			return fmt.Errorf("read %s: %w", path, err)
		}
		if line.Edge == history.EdgeEnded {
			r.Orderly[line.Ref] = strings.HasPrefix(line.Evidence, "exit status 0")
			r.Met.Doubled += counted(line.Evidence, "doubled")
			r.Met.Damaged += counted(line.Evidence, "damaged")
		}
	}
	return nil
}

var counters = regexp.MustCompile(`(\d+) (doubled|damaged)`)

// counted returns the number before a word in a line of evidence; 0: the word
// does not stand there.
func counted(evidence, word string) int64 {
	for _, found := range counters.FindAllStringSubmatch(evidence, -1) {
		if found[2] == word {
			n, err := strconv.ParseInt(found[1], 10, 64)
			if err == nil {
				return n
			}
		}
	}
	return 0
}

const (
	sampleEvery  = 250 * time.Millisecond
	sampleWithin = 500 * time.Millisecond // a broker that is down or frozen says nothing
)

// askedHost is a host whose brokers are asked for their statistics all the time.
type askedHost struct {
	conductor.Host
	brokers int
	stop    context.CancelFunc // nil: nobody asks
	asking  sync.WaitGroup

	mu      sync.Mutex
	samples []Sample
}

// Prepare prepares the host, and begins to ask.
func (h *askedHost) Prepare(ctx context.Context, l conductor.Layout) error {
	if err := h.Host.Prepare(ctx, l); err != nil {
		return err
	}
	ctx, h.stop = context.WithCancel(context.WithoutCancel(ctx))
	for n := 1; n <= h.brokers; n++ {
		call := h.Address(n).Call
		h.asking.Go(func() { h.ask(ctx, fmt.Sprintf("%s-%d", faults.Broker, n), call) })
	}
	return nil
}

// Close ends the asking, and closes the host.
func (h *askedHost) Close() error {
	if h.stop != nil {
		h.stop()
		h.asking.Wait()
	}
	return h.Host.Close()
}

func (h *askedHost) ask(ctx context.Context, broker, call string) {
	web := http.Client{Timeout: sampleWithin, Transport: &http.Transport{DisableKeepAlives: true}}
	for ctx.Err() == nil {
		if s, err := sample(ctx, &web, broker, call); err == nil {
			h.mu.Lock()
			h.samples = append(h.samples, s)
			h.mu.Unlock()
		}
		select {
		case <-ctx.Done():
		case <-time.After(sampleEvery):
		}
	}
}

// client is the part of a connection in /stats that a Sample has.
type client struct {
	ID        string `json:"client_id"`
	Connected int64  `json:"connect_ts"` // s since the epoch
}

// sample asks a broker for its statistics.
func sample(ctx context.Context, web *http.Client, broker, call string) (Sample, error) {
	var said struct {
		Quarantine string `json:"quarantine"`
		Groups     []struct {
			Peers []struct {
				Node    uint64 `json:"node"`
				Learner bool   `json:"learner"`
			} `json:"peers"`
		} `json:"groups"`
		Topics []struct {
			Channels []struct {
				Clients []client `json:"clients"`
			} `json:"channels"`
		} `json:"topics"`
		Producers []client `json:"producers"`
	}
	ask, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+call+"/stats?format=json&include_mem=false", http.NoBody)
	if err != nil {
		return Sample{}, fmt.Errorf("ask %s: %w", broker, err)
	}
	answer, err := web.Do(ask)
	if err != nil {
		return Sample{}, fmt.Errorf("ask %s: %w", broker, err)
	}
	defer answer.Body.Close()
	if err := json.NewDecoder(http.MaxBytesReader(nil, answer.Body, 1<<20)).Decode(&said); err != nil {
		return Sample{}, fmt.Errorf("read the statistics of %s: %w", broker, err)
	}
	s := Sample{T: stream.Now(), Broker: broker, Quarantine: said.Quarantine, Connected: map[string]int64{}, Votes: map[uint64]bool{}}
	clients := said.Producers
	for _, t := range said.Topics {
		for _, ch := range t.Channels {
			clients = append(clients, ch.Clients...)
		}
	}
	for _, c := range clients {
		s.Connected[c.ID] = c.Connected * second
	}
	for _, g := range said.Groups {
		for _, p := range g.Peers {
			s.Votes[p.Node] = !p.Learner
		}
	}
	return s, nil
}
