package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

const (
	publishTopic = "bench"

	// Beyond these the machine does too many other things for a conclusion:
	// how far the medians of rounds lie apart, and how late messages are sent.
	noisyRounds = 0.25
	noisyLate   = time.Millisecond
)

// PublishConfig says what RunPublish measures.
type PublishConfig struct {
	Load
	WarmUp  time.Duration // of the same load at each place, not counted
	Rounds  int           // at each place
	Program string        // Pestle's own binary, whose brokers are measured …
	Nodes   int           // … so many of them …
	Dir     string        // … with their data in this directory, whose disk is timed, too
	Brokers []Broker      // run already, and are measured instead; Dir may be empty then
}

// Publish is what RunPublish measured. Times are nanoseconds in JSON.
type Publish struct {
	Load
	Nodes      int      `json:"nodes"`
	Processors int      `json:"processors"`
	Busy       []string `json:"load_average"`   // of the last minute, before and after
	Disk       *Disk    `json:"disk,omitempty"` // nil: where the data are is not known
	Places     []Place  `json:"places"`
	Noise      []string `json:"noise"` // why the figures do not tell much; empty: they do
}

// Disk is an append of one message to a file with its sync, while nothing else
// is written: before each round.
type Disk struct {
	Rounds []Latency `json:"rounds"`
	All    Latency   `json:"all"`
}

// Place is a broker that is published to.
type Place struct {
	Broker
	Leads    bool      `json:"leads"` // the group of the topic; else it has to forward
	Rounds   []Round   `json:"rounds"`
	All      Latency   `json:"all"`
	Segments []Segment `json:"segments"` // append to commit as the leader has them

	answers  *hdrhistogram.Histogram
	segments map[string]*histogram
}

// Round is one load.
type Round struct {
	Latency
	Late   time.Duration `json:"late"` // p99 of how late messages were sent, which counts
	Failed int64         `json:"failed"`
	Why    string        `json:"why,omitempty"`
}

// publishing is a RunPublish under way.
type publishing struct {
	PublishConfig
	leader Broker
	disk   *hdrhistogram.Histogram
	out    Publish
}

// RunPublish measures publishes at the broker that leads and at one that does
// not, in turn. Done is called after each round.
func RunPublish(ctx context.Context, cfg PublishConfig, done func(Place, Round)) (out Publish, err error) {
	p := &publishing{PublishConfig: cfg, disk: newHistogram()}
	if len(cfg.Brokers) == 0 {
		c, err := startCluster(ctx, cfg.Program, cfg.Dir, cfg.Nodes)
		if err != nil {
			return out, err
		}
		defer func() { err = errors.Join(err, c.stop()) }()
		p.Brokers = c.brokers
	}
	p.out = Publish{Load: cfg.Load, Nodes: len(p.Brokers), Processors: runtime.NumCPU(), Busy: []string{loadAverage()}, Noise: []string{}}
	if cfg.Dir != "" {
		p.out.Disk = &Disk{}
	}
	if err := p.place(ctx); err != nil {
		return out, err
	}
	for range cfg.Rounds {
		for i := range p.out.Places {
			round, err := p.round(ctx, &p.out.Places[i])
			if err != nil {
				return out, err
			}
			done(p.out.Places[i], round)
		}
	}
	return p.summary(), nil
}

// place chooses where is published, and warms it up.
func (p *publishing) place(ctx context.Context) error {
	leader, err := leaderOf(ctx, p.Brokers, publishTopic)
	if err != nil {
		return err
	}
	p.leader = p.Brokers[leader]
	chosen := []Broker{p.leader}
	if n := len(p.Brokers); n > 1 {
		chosen = append(chosen, p.Brokers[(leader+1)%n])
	}
	load := p.Load
	load.For = p.WarmUp
	for i, b := range chosen {
		if _, err := send(ctx, b.TCP, publishTopic, load); err != nil {
			return err
		}
		p.out.Places = append(p.out.Places, Place{Broker: b, Leads: i == 0, answers: newHistogram(), segments: map[string]*histogram{}})
	}
	return nil
}

func (p *publishing) round(ctx context.Context, at *Place) (round Round, err error) {
	if p.out.Disk != nil {
		times, err := timeDisk(p.Dir, p.Size)
		if err != nil {
			return round, err
		}
		p.disk.Merge(times)
		p.out.Disk.Rounds = append(p.out.Disk.Rounds, latencyOf(times))
	}
	before, err := p.scrape(ctx, at)
	if err != nil {
		return round, err
	}
	sent, err := send(ctx, at.TCP, publishTopic, p.Load)
	if err != nil {
		return round, err
	}
	after, err := p.scrape(ctx, at)
	if err != nil {
		return round, err
	}
	at.measured(before, after)
	at.answers.Merge(sent.answers)
	round = Round{
		Latency: latencyOf(sent.answers), Failed: sent.failed, Why: sent.why,
		Late: time.Duration(sent.late.ValueAtPercentile(99)),
	}
	at.Rounds = append(at.Rounds, round)
	if still, err := leads(ctx, p.leader, publishTopic); err != nil || !still {
		return round, errors.Join(err, fmt.Errorf("broker %s does not lead any more: a fault, or a machine that is far too busy; measure again", p.leader.TCP))
	}
	return round, nil
}

// scrape reads the segments of the way through a place: its ends are there,
// the rest is at the leader.
func (p *publishing) scrape(ctx context.Context, at *Place) (map[string]histogram, error) {
	segments, err := segmentsOf(ctx, p.leader)
	if err != nil || at.Leads {
		return segments, err
	}
	ends, err := segmentsOf(ctx, at.Broker)
	if err != nil {
		return nil, err
	}
	segments["decode"], segments["reply"] = ends["decode"], ends["reply"]
	return segments, nil
}

func (at *Place) measured(before, after map[string]histogram) {
	for name, now := range after {
		if at.segments[name] == nil {
			at.segments[name] = &histogram{}
		}
		at.segments[name].add(now, before[name])
	}
}

func (p *publishing) summary() Publish {
	out := p.out
	out.Busy = append(out.Busy, loadAverage())
	if out.Disk != nil {
		out.Disk.All = latencyOf(p.disk)
	}
	for i := range out.Places {
		at := &out.Places[i]
		at.All, at.Segments = latencyOf(at.answers), describe(at.segments)
		out.Noise = append(out.Noise, at.noise()...)
	}
	return out
}

// noise says what shows that the machine did other things.
func (at *Place) noise() (lines []string) {
	var medians []time.Duration
	late := time.Duration(0)
	for _, r := range at.Rounds {
		medians = append(medians, r.P50)
		late = max(late, r.Late)
	}
	if d := deviation(medians); d > noisyRounds {
		lines = append(lines, fmt.Sprintf("%s: the medians of the rounds lie %.0f %% apart, and more than %.0f %% is too much", at.TCP, 100*d, 100*noisyRounds))
	}
	if late > noisyLate {
		lines = append(lines, fmt.Sprintf("%s: in some round one message of a hundred was sent %v late or more, and more than %v is too much", at.TCP, late.Round(10*time.Microsecond), noisyLate))
	}
	return lines
}

// loadAverage is how many processes were running or waiting during the last
// minute; "unknown" where the system does not tell.
func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	first, _, found := strings.Cut(string(text), " ")
	if err != nil || !found {
		return "unknown"
	}
	return first
}
