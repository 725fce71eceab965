//det:ring0

package scenarios

import (
	"fmt"
	"slices"
	"strings"

	"pestle/checker"
	"pestle/faults"
)

// Validate says which value of the plan is out of its bounds or contradicts
// another, or nil.
func (p Plan) Validate() error {
	if p.Schema != PlanSchema {
		return fmt.Errorf("schema is %d, not %d", p.Schema, PlanSchema)
	}
	if !validSlug(p.Scenario) {
		return fmt.Errorf("scenario %q is no name of 1..%d of a-z, 0-9 and -", p.Scenario, maxName)
	}
	if err := p.Target.validate(); err != nil {
		return fmt.Errorf("target: %w", err)
	}
	if err := p.Workload.validate(); err != nil {
		return fmt.Errorf("workload: %w", err)
	}
	if err := p.Phases.validate(); err != nil {
		return fmt.Errorf("phases: %w", err)
	}
	need := resolving(p.Workload.Tries, p.Workload.Timeout, p.Workload.Backoff)
	if need > p.Phases.DrainWithin {
		return fmt.Errorf("phases: drain_within is %d, shorter than the tries of one message may take", p.Phases.DrainWithin)
	}
	if need += p.Workload.holding(); need > p.Phases.DrainWithin {
		return fmt.Errorf("phases: drain_within is %d, shorter than the %d that a message may need to be sent, held back and given back", p.Phases.DrainWithin, need)
	}
	if err := faults.Validate(p.Faults, p.Phases.Quiet, p.Phases.Chaos); err != nil {
		return err
	}
	if p.Network != nil {
		if err := p.Network.validate(); err != nil {
			return fmt.Errorf("network: %w", err)
		}
	}
	if p.Target.Address != "" && len(p.Faults) > 0 {
		return fmt.Errorf("target %s is not started by Pestle and gets no faults, but the plan has %d", p.Target.Address, len(p.Faults))
	}
	for _, f := range p.Faults {
		if err := p.checkFault(f); err != nil {
			return fmt.Errorf("fault %d: %w", f.Ref, err)
		}
	}
	brokers := p.Target.nodes()
	if lost := faults.Lost(p.Faults); lost > faults.Expendable(brokers) && !onlyCorruption(p.Properties) {
		return fmt.Errorf("faults: %s; only %s can be required", tooManyLost(lost, brokers), checker.NoDataCorruption)
	}
	if err := knownOnce("properties", p.Properties, propertySlugs()); err != nil {
		return err
	}
	return knownOnce("claims", p.Claims, checker.ClaimNames())
}

// checkFault holds a fault to the plan's processes and to what a target with so
// many brokers can be asked.
func (p Plan) checkFault(f faults.Fault) error {
	processes := p.Processes()
	if p.Target.clustered() {
		processes = append(processes, p.Target.selectors(false)...)
		processes = append(processes, p.Target.selectors(true)...)
	}
	named := append([]string{f.Target}, f.Side...)
	if f.Peer != "" {
		named = append(named, f.Peer)
	}
	if after := f.Anchor.After; after != nil && after.Point != "" && after.Process != faults.AnyProcess {
		named = append(named, after.Process)
	}
	for _, name := range named {
		if !slices.Contains(processes, name) {
			return fmt.Errorf("no process is named %q; there are %s", name, strings.Join(processes, ", "))
		}
	}
	brokers := p.Target.nodes()
	spec, _ := faults.Find(f.Kind)
	switch {
	case spec.Cluster && brokers == 1:
		return fmt.Errorf("a %s is for a target with several brokers", f.Kind)
	case f.Among != "" && brokers == 1:
		return fmt.Errorf("among %ss, of which there is one", f.Among)
	case f.Away > brokers:
		return fmt.Errorf("away is %d; there are %d brokers", f.Away, brokers)
	}
	return p.checkSide(f)
}

// checkSide holds the side of a partition to those who take part.
func (p Plan) checkSide(f faults.Fault) error {
	brokers, want := p.Target.nodes(), len(f.Side)
	switch f.Shape {
	case faults.Ring:
		if want = len(p.Processes()); f.Among != "" {
			want = brokers
		}
	case faults.Majority:
		want = majority(brokers)
	case faults.Minority:
		want = faults.Expendable(brokers)
	}
	if len(f.Side) != want {
		return fmt.Errorf("side: %d processes in the %s; there have to be %d", len(f.Side), f.Shape, want)
	}
	return nil
}

// majority is how many of so many brokers are a bare majority.
func majority(brokers int) int { return brokers/2 + 1 }

