package conformance

import (
	"fmt"
	"slices"
	"strings"

	"pestle/history"
)

// send is one try of a producer to send a message.
type send struct {
	began  int64
	ended  int64        // when it was answered; 0 with outcome ""
	answer history.Kind // Ack, Fail or Unknown; "": none came
	text   string       // of the answer
}

// sends are those that a producer began from one moment to another.
func (r *Run) sends(producer string, from, to int64) []send {
	type key struct {
		id  string
		try int
	}
	var list []send
	index := map[key]int{}
	for _, e := range r.Events {
		if e.Src != producer {
			continue
		}
		k := key{e.ID, e.Try}
		switch e.Ev {
		case history.Attempt:
			if e.T >= from && e.T <= to {
				index[k] = len(list)
				list = append(list, send{began: e.T})
			}
		case history.Ack, history.Fail, history.Unknown:
			if i, ours := index[k]; ours {
				list[i].ended, list[i].answer, list[i].text = e.T, e.Ev, e.Text
			}
		}
	}
	return list
}

// count counts the events of a kind that a process wrote from one moment to
// another.
func (r *Run) count(process string, kind history.Kind, from, to int64) int {
	n := 0
	for _, e := range r.Events {
		if e.Src == process && e.Ev == kind && e.T >= from && e.T <= to {
			n++
		}
	}
	return n
}

// waits are how long the sends begun in a stretch of time waited for their acks,
// in ascending order.
func (r *Run) waits(producer string, from, to int64) []int64 {
	var list []int64
	for _, s := range r.sends(producer, from, to) {
		if s.answer == history.Ack {
			list = append(list, s.ended-s.began)
		}
	}
	slices.Sort(list)
	return list
}

// quantile returns the value below which so many percent of an ascending list
// are; of too few values there is none.
func quantile(list []int64, percent int) (int64, error) {
	const fewest = 5
	if len(list) < fewest {
		return 0, fmt.Errorf("only %d sends were acknowledged", len(list))
	}
	return list[min(len(list)*percent/100, len(list)-1)], nil
}

// noted returns the first note of a process, or about one, in a stretch of time.
func (r *Run) noted(what, src, target string, from, to int64) (history.Event, bool) {
	i := slices.IndexFunc(r.Events, func(e history.Event) bool {
		return e.Ev == history.Note && e.What == what && (src == "" || e.Src == src) && (target == "" || e.Target == target) &&
			e.T >= from && e.T <= to
	})
	if i < 0 {
		return history.Event{}, false
	}
	return r.Events[i], true
}

// answered counts sends whose answer says something.
func answered(list []send, says string) int {
	n := 0
	for _, s := range list {
		if strings.Contains(s.text, says) {
			n++
		}
	}
	return n
}

// lost counts the messages that were acknowledged and that no consumer ever got,
// although it got later ones of the same producer: a drain that was cut short
// leaves the last ones.
func (r *Run) lost() int {
	const later = second // more than sends that are open together can differ by
	acked, last := map[string]history.Event{}, map[string]int64{}
	consumed := map[string]bool{}
	for _, e := range r.Events {
		switch e.Ev {
		case history.Ack:
			acked[e.ID] = e
		case history.Consume:
			consumed[e.ID] = true
		}
	}
	for id, e := range acked {
		if consumed[id] {
			last[e.Src] = max(last[e.Src], e.T)
		}
	}
	n := 0
	for id, e := range acked {
		if !consumed[id] && e.T < last[e.Src]-later {
			n++
		}
	}
	return n
}
