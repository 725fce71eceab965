//det:ring0

package scenarios

import (
	"fmt"
	"strings"

	"pestle/checker"
	"pestle/faults"
)

// shape says how a key's value is written.
type shape uint8

const (
	aMap shape = iota
	aList
	aText
	aName     // topic or channel
	aSlug     // name of a scenario or fault line
	aChoice   // one of key.choices
	choices   // list of different choices
	flags     // list of program flags
	anAddress // host:port
	aNumber   // whole number
	numbers   // whole number or range of them
	byteSizes // number of bytes, with or without a unit, or range of them
	aDuration // whole number with a unit
	durations // duration or range of them
	offsets   // durations that may be negative
	rates     // whole number of messages per second or range of them
	aPercent  // share with one decimal place at most
	percents  // share or range of them
	millionth // parts per million, negative ones too, or range of them
	oneOfSet  // one of key.set or list of different ones
)

// key is one key of a scenario file. The table of all keys is the only place
// that knows them: the loader, schema.json and the handbook follow it.
type key struct {
	path     string // from the top; the items of a list are [].
	shape    shape
	lo, hi   int64    // bounds of a number (in ns, permille, bytes …) or of a list's length
	choices  []string // for choices
	set      []int64  // for a number of a set
	required bool     // in a mapping that is there
	byDef    string   // default, as it would be written; "" none
	about    string
}

// keyTable is the table of all keys, a mapping before its own keys.
type keyTable []key

// keys makes the table; whoever looks up many keys makes it once.
func keys() keyTable {
	all := append(topKeys(), workloadKeys()...)
	all = append(all, phaseKeys()...)
	all = append(all, faultKeys()...)
	return append(all, judgementKeys()...)
}

func topKeys() []key {
	return []key{
		{path: "name", shape: aSlug, required: true, about: "name of the scenario; runs and reports carry it"},
		{path: "about", shape: aText, hi: 200, about: "one sentence for people: what the scenario is for"},
		{path: "worlds", shape: choices, lo: 1, choices: worlds(), byDef: "[process]", about: "worlds it can run in, the preferred one first"},
		{path: "target", shape: aMap, about: "the system under test"},
		{path: "target.kind", shape: aChoice, choices: []string{"pestle", "nsq"}, byDef: "pestle", about: "Pestle's own broker, or nsqd"},
		{path: "target.nodes", shape: oneOfSet, set: []int64{1, 3, 5}, byDef: "1", about: "pestle only: brokers in the cluster, broker-1 and so on; one of a list is drawn for each seed"},
		{path: "target.durability", shape: aChoice, choices: []string{"fsync", "memory"}, about: "pestle only, fsync unless said otherwise: memory acknowledges before the disk has it and must lose messages"},
		{path: "target.flags", shape: flags, hi: maxFlags, about: "extra flags for the target's program"},
		{path: "target.address", shape: anAddress, about: "nsq only: TCP host:port of an nsqd that runs already; it gets no faults"},
		{path: "target.http", shape: anAddress, about: "nsq only: HTTP host:port of that nsqd"},
		{path: "target.disk", shape: aChoice, choices: []string{"honest", DiskSlow, DiskLying}, byDef: "honest", about: "not in process; slow takes 20 ms and more for each sync, as a disk that turns: power losses find more that is not synced; lying acknowledges syncs it did not do: with power losses it must lose messages"},
		{path: "target.plant", shape: aSlug, about: "pestle only: id of a planted bug; needs a program built with -tags plant"},
		{path: "target.knobs", shape: aMap, about: "pestle: sizes in the broker, drawn for each seed; they change when things happen, never what is promised"},
		{path: "target.knobs.file_size", shape: byteSizes, lo: minFileSize, hi: maxFileSize, byDef: "16MiB", about: "of a journal file"},
		{path: "target.knobs.cache", shape: byteSizes, lo: 1, hi: maxCache, byDef: "64MiB", about: "of bodies in memory; others are read back from the journal"},
		{path: "target.knobs.log", shape: byteSizes, lo: minLog, hi: maxLog, about: "of entries in memory, of each group, for brokers that lag; one that lags further gets a snapshot; 8MiB unless said otherwise"},
		{path: "network", shape: aMap, about: "sim only: what the network is like without any fault, drawn for each seed"},
		{path: "network.latency", shape: durations, lo: 0, hi: maxLatency, byDef: "100us", about: "that each packet takes, one way"},
		{path: "network.spread", shape: durations, lo: 0, hi: maxLatency, byDef: "200us", about: "that a packet takes more, on average; most take less and a few much more"},
		{path: "network.asymmetry", shape: percents, lo: 0, hi: 1000, byDef: "0%", about: "chance of each link, each way, to be slower for the whole run"},
		{path: "network.slower_by", shape: durations, lo: 0, hi: maxLatency, byDef: "0s", about: "at most by so much"},
	}
}