// Processes lists the names of the run's processes: brokers, producers,
// consumers.
func (p Plan) Processes() []string {
	names := p.Target.brokers()
	for _, w := range p.Workload.Producers {
		names = append(names, w.Name)
	}
	for _, w := range p.Workload.Consumers {
		names = append(names, w.Name)
	}
	return names
}

func (t Target) validate() error {
	switch t.Kind {
	case "pestle":
		if t.Durability != "fsync" && t.Durability != "memory" {
			return fmt.Errorf("durability %q is neither fsync nor memory", t.Durability)
		}
		if t.Address != "" || t.HTTP != "" {
			return fmt.Errorf("address and http are for kind nsq")
		}
	case "nsq":
		if t.Durability != "" {
			return fmt.Errorf("durability is for kind pestle; nsqd takes flags")
		}
		if t.Disk != "" || t.Plant != "" || t.Knobs != nil || t.Nodes != 0 {
			return fmt.Errorf("nodes, disk, plant and knobs are for kind pestle")
		}
		if (t.Address == "") != (t.HTTP == "") {
			return fmt.Errorf("address and http go together")
		}
		if t.Address != "" && (!validAddress(t.Address) || !validAddress(t.HTTP)) {
			return fmt.Errorf("address %q and http %q have to be host:port", t.Address, t.HTTP)
		}
		if t.Address != "" && len(t.Flags) > 0 {
			return fmt.Errorf("flags are for a target that Pestle starts; %s runs already", t.Address)
		}
	default:
		return fmt.Errorf("kind %q is neither pestle nor nsq", t.Kind)
	}
	if n := t.nodes(); t.Nodes < 0 || n != 1 && n != 3 && n != 5 {
		return fmt.Errorf("nodes is %d; a cluster has 1, 3 or 5", t.Nodes)
	}
	if t.Disk != "" && t.Disk != DiskSlow && t.Disk != DiskLying {
		return fmt.Errorf("disk %q is neither %s nor %s", t.Disk, DiskSlow, DiskLying)
	}
	if t.Plant != "" && !validSlug(t.Plant) {
		return fmt.Errorf("plant %q is no id of 1..%d of a-z, 0-9 and -", t.Plant, maxName)
	}
	if t.Knobs != nil {
		err := firstError(
			inRange("knobs.file_size", t.Knobs.FileSize, minFileSize, maxFileSize),
			inRange("knobs.cache", t.Knobs.Cache, 1, maxCache),
			inRange("knobs.log", t.Knobs.Log, 0, maxLog),
		)
		if err != nil {
			return err
		}
	}
	if len(t.Flags) > maxFlags {
		return fmt.Errorf("%d flags; there may be %d", len(t.Flags), maxFlags)
	}
	for _, f := range t.Flags {
		if !validFlag(f) {
			return fmt.Errorf("flag %q does not start with - or has more than %d bytes", f, maxFlag)
		}
	}
	return nil
}

func (n Network) validate() error {
	return firstError(
		inRange("latency", n.Latency, 0, maxLatency),
		inRange("spread", n.Spread, 0, maxLatency),
		inRange("asymmetry", n.Asymmetry, 0, 1000),
		inRange("slower_by", n.SlowerBy, 0, maxLatency),
	)
}

func (w Workload) validate() error {
	if !validTopic(w.Topic) {
		return fmt.Errorf("topic %q is no NSQ name", w.Topic)
	}
	if w.AtMostOnce && w.Tries != 1 {
		return fmt.Errorf("tries is %d; at most once means 1", w.Tries)
	}
	err := firstError(
		inRange("tries", int64(w.Tries), 1, maxTries),
		inRange("backoff", w.Backoff, minBackoff, maxBackoff),
		inRange("timeout", w.Timeout, minTimeout, maxTimeout),
		inRange("msg_timeout", w.MsgTimeout, minMsgTimeout, maxMsgTimeout),
		inRange("number of producers", int64(len(w.Producers)), 1, maxProducers),
		inRange("number of consumers", int64(len(w.Consumers)), 1, maxChannels*maxConsumers),
	)
	if err != nil {
		return err
	}
	for i, p := range w.Producers {
		if err := p.validate(i + 1); err != nil {
			return fmt.Errorf("producer %d: %w", i+1, err)
		}
	}
	var names []string
	for i, c := range w.Consumers {
		if err := c.validate(); err != nil {
			return fmt.Errorf("consumer %d: %w", i+1, err)
		}
		if slices.Contains(names, c.Name) {
			return fmt.Errorf("consumer %d: a second %s", i+1, c.Name)
		}
		if w.ConsumeAfterChaos && c.Channel != w.Consumers[0].Channel {
			return fmt.Errorf("consumer %d: a second channel, %s; with consume_after_chaos there can be one", i+1, c.Channel)
		}
		names = append(names, c.Name)
	}
	return nil
}

