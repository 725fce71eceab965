package checker

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pestle/history"
)

// naive judges ordering, loss and delivery over a whole history, straight from
// the words of the catalog: every event may look at every other one. What the
// checker says online must be the same.
type naive struct {
	cfg    Config
	events []history.Event
}

// facts of an id at some place of the history.
type naiveMessage struct {
	tries     []string // outcomes; "" while open
	ackedAt   int64    // of the first ack
	acks      int
	first     int64 // first attempt
	deferral  int64
	positions []string
}

// upTo gathers an id's facts from the events before index.
func (n *naive) upTo(index int, id string) naiveMessage {
	var m naiveMessage
	for _, e := range n.events[:index] {
		if e.ID != id {
			continue
		}
		switch e.Ev {
		case history.Attempt:
			if len(m.tries) == 0 {
				m.first, m.deferral = e.T, e.Defer
			}
			m.tries = append(m.tries, "")
		case history.Ack, history.Fail, history.Unknown:
			m.tries[e.Try-1] = string(e.Ev)
			if e.Ev == history.Ack {
				if m.acks == 0 {
					m.ackedAt = e.T
				}
				m.acks++
			}
		case history.Consume:
			if len(m.tries) > 0 && !slices.Contains(m.positions, e.Pos) {
				m.positions = append(m.positions, e.Pos)
			}
		}
	}
	return m
}

func (m naiveMessage) failed() int {
	failed := 0
	for _, outcome := range m.tries {
		if outcome == "fail" {
			failed++
		}
	}
	return failed
}

func (m naiveMessage) certain() bool { return m.acks == 1 && len(m.tries)-m.failed() == 1 }

// ordering lists the ids that came after one that was sent after their ack.
func (n *naive) ordering() []string {
	var ids []string
	for i := range n.events {
		if !n.firstDelivery(i) {
			continue
		}
		a := n.upTo(i, n.events[i].ID)
		for j := range i {
			if !n.firstDelivery(j) || partitionOf(n.events[j].Pos) != partitionOf(n.events[i].Pos) {
				continue
			}
			if b := n.upTo(i, n.events[j].ID); a.certain() && a.ackedAt < b.first {
				ids = append(ids, n.events[i].ID)
				break
			}
		}
	}
	return ids
}

func (n *naive) firstDelivery(i int) bool {
	e := n.events[i]
	if e.Ev != history.Consume || e.Channel != "ordered" || e.Attempts != 1 || len(n.upTo(i, e.ID).tries) == 0 || n.upTo(i, e.ID).deferral > 0 {
		return false
	}
	return !slices.ContainsFunc(n.events[:i], func(o history.Event) bool {
		return o.Ev == history.Consume && o.Channel == "ordered" && o.ID == e.ID && len(n.upTo(i, e.ID).tries) > 0
	})
}

// loss lists "<id> <channel>" for each lost message, by ack.
func (n *naive) loss() []string {
	var lost []string
	for i, ack := range n.events {
		if ack.Ev != history.Ack || n.upTo(i, ack.ID).acks > 0 {
			continue
		}
		for _, s := range n.cfg.Streams {
			kept, stored := 0, false
			for _, e := range n.events {
				switch {
				case e.ID != ack.ID || e.Channel != s.Channel:
				case e.Ev == history.Consume:
					kept++
				case e.Ev == history.Requeue:
					kept, stored = kept-1, false // what was seen before says nothing of now
				case e.What == history.NoteStored:
					stored = true
				}
			}
			if kept == 0 && !stored && n.drained(s.Channel) {
				lost = append(lost, ack.ID+" "+s.Channel)
			}
		}
	}
	return lost
}