func workloadKeys() []key {
	return []key{
		{path: "workload", shape: aMap, required: true, about: "what the clients do"},
		{path: "workload.topic", shape: aName, byDef: "orders", about: "topic all messages go to"},
		{path: "workload.delivery", shape: aChoice, choices: []string{"at-least-once", "at-most-once"}, byDef: "at-least-once", about: "at-most-once never sends a message twice"},
		{path: "workload.consume", shape: aChoice, choices: []string{"always", "after-chaos"}, byDef: "always", about: "after-chaos makes the channel and starts its consumers with the drain: nothing is in flight while faults are active"},
		{path: "workload.producers", shape: aMap, about: "producer processes"},
		{path: "workload.producers.count", shape: aNumber, lo: 1, hi: maxProducers, byDef: "1", about: "number of processes"},
		{path: "workload.producers.rate", shape: rates, lo: 1, hi: maxRate, byDef: "50/s", about: "messages per second of each one, whether or not earlier ones were acked; a range is drawn for each"},
		{path: "workload.producers.pending", shape: numbers, lo: 1, hi: maxPending, byDef: "1", about: "messages of each one whose outcome is open at most; 1 keeps strict order; a range is drawn for each"},
		{path: "workload.payload", shape: byteSizes, lo: 1, hi: maxPayload, byDef: "100..1099", about: "bytes of a message without its envelope, drawn for each"},
		{path: "workload.send", shape: aMap, about: "how one message is sent"},
		{path: "workload.send.timeout", shape: aDuration, lo: minTimeout, hi: maxTimeout, byDef: "1s", about: "without an answer for so long a send is unknown"},
		{path: "workload.send.tries", shape: aNumber, lo: 1, hi: maxTries, about: "sends of one message at most: 4 unless said otherwise, always 1 with at-most-once"},
		{path: "workload.send.backoff", shape: aDuration, lo: minBackoff, hi: maxBackoff, byDef: "50ms", about: "wait before the second send; doubles with each further one"},
		{path: "workload.defer", shape: aMap, about: "deferred publishes: messages that the target has to hold back for a while"},
		{path: "workload.defer.share", shape: percents, lo: 0, hi: 1000, required: true, about: "share of the messages; a range is drawn for each producer"},
		{path: "workload.defer.by", shape: durations, lo: millisecond, hi: maxDefer, required: true, about: "how long, in whole milliseconds; a range is drawn for each message"},
		{path: "workload.channels", shape: aList, lo: 1, hi: maxChannels, required: true, about: "channels of the topic; every one gets every message"},
		{path: "workload.channels[].name", shape: aName, required: true, about: "name of the channel"},
		{path: "workload.channels[].consumers", shape: aNumber, lo: 1, hi: maxConsumers, byDef: "1", about: "consumer processes that share it; with one, order is judged"},
		{path: "workload.channels[].in_flight", shape: numbers, lo: 1, hi: maxInFlight, byDef: "1", about: "messages each consumer holds unfinished at most (RDY); a range is drawn for each"},
		{path: "workload.channels[].requeue", shape: percents, lo: 0, hi: maxRequeuePermille, byDef: "0%", about: "share of first deliveries that the consumer gives back; a range is drawn for each"},
		{path: "workload.channels[].requeue_delay", shape: durations, lo: 0, hi: maxRequeueDelay, byDef: "0s", about: "how long the system has to hold a message given back; a range is drawn for each consumer"},
		{path: "workload.channels[].forget", shape: percents, lo: 0, hi: maxRequeuePermille, byDef: "0%", about: "share of first deliveries that a consumer never answers, so that the lease has to bring them back; one at a time, and none with one message in flight; a range is drawn for each consumer"},
		{path: "workload.msg_timeout", shape: durations, lo: minMsgTimeout, hi: maxMsgTimeout, byDef: "5s", about: "lease of a delivery; without finish or requeue for so long it is delivered again; a range is drawn for each seed"},
	}
}