// holding is how long a message may have to wait at most because the target is
// asked for it, or because a consumer forgot it.
func (w Workload) holding() int64 {
	deferral, back := int64(0), int64(0)
	for _, p := range w.Producers {
		deferral = max(deferral, p.DeferMax)
	}
	for _, c := range w.Consumers {
		if c.RequeuePermille > 0 {
			back = max(back, c.RequeueDelay)
		}
		if c.ForgetPermille > 0 {
			back = max(back, w.MsgTimeout)
		}
	}
	return deferral + back
}

func (p Producer) validate(n int) error {
	if want := producerName(n); p.Name != want {
		return fmt.Errorf("name is %q, not %s", p.Name, want)
	}
	if err := validOnly(p.Only); err != nil {
		return err
	}
	return firstError(
		inRange("interval", p.Interval, second/maxRate, second),
		inRange("pending", int64(p.Pending), 1, maxPending),
		inRange("min_size", int64(p.MinSize), 1, maxPayload),
		inRange("max_size", int64(p.MaxSize), int64(p.MinSize), maxPayload),
		inRange("defer_permille", p.DeferPermille, 0, 1000),
		inRange("defer_min", p.DeferMin, 0, maxDefer),
		inRange("defer_max", p.DeferMax, p.DeferMin, maxDefer),
		wholeMilliseconds("defer_min", p.DeferMin),
		wholeMilliseconds("defer_max", p.DeferMax),
	)
}

// validOnly holds the ranges of counters to one form: ascending, and none that
// could be one with its neighbour.
func validOnly(only [][2]uint64) error {
	if len(only) > maxOnly {
		return fmt.Errorf("only: %d ranges; there may be %d", len(only), maxOnly)
	}
	least := uint64(1)
	for i, r := range only {
		if r[0] < least || r[1] < r[0] || r[1] > maxCounter {
			return fmt.Errorf("only: range %d (%d..%d) is not ascending, behind a gap after the one before it, and within 1..%d", i+1, r[0], r[1], uint64(maxCounter))
		}
		least = r[1] + 2
	}
	return nil
}

func (c Consumer) validate() error {
	number, ok := strings.CutPrefix(c.Name, "consumer-"+c.Channel+"-")
	n, isNumber := parseInt(number)
	if !validTopic(c.Channel) || !ok || !isNumber || n < 1 || n > maxConsumers {
		return fmt.Errorf("name %q is not consumer-<channel>-<n> of channel %q", c.Name, c.Channel)
	}
	return firstError(
		inRange("in_flight", int64(c.InFlight), 1, maxInFlight),
		inRange("requeue_permille", c.RequeuePermille, 0, maxRequeuePermille),
		inRange("requeue_delay", c.RequeueDelay, 0, maxRequeueDelay),
		inRange("forget_permille", c.ForgetPermille, 0, maxRequeuePermille),
	)
}

func (p Phases) validate() error {
	return firstError(
		inRange("warm_up_acks", p.WarmUpAcks, 0, maxWarmUpAcks),
		inRange("warm_up_within", p.WarmUpWithin, minWarmUp, maxWarmUp),
		inRange("chaos", p.Chaos, minChaos, maxChaos),
		inRange("recovery", p.Recovery, minRecovery, maxRecovery),
		inRange("drain_within", p.DrainWithin, minDrain, maxDrain),
	)
}

func inRange(name string, v, lo, hi int64) error {
	if v < lo || v > hi {
		return fmt.Errorf("%s is %d, allowed is %d..%d", name, v, lo, hi)
	}
	return nil
}

func wholeMilliseconds(name string, v int64) error {
	if v%millisecond != 0 {
		return fmt.Errorf("%s is %d ns, not a whole number of milliseconds", name, v)
	}
	return nil
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// knownOnce checks that every name is one of the known ones and none comes
// twice.
func knownOnce(list string, names, known []string) error {
	for i, n := range names {
		if !slices.Contains(known, n) {
			return fmt.Errorf("%s: unknown name %q%s", list, n, didYouMean(n, known))
		}
		if slices.Contains(names[:i], n) {
			return fmt.Errorf("%s: %s stands there twice", list, n)
		}
	}
	return nil
}