// drained looks for a drained note after the consume of each last sentinel.
func (n *naive) drained(channel string) bool {
	after := 0 // index behind everything the note must follow
	for _, p := range n.cfg.Producers {
		sentinel := -1
		for i, e := range n.events {
			switch {
			case e.Src == p && e.Ev == history.Attempt:
				sentinel = -1
			case e.Src == p && e.What == history.NoteSentinel:
				sentinel = i
			}
		}
		if sentinel < 0 {
			return false
		}
		consumed := slices.IndexFunc(n.events, func(e history.Event) bool {
			return e.Ev == history.Consume && e.Channel == channel && e.ID == n.events[sentinel].ID
		})
		if consumed < 0 {
			return false
		}
		after = max(after, sentinel, consumed)
	}
	return slices.ContainsFunc(n.events[after:], func(e history.Event) bool {
		return e.What == history.NoteDrained && e.Channel == channel
	})
}

// delivery lists "<id> <breach>" for each breach of the delivery guarantee.
func (n *naive) delivery() []string {
	var list []string
	refused := map[string]bool{}
	for i, e := range n.events {
		m := n.upTo(i, e.ID)
		switch e.Ev {
		case history.Fail:
			m = n.upTo(i+1, e.ID)
			if len(m.positions) > 0 && m.failed() == len(m.tries) && !refused[e.ID] {
				refused[e.ID] = true
				list = append(list, e.ID+" refused")
			}
		case history.Consume:
			if len(m.tries) == 0 {
				continue // a phantom
			}
			if m.failed() == len(m.tries) && !refused[e.ID] {
				refused[e.ID] = true
				list = append(list, e.ID+" refused")
			}
			if !slices.Contains(m.positions, e.Pos) && len(m.positions) >= len(m.tries) {
				list = append(list, e.ID+" position")
			} else if !n.explained(i, m.first) {
				list = append(list, e.ID+" again")
			}
		}
	}
	return list
}

// deliverers names the brokers that the position consumed at index i came from
// on its channel, this time included; "" may be any. Of a message that is
// settled it is kept only if it was one.
func (n *naive) deliverers(i int) map[string]bool {
	e, brokers := n.events[i], map[string]bool{}
	for j, o := range n.events[:i+1] {
		if o.ID != e.ID || len(n.upTo(j, e.ID).tries) == 0 {
			continue
		}
		if o.Ev == history.Consume && o.Channel == e.Channel && o.Pos == e.Pos {
			brokers[o.Target] = true
		}
		if j < i && n.settledByTwo(j+1, e.ID, e.Pos) {
			brokers = map[string]bool{"": true}
		}
	}
	return brokers
}

// settledByTwo reports that before index a message was settled, at the position,
// and that its deliveries did not all come from one named broker.
func (n *naive) settledByTwo(index int, id, pos string) bool {
	m := n.upTo(index, id)
	consumes, brokers := map[string]int{}, map[string]bool{}
	for j, o := range n.events[:index] {
		switch {
		case o.ID != id || len(n.upTo(j, id).tries) == 0:
		case o.Ev == history.Requeue:
			return false
		case o.Ev == history.Consume:
			consumes[o.Channel]++
			brokers[o.Target] = true
		}
	}
	return m.acks == 1 && len(m.tries) == 1 && slices.Equal(m.positions, []string{pos}) &&
		consumes["ordered"] == 1 && consumes["shared"] == 1 && len(brokers) > 1
}

// explained counts the causes of the consume at index i.
func (n *naive) explained(i int, sent int64) bool {
	e, brokers := n.events[i], n.deliverers(i)
	lag := int64(noticeLag)
	if len(brokers) > 1 {
		lag = failoverLag
	}
	blamed := func(o history.Event) bool { return brokers[""] || brokers[o.Target] }
	earlier, causes := int64(0), (e.T-sent)/n.cfg.MsgTimeout
	for _, o := range n.events[:i] {
		if o.ID == e.ID && o.Pos == e.Pos && o.Channel == e.Channel && len(n.upTo(i, e.ID).tries) > 0 {
			switch o.Ev {
			case history.Consume:
				if n.attemptedBefore(o) {
					earlier++
				}
			case history.Requeue:
				if n.attemptedBefore(o) {
					causes++
				}
			}
		}
	}
	for j, o := range n.events {
		switch {
		case o.T > e.T+lag:
		case o.What == history.NoteDisconnected && n.reads(o.Src, e.Channel) && o.T >= sent && (o.Target == "" || blamed(o)):
			causes++
		case o.Ev == history.Fault && o.Edge == history.EdgeEffective &&
			(n.reads(o.Target, e.Channel) || strings.HasPrefix(o.Target, "broker-") && (o.What == "partition" || blamed(o))):
			if n.endOf(j, e.T+lag) >= sent {
				causes++
			}
		}
	}
	return causes >= earlier
}

