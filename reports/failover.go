package reports

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"pestle/faults"
	"pestle/history"
	"pestle/reports/page"
	"pestle/scenarios"
)

// Failover is what one kill of the leader cost the producers.
type Failover struct {
	Fault   int    `json:"fault"`   // its number in the plan
	Process string `json:"process"` // who led, and was killed
	// FirstAck is how long it took from the signal, ns, until the first send
	// that was started after it was acked: of any producer, by any broker. Never
	// when none was until the end of the run.
	FirstAck int64 `json:"first_ack"`
}

// Failovers lists the kills of the leader that took effect, in the order of
// the events, which are the merged history.
func Failovers(plan scenarios.Plan, events []history.Event) []Failover {
	type send struct {
		id  string
		try int
	}
	var list []Failover
	var since []int64 // when each took effect
	waiting := 0      // the first of the list that waits for an ack: one ack ends all it comes after
	started := map[send]int64{}
	for i := range events {
		e := &events[i]
		of := send{e.ID, e.Try}
		switch e.Ev {
		case history.Fault:
			if e.Edge == history.EdgeEffective && killsLeader(plan, e) {
				list, since = append(list, Failover{Fault: e.Ref, Process: e.Target, FirstAck: faults.Never}), append(since, e.T)
			}
		case history.Attempt:
			started[of] = e.T
		case history.Fail, history.Unknown:
			delete(started, of)
		case history.Ack:
			from, known := started[of]
			for known && waiting < len(list) && from > since[waiting] {
				list[waiting].FirstAck = e.T - since[waiting]
				waiting++
			}
			delete(started, of)
		}
	}
	return list
}

// killsLeader tells whether the plan wanted the event's fault to kill whoever
// leads.
func killsLeader(plan scenarios.Plan, e *history.Event) bool {
	i := e.Ref - 1
	return i >= 0 && i < len(plan.Faults) && plan.Faults[i].Kind == faults.Kill && plan.Faults[i].Target == faults.Leader
}

// FailoverWords sums failovers up for people; it is empty of none. Those that
// no ack followed count as the longest.
func FailoverWords(list []Failover) string {
	if len(list) == 0 {
		return ""
	}
	var times []int64
	never := int64(0)
	for _, f := range list {
		if f.FirstAck == faults.Never {
			never++
			times = append(times, math.MaxInt64)
			continue
		}
		times = append(times, f.FirstAck)
	}
	slices.Sort(times)
	words := []string{page.Counted(int64(len(list)), "leader kill")}
	for _, q := range []struct {
		name    string
		percent int
	}{{"p50", 50}, {"p99", 99}, {"max", 100}} {
		text := "never"
		// The smallest time that so many percent do not exceed.
		if t := times[(len(times)*q.percent+99)/100-1]; t < math.MaxInt64 {
			text = page.Span(t)
		}
		words = append(words, q.name+" "+text)
	}
	if never > 0 {
		words = append(words, fmt.Sprintf("no ack followed %s of them", page.Number(never)))
	}
	return strings.Join(words, " · ")
}