func phaseKeys() []key {
	return []key{
		{path: "phases", shape: aMap, required: true, about: "timetable of the run"},
		{path: "phases.warm_up", shape: aMap, about: "before the first fault"},
		{path: "phases.warm_up.acks", shape: aNumber, lo: 0, hi: maxWarmUpAcks, byDef: "100", about: "acked messages needed before chaos begins"},
		{path: "phases.warm_up.within", shape: aDuration, lo: minWarmUp, hi: maxWarmUp, byDef: "10s", about: "time for it; else the run is inconclusive"},
		{path: "phases.chaos", shape: aDuration, lo: minChaos, hi: maxChaos, required: true, about: "length of the part with faults"},
		{path: "phases.quiet", shape: aMap, about: "windows without faults inside chaos, where progress is judged"},
		{path: "phases.quiet.every", shape: aDuration, lo: minQuiet, hi: maxChaos, byDef: "5m", about: "from the start of chaos to the first window, and from one start to the next"},
		{path: "phases.quiet.for", shape: aDuration, lo: minQuiet, hi: maxChaos, byDef: "1m", about: "length of a window; one that chaos would cut off is left out"},
		{path: "phases.recovery", shape: aDuration, lo: minRecovery, hi: maxRecovery, byDef: "2s", about: "in a quiet window, a send must be acked and a message consumed within it"},
		{path: "phases.drain", shape: aDuration, lo: minDrain, hi: maxDrain, byDef: "30s", about: "time for the backlog to reach zero after all faults are healed"},
	}
}

func faultKeys() []key {
	var kinds, shapes, points []string
	most := int64(0)
	for _, k := range faults.Kinds() {
		kinds = append(kinds, string(k.Kind))
		most = max(most, k.MaxFor)
	}
	for _, f := range faults.Shapes() {
		shapes = append(shapes, string(f.Shape))
	}
	for _, p := range faults.Points() {
		points = append(points, p.Name)
	}
	all := []key{
		{path: "faults", shape: aList, hi: maxFaultLines, about: "the fault mix; lines do not influence one another's draws"},
		{path: "faults[].name", shape: aSlug, about: "name that another line's after.fault can use"},
		{path: "faults[].kind", shape: aChoice, choices: kinds, required: true, about: "kind of failure"},
		{path: "faults[].target", shape: aText, hi: 2 * maxName, required: true, about: "broker, producer, consumer, consumer-<channel>: one of them, drawn each time; or the name of one process; of a cluster also leader, follower, follower-<n>, metadata-leader, metadata-follower: who that is when the fault begins; brokers, majority: so many at once"},
		{path: "faults[].chance", shape: aPercent, lo: 0, hi: 1000, byDef: "100%", about: "chance of the line to be in a seed's plan at all; below 100% its faults are also left out where they find no place"},
		{path: "faults[].times", shape: numbers, lo: 1, hi: maxTimes, byDef: "1", about: "how often"},
		{path: "faults[].for", shape: durations, lo: 0, hi: most, about: "how long; what that means, and its bounds, stand with the kind"},
	}
	all = append(all, faultParameterKeys()...)
	return append(all, []key{
		{path: "faults[].shape", shape: aChoice, choices: shapes, about: "of a partition"},
		{path: "faults[].peer", shape: aText, hi: 2 * maxName, about: "other end of the link, written like target"},
		{path: "faults[].after", shape: aMap, about: "wait for something instead of a drawn time; exactly one of acks, attempts, fault and point"},
		{path: "faults[].after.acks", shape: numbers, lo: 1, hi: maxAfterCount, about: "that many acks since the start of chaos"},
		{path: "faults[].after.attempts", shape: numbers, lo: 1, hi: maxAfterCount, about: "that many attempts since the start of chaos"},
		{path: "faults[].after.fault", shape: aSlug, about: "the line of that name took effect: the first time of this line after the first time of that one, and so on"},
		{path: "faults[].after.point", shape: aChoice, choices: points, about: "the broker passed that point of its code; in other worlds than sim a drawn time instead"},
		{path: "faults[].after.count", shape: numbers, lo: 1, hi: maxAfterCount, byDef: "1", about: "so many times since the start of chaos; for point only"},
		{path: "faults[].after.process", shape: aText, hi: maxName, about: "who passed it: the name of a broker, or any, which counts all of them together; for point only; unless said otherwise the target where that is a named or drawn broker, else any"},
		{path: "faults[].after.delay", shape: durations, lo: 0, hi: maxTimeout, byDef: "0s", about: "and then so long"},
	}...)
}

// faultParameterKeys makes a key of each numeric parameter of the catalog; its
// bounds are the widest that any kind takes.
func faultParameterKeys() []key {
	var all []key
	for _, name := range faults.Numbers() {
		k := key{path: "faults[]." + name, about: "see the kinds that take it: "}
		for _, s := range faults.Kinds() {
			p, takes := s.Param(name)
			switch {
			case !takes:
				continue
			case k.shape == aMap: // the first
				k.shape, k.lo, k.hi = shapeOf(p), p.Min, p.Max
			default:
				k.lo, k.hi = min(k.lo, p.Min), max(k.hi, p.Max)
				k.about += ", "
			}
			k.about += string(s.Kind)
		}
		all = append(all, k)
	}
	return all
}

