package checker

import (
	"fmt"
	"maps"
	"slices"

	"pgregory.net/rapid"

	"pestle/history"
)

// randomHistory draws a possible history of a target that promises nothing.
func randomHistory(t *rapid.T) []history.Event {
	g := &generator{T: t, now: 1e9, tries: map[string][]string{}, active: map[int]history.Event{}, defers: map[string]int64{}}
	for range rapid.IntRange(1, 120).Draw(t, "events") {
		g.now += rapid.SampledFrom([]int64{0, 1e6, 5e6, 60e6, 500e6}).Draw(t, "pause")
		g.step()
	}
	if rapid.Bool().Draw(t, "drain") {
		g.drain()
	}
	return number(g.events)
}

type generator struct {
	*rapid.T
	now    int64
	events []history.Event
	ids    []string
	tries  map[string][]string // outcomes by id
	active map[int]history.Event
	refs   int
	defers map[string]int64
}

func (g *generator) pick(name string, of []string) string {
	return rapid.SampledFrom(of).Draw(g.T, name)
}

// add appends e. The order of generation stays the merged order: where equal
// times would turn two sources round, time moves on.
func (g *generator) add(e history.Event) {
	if e.Src == "" {
		e.Src = "harness"
	}
	if len(g.events) > 0 && e.Src < g.events[len(g.events)-1].Src && g.now == g.events[len(g.events)-1].T {
		g.now += 1e6
	}
	e.T = g.now
	g.events = append(g.events, e)
}

func (g *generator) step() {
	switch g.pick("step", []string{"send", "send", "send", "end", "end", "end", "retry", "consume", "consume", "consume", "consume", "consume", "consume", "consume", "connect", "disconnect", "fault", "heal", "heal", "stored"}) {
	case "send":
		g.send(g.pick("producer", []string{"producer-1", "producer-2"}))
	case "end":
		g.end()
	case "retry":
		g.retry()
	case "consume":
		g.consumer()
	case "connect":
		g.add(history.Event{Src: g.pick("consumer", []string{"consumer-ordered-1", "consumer-shared-1"}), Ev: history.Note, What: history.NoteConnected, Target: g.broker()})
	case "disconnect":
		g.add(history.Event{Src: g.pick("consumer", []string{"consumer-ordered-1", "consumer-shared-2", "producer-1"}), Ev: history.Note, What: history.NoteDisconnected, Target: g.broker()})
	case "fault":
		g.refs++
		e := history.Event{Ev: history.Fault, What: g.pick("kind", []string{"kill", "clock-jump", "partition"}), Ref: g.refs, Edge: history.EdgeEffective,
			Target: g.pick("target", []string{"broker-1", "broker-2", "consumer-shared-1", "producer-2"})}
		g.active[g.refs] = e
		g.add(e)
	case "heal":
		if refs := slices.Sorted(maps.Keys(g.active)); len(refs) > 0 {
			e := g.active[refs[0]]
			delete(g.active, refs[0])
			e.Edge = history.EdgeEnded
			g.add(e)
		}
	case "stored":
		if len(g.ids) > 0 {
			g.add(history.Event{Ev: history.Note, What: history.NoteStored, ID: g.pick("id", g.ids), Topic: testTopic, Channel: g.pick("channel", []string{"ordered", "shared"})})
		}
	}
}

// broker draws where a delivery comes from, or a connection leads: mostly to
// the same one; empty: it is not said.
func (g *generator) broker() string {
	return g.pick("broker", []string{"broker-1", "broker-1", "broker-1", "broker-1", "broker-2", ""})
}

func (g *generator) send(producer string) string {
	id := fmt.Sprintf("%s-%d", producer, len(g.ids)+1)
	g.ids = append(g.ids, id)
	g.defers[id] = rapid.SampledFrom([]int64{0, 0, 0, 0, 0, 600e6}).Draw(g.T, "deferral")
	g.try(id)
	return id
}

func (g *generator) try(id string) {
	g.tries[id] = append(g.tries[id], "")
	size, sum := content(id)
	g.add(history.Event{Src: id[:len("producer-1")], Ev: history.Attempt, ID: id, Try: len(g.tries[id]), Topic: testTopic, Size: size, Sum: sum, Defer: g.defers[id]})
}

func (g *generator) end() {
	for _, id := range g.ids {
		if last := len(g.tries[id]) - 1; g.tries[id][last] == "" && rapid.Bool().Draw(g.T, "this one") {
			g.outcome(id, g.pick("outcome", []string{"ack", "ack", "ack", "fail", "unknown"}))
			return
		}
	}
}

func (g *generator) outcome(id, outcome string) {
	last := len(g.tries[id]) - 1
	g.tries[id][last] = outcome
	g.add(history.Event{Src: id[:len("producer-1")], Ev: history.Kind(outcome), ID: id, Try: last + 1, Topic: testTopic})
}

func (g *generator) retry() {
	for _, id := range g.ids {
		last := g.tries[id][len(g.tries[id])-1]
		if (last == "fail" || last == "unknown") && len(g.tries[id]) < 3 {
			g.try(id)
			return
		}
	}
}

func (g *generator) consumer() {
	if len(g.ids) == 0 {
		return
	}
	index := rapid.IntRange(0, len(g.ids)-1).Draw(g.T, "message")
	src := g.pick("consumer", []string{"consumer-ordered-1", "consumer-ordered-1", "consumer-shared-1", "consumer-shared-2"})
	channel := map[bool]string{true: "ordered", false: "shared"}[src == "consumer-ordered-1"]
	size, sum := content(g.ids[index])
	copyOf := rapid.SampledFrom([]int{0, 0, 0, 0, 500}).Draw(g.T, "copy")
	e := history.Event{Src: src, Ev: history.Consume, ID: g.ids[index], Topic: testTopic, Channel: channel, Consumer: src,
		Pos: position(fmt.Sprintf("@%d", index+copyOf)), Attempts: rapid.SampledFrom([]int{1, 1, 1, 2}).Draw(g.T, "attempts"), Size: size, Sum: sum, Target: g.broker()}
	g.add(e)
	if rapid.IntRange(0, 4).Draw(g.T, "give back") == 0 {
		g.add(history.Event{Src: src, Ev: history.Requeue, ID: e.ID, Topic: testTopic, Channel: channel, Consumer: src, Pos: e.Pos, Target: e.Target,
			Defer: rapid.SampledFrom([]int64{0, 600e6}).Draw(g.T, "delay")})
	}
}

// drain ends the history with each producer's sentinel, now and then without.
func (g *generator) drain() {
	var sentinels []string
	for _, producer := range []string{"producer-1", "producer-2"} {
		g.now += 1e6
		id := g.send(producer)
		g.outcome(id, "ack")
		sentinels = append(sentinels, id)
		g.add(history.Event{Src: producer, Ev: history.Note, What: history.NoteSentinel, ID: id, Topic: testTopic})
	}
	for _, channel := range []string{"ordered", "shared"} {
		src := "consumer-" + channel + "-1"
		for i, id := range sentinels {
			g.now += 1e6
			if rapid.IntRange(0, 9).Draw(g.T, "sentinel missing") > 0 {
				size, sum := content(id)
				g.add(history.Event{Src: src, Ev: history.Consume, ID: id, Topic: testTopic, Channel: channel, Consumer: src,
					Pos: position(fmt.Sprintf("@%d", 900+i)), Attempts: 1, Size: size, Sum: sum})
			}
		}
		g.now += 1e6
		g.add(history.Event{Ev: history.Note, What: history.NoteDrained, Topic: testTopic, Channel: channel})
	}
}
