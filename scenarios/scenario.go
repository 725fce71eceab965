//det:ring0

package scenarios

// Scenario is a scenario file after its checks, defaults filled in. Values that
// are ranges are drawn by Expand. Times are nanoseconds.
type Scenario struct {
	Name   string
	About  string   // one sentence for people
	Worlds []string // worlds it can run in, the preferred one first
	Target Target

	knobs      *knobs   // nil: the broker's own
	network    *network // nil: the world's own
	workload   workload
	phases     phases
	faults     []faultLine
	properties []string
	claims     []string

	// where finds the place of a key in the file, for errors that show up
	// later than parsing.
	where map[string]string
}

type knobs struct {
	fileSize, cache span // bytes
}

type network struct {
	latency, spread, slowerBy span
	asymmetry                 span // permille
}

type workload struct {
	topic             string
	atMostOnce        bool
	consumeAfterChaos bool
	producers         int
	rate              span // messages/s of each producer
	pending           span
	payload           span // bytes
	timeout           int64
	tries             int
	backoff           int64
	deferShare        span // permille
	deferBy           span
	msgTimeout        span
	channels          []channel
}

type channel struct {
	name         string
	consumers    int
	inFlight     span
	requeue      span // permille
	requeueDelay span
	forget       span // permille
}

type phases struct {
	warmUpAcks, warmUpWithin int64
	chaos                    int64
	quietEvery, quietFor     int64
	recovery                 int64
	drain                    int64
}

// faultLine is one line of the fault mix.
type faultLine struct {
	path   string // faults.3
	name   string // "" when it has none
	kind   string
	target string
	chance int64 // permille
	times  span
	length span        // the key "for"
	params []parameter // those that are given
	shape  string      // "" when not given
	peer   string      // likewise
	after  *afterLine
}

// parameter is a numeric parameter of a fault line.
type parameter struct {
	name string
	span span
}

// afterLine is what a triggered line waits for; one of acks, attempts, fault
// and point is set.
type afterLine struct {
	acks, attempts span
	fault          string // name of a line
	point          string
	count          span // of point
	delay          span
}

// processes lists the names of the processes the scenario starts, beside the
// workload's: brokers first, then producers and consumers.
func (s Scenario) processes() []string {
	names := []string{"broker-1"}
	for n := 1; n <= s.workload.producers; n++ {
		names = append(names, producerName(n))
	}
	for _, c := range s.workload.channels {
		for n := 1; n <= c.consumers; n++ {
			names = append(names, consumerName(c.name, n))
		}
	}
	return names
}

// candidates lists the processes that a fault line's target stands for: a
// process by its name, or any of a role (producer) or of a channel's consumers
// (consumer-ordered). Nothing fits when it is empty.
func (s Scenario) candidates(target string) []string {
	var out []string
	for _, name := range s.processes() {
		if name == target {
			return []string{name}
		}
		if roleOrChannel(name, s.workload.channels, target) {
			out = append(out, name)
		}
	}
	return out
}

func roleOrChannel(process string, channels []channel, target string) bool {
	switch target {
	case "broker", "producer", "consumer":
		return len(process) > len(target) && process[:len(target)+1] == target+"-"
	}
	for _, c := range channels {
		if target != "consumer-"+c.name {
			continue
		}
		for n := 1; n <= c.consumers; n++ {
			if process == consumerName(c.name, n) {
				return true
			}
		}
	}
	return false
}

// targetWords lists what a fault line's target can be.
func (s Scenario) targetWords() []string {
	words := []string{"broker", "producer", "consumer"}
	for _, c := range s.workload.channels {
		words = append(words, "consumer-"+c.name)
	}
	return append(words, s.processes()...)
}

// windows returns the quiet windows that fit into the chaos whole.
func (p phases) windows() []Quiet {
	var out []Quiet
	for from := p.quietEvery; from+p.quietFor <= p.chaos; from += p.quietEvery {
		out = append(out, Quiet{From: from, To: from + p.quietFor})
	}
	return out
}