func (n *naive) attemptedBefore(o history.Event) bool {
	return slices.ContainsFunc(n.events[:slices.Index(n.events, o)], func(e history.Event) bool {
		return e.Ev == history.Attempt && e.ID == o.ID
	})
}

func (n *naive) reads(consumer, channel string) bool {
	return slices.ContainsFunc(n.cfg.Streams, func(s Stream) bool {
		return s.Channel == channel && slices.Contains(s.Consumers, consumer)
	})
}

// endOf is when the fault at index ended; one that had not by limit still
// explains everything.
func (n *naive) endOf(index int, limit int64) int64 {
	for _, o := range n.events[index:] {
		if o.Ev == history.Fault && o.Edge == history.EdgeEnded && o.Ref == n.events[index].Ref && o.T <= limit {
			return o.T
		}
	}
	return 1 << 62
}

func TestOnlineEqualsNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events := histories.Draw(t, "history")
		want, v := naiveJudgement(events), judge(t, referenceConfig(), events)
		for _, slug := range naiveSlugs {
			p := v.property(t, slug)
			var got []string
			for _, x := range p.Violations {
				word := breachWord[x.Cause]
				if slug == NoDataLoss {
					word = " " + x.Channel
				}
				got = append(got, x.ID+word)
			}
			slices.Sort(got)
			if diff := cmp.Diff(want[slug], got); diff != "" && p.Total <= MaxViolations {
				t.Fatalf("%s: naive (-) and online (+) differ:\n%s\n%s", slug, diff, ndjson(events))
			}
		}
	})
}

// TestRandomHistoriesBreakEachProperty guards the comparison against a
// generator that has nothing to compare.
func TestRandomHistoriesBreakEachProperty(t *testing.T) {
	breaches := map[string]int{}
	for seed := range 1000 {
		want := naiveJudgement(histories.Example(seed))
		for _, slug := range naiveSlugs {
			for _, breach := range want[slug] {
				breaches[slug+breach[len("producer-1-"):][strings.IndexByte(breach[len("producer-1-"):]+" ", ' '):]]++
			}
		}
	}
	for _, kind := range []string{
		MessageOrdering, NoDataLoss + " ordered", NoDataLoss + " shared",
		DeliveryGuarantee + " refused", DeliveryGuarantee + " position", DeliveryGuarantee + " again",
		NotEarly + " deferred", NotEarly + " returned",
	} {
		if breaches[kind] < 20 {
			t.Errorf("1000 histories hold %d breaches of %s, want at least 20: %v", breaches[kind], kind, breaches)
		}
	}
}

var naiveSlugs = []string{MessageOrdering, NoDataLoss, DeliveryGuarantee, NotEarly}

func referenceConfig() Config {
	cfg := testConfig()
	cfg.MsgTimeout = 3e9 // some leases expire within a history, some do not
	return cfg
}

// naiveJudgement lists the breaches by property, sorted.
func naiveJudgement(events []history.Event) map[string][]string {
	n := &naive{cfg: referenceConfig(), events: events}
	all := map[string][]string{MessageOrdering: n.ordering(), NoDataLoss: n.loss(), DeliveryGuarantee: n.delivery(), NotEarly: n.early()}
	for _, list := range all {
		slices.Sort(list)
	}
	return all
}

var breachWord = map[string]string{
	"a message appeared although every try of it failed":     " refused",
	"more positions hold one id than it had tries":           " position",
	"a position was consumed again without a recorded cause": " again",
	"deferred message delivered before it was due":           " deferred",
	"message given back delivered before its delay was over": " returned",
}

var histories = rapid.Custom(randomHistory)

func ndjson(events []history.Event) string {
	var text []byte
	for _, e := range events {
		text = history.AppendLine(text, e)
	}
	return string(text)
}
