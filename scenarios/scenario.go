//det:ring0

package scenarios

// Scenario is a scenario file after its checks, defaults filled in. Values that
// are ranges are drawn by Expand. Times are nanoseconds.
type Scenario struct {
	Name   string
	About  string   // one sentence for people
	Worlds []string // worlds it can run in, the preferred one first
	Target Target

	nodes      []int64  // brokers in the cluster, one of them for each seed
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
	fileSize, cache, log span // bytes
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
	count          span   // of point
	process        string // that passes the point; "" when not given
	delay          span
}

// processes lists the names of the processes the scenario starts, beside the
// workload's: brokers first, then producers and consumers.
func (s Scenario) processes() []string {
	names := s.Target.brokers()
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

// windows returns the quiet windows that fit into the chaos whole.
func (p phases) windows() []Quiet {
	var out []Quiet
	for from := p.quietEvery; from+p.quietFor <= p.chaos; from += p.quietEvery {
		out = append(out, Quiet{From: from, To: from + p.quietFor})
	}
	return out
}