// shapeOf tells how a parameter of the catalog is written.
func shapeOf(p faults.Param) shape {
	switch {
	case p.Unit == faults.InNanoseconds && p.Min < 0:
		return offsets
	case p.Unit == faults.InNanoseconds:
		return durations
	case p.Unit == faults.InPermille:
		return percents
	case p.Unit == faults.InPPM:
		return millionth
	case p.Unit == faults.InBytes:
		return byteSizes
	}
	return numbers
}

func judgementKeys() []key {
	return []key{
		{path: "properties", shape: choices, lo: 1, choices: propertySlugs(), about: "properties that decide the run's status; the first seven unless said otherwise"},
		{path: "claims", shape: choices, choices: checker.ClaimNames(), about: "things the run must have met at least once, or it is inconclusive; none unless said otherwise"},
	}
}

// at returns the key of a path whose list positions are already [].
func (t keyTable) at(path string) (key, bool) {
	for _, k := range t {
		if k.path == path {
			return k, true
		}
	}
	return key{}, false
}

// must is at for the paths that the loader itself spells out.
func (t keyTable) must(path string) key {
	k, ok := t.at(path)
	if !ok {
		panic("scenarios: no key " + path)
	}
	return k
}

// children lists the last words of the keys directly below a pattern.
func (t keyTable) children(pattern string) []string {
	var out []string
	for _, k := range t {
		name, ok := k.path, true
		if pattern != "" {
			name, ok = strings.CutPrefix(k.path, pattern+".")
		}
		if ok && !strings.ContainsAny(name, ".[") {
			out = append(out, name)
		}
	}
	return out
}

// bounds writes the key's bounds as its values are written, "" without any.
func (k key) bounds() string {
	format := k.shape.format()
	if format == nil {
		return ""
	}
	return fmt.Sprintf("%s..%s", format(k.lo), format(k.hi))
}

// format returns how a number of the shape is written, nil for other shapes.
func (s shape) format() func(int64) string {
	switch s {
	case aNumber, numbers:
		return formatInt
	case byteSizes:
		return formatSize
	case aDuration, durations, offsets:
		return formatDuration
	case rates:
		return formatRate
	case aPercent, percents:
		return formatPercent
	case millionth:
		return formatPPM
	}
	return nil
}

// wanted says in words how the key's value is written.
func (k key) wanted() string {
	switch k.shape {
	case aMap:
		return "a mapping of keys"
	case aList:
		return "a list of mappings"
	case aText:
		return "a text of at most " + formatInt(k.hi) + " bytes"
	case aName:
		return "1 to 64 letters, digits, '.', '_' and '-'"
	case aSlug:
		return "1 to 64 of a-z, 0-9 and '-', beginning with a letter"
	case aChoice:
		return "one of " + strings.Join(k.choices, ", ")
	case oneOfSet:
		return "one of " + joinNumbers(k.set) + " or a list of them such as [" + joinNumbers(k.set[1:]) + "]"
	case choices:
		return "a list of " + strings.Join(k.choices, ", ")
	case flags:
		return "a list of flags such as --sync-every=1"
	case anAddress:
		return "host:port"
	case aNumber:
		return "a whole number, " + k.bounds()
	case numbers:
		return "a whole number or a range such as 2..5, " + k.bounds()
	case byteSizes:
		return "a number of bytes such as 100 or 64KiB or a range such as 100..1099, " + k.bounds()
	case aDuration:
		return "a whole number with its unit us, ms, s, m or h such as 300ms, " + k.bounds()
	case durations:
		return "a whole number with its unit us, ms, s, m or h such as 300ms or a range such as 300ms..2s, " + k.bounds()
	case offsets:
		return "a whole number with its unit us, ms, s, m or h such as 300ms or -2s or a range such as -2s..2s, " + k.bounds()
	case rates:
		return "whole messages per second such as 80/s or a range such as 20/s..80/s, " + k.bounds()
	case aPercent:
		return "a percentage such as 1% or 0.5%, " + k.bounds()
	case percents:
		return "a percentage such as 1% or 0.5% or a range such as 0.5%..20%, " + k.bounds()
	case millionth:
		return "parts per million such as 200ppm or a range such as -200ppm..200ppm, " + k.bounds()
	}
	panic("scenarios: shape without words")
}

func joinNumbers(list []int64) string {
	var words []string
	for _, n := range list {
		words = append(words, formatInt(n))
	}
	return strings.Join(words, ", ")
}

// pattern replaces the positions in lists of a full path by [].
func pattern(path string) string {
	var out []string
	for _, word := range strings.Split(path, ".") {
		if _, isPosition := parseInt(word); isPosition && len(out) > 0 {
			out[len(out)-1] += "[]"
			continue
		}
		out = append(out, word)
	}
	return strings.Join(out, ".")
}
