//det:ring0

package scenarios

import (
	"strconv"

	"pestle/checker"
	"pestle/faults"
)

// bind makes the scenario of the checked values.
func bind(v values) Scenario {
	s := Scenario{
		Name:   v.text("name"),
		About:  v.text("about"),
		Worlds: v.list("worlds", []string{"process"}),
		Target: Target{
			Kind:       v.text("target.kind"),
			Durability: v.text("target.durability"),
			Address:    v.text("target.address"),
			HTTP:       v.text("target.http"),
			Flags:      v.list("target.flags", nil),
			Plant:      v.text("target.plant"),
		},
		workload:   bindWorkload(v),
		phases:     bindPhases(v),
		properties: v.list("properties", checker.Core()),
		claims:     v.list("claims", nil),
		where:      v.where,
	}
	if s.Target.Kind == "pestle" && s.Target.Durability == "" {
		s.Target.Durability = "fsync"
	}
	s.nodes = []int64{1}
	if got, ok := v.of["target.nodes"]; ok {
		s.nodes = got.set
	}
	if disk := v.text("target.disk"); disk != "honest" {
		s.Target.Disk = disk
	}
	if v.has("target.knobs") {
		s.knobs = &knobs{fileSize: v.span("target.knobs.file_size"), cache: v.span("target.knobs.cache"), log: v.span("target.knobs.log")}
	}
	if v.has("network") {
		s.network = &network{
			latency:   v.span("network.latency"),
			spread:    v.span("network.spread"),
			asymmetry: v.span("network.asymmetry"),
			slowerBy:  v.span("network.slower_by"),
		}
	}
	for i := range v.of["faults"].count {
		s.faults = append(s.faults, bindFault(v, "faults."+strconv.Itoa(i)))
	}
	return s
}

func bindWorkload(v values) workload {
	w := workload{
		topic:             v.text("workload.topic"),
		atMostOnce:        v.text("workload.delivery") == "at-most-once",
		consumeAfterChaos: v.text("workload.consume") == "after-chaos",
		producers:         int(v.number("workload.producers.count")),
		rate:              v.span("workload.producers.rate"),
		pending:           v.span("workload.producers.pending"),
		payload:           v.span("workload.payload"),
		timeout:           v.number("workload.send.timeout"),
		tries:             int(v.number("workload.send.tries")),
		backoff:           v.number("workload.send.backoff"),
		msgTimeout:        v.span("workload.msg_timeout"),
	}
	if v.has("workload.defer") {
		w.deferShare, w.deferBy = v.span("workload.defer.share"), v.span("workload.defer.by")
	}
	if !v.has("workload.send.tries") {
		w.tries = 4
		if w.atMostOnce {
			w.tries = 1
		}
	}
	for i := range v.of["workload.channels"].count {
		at := "workload.channels." + strconv.Itoa(i)
		w.channels = append(w.channels, channel{
			name:         v.text(at + ".name"),
			consumers:    int(v.number(at + ".consumers")),
			inFlight:     v.span(at + ".in_flight"),
			requeue:      v.span(at + ".requeue"),
			requeueDelay: v.span(at + ".requeue_delay"),
			forget:       v.span(at + ".forget"),
		})
	}
	return w
}

func bindPhases(v values) phases {
	return phases{
		warmUpAcks:   v.number("phases.warm_up.acks"),
		warmUpWithin: v.number("phases.warm_up.within"),
		chaos:        v.number("phases.chaos"),
		quietEvery:   v.number("phases.quiet.every"),
		quietFor:     v.number("phases.quiet.for"),
		recovery:     v.number("phases.recovery"),
		drain:        v.number("phases.drain"),
	}
}

func bindFault(v values, at string) faultLine {
	f := faultLine{
		path:   at,
		name:   v.text(at + ".name"),
		kind:   v.text(at + ".kind"),
		target: v.text(at + ".target"),
		chance: v.number(at + ".chance"),
		times:  v.span(at + ".times"),
		length: v.span(at + ".for"),
		shape:  v.text(at + ".shape"),
		peer:   v.text(at + ".peer"),
	}
	for _, name := range faults.Numbers() {
		if v.has(at + "." + name) {
			f.params = append(f.params, parameter{name, v.span(at + "." + name)})
		}
	}
	if v.has(at + ".after") {
		f.after = &afterLine{
			acks:     v.span(at + ".after.acks"),
			attempts: v.span(at + ".after.attempts"),
			fault:    v.text(at + ".after.fault"),
			point:    v.text(at + ".after.point"),
			count:    v.span(at + ".after.count"),
			process:  v.text(at + ".after.process"),
			delay:    v.span(at + ".after.delay"),
		}
	}
	return f
}

func (v values) has(path string) bool {
	_, ok := v.of[path]
	return ok
}

// text returns a text the file gives, or the key's default.
func (v values) text(path string) string {
	if got, ok := v.of[path]; ok {
		return got.text
	}
	return v.keys.must(pattern(path)).byDef
}

// list returns a list the file gives, or another.
func (v values) list(path string, byDefault []string) []string {
	if got, ok := v.of[path]; ok {
		return got.list
	}
	return byDefault
}

// span returns a number or range the file gives, or the key's default.
func (v values) span(path string) span {
	if got, ok := v.of[path]; ok {
		return got.span
	}
	k := v.keys.must(pattern(path))
	if k.byDef == "" {
		return span{}
	}
	parse, _ := reader(k.shape)
	s, ok := parse(k.byDef)
	if !ok {
		panic("scenarios: default of " + k.path)
	}
	return s
}

func (v values) number(path string) int64 { return v.span(path).lo }
