package reports

import "pestle/history"

// Totals counts a history. Sends are counted by try, messages by id.
type Totals struct {
	Attempts int64 `json:"attempts"` // sends started
	Acks     int64 `json:"acks"`     // sends confirmed
	Fails    int64 `json:"fails"`    // sends refused for sure
	Unknowns int64 `json:"unknowns"` // sends whose outcome nobody knows
	Messages int64 `json:"messages"` // distinct ids attempted
	Acked    int64 `json:"acked"`    // distinct ids confirmed
	Consumes int64 `json:"consumes"` // deliveries to a handler, over all channels
	Finishes int64 `json:"finishes"`
	Requeues int64 `json:"requeues"`
}

func count(events []history.Event) Totals {
	var t Totals
	acked := map[string]bool{} // id → whether it was acked
	for i := range events {
		e := &events[i]
		switch e.Ev {
		case history.Attempt:
			t.Attempts++
			if !acked[e.ID] {
				acked[e.ID] = false
			}
		case history.Ack:
			t.Acks++
			acked[e.ID] = true
		case history.Fail:
			t.Fails++
		case history.Unknown:
			t.Unknowns++
		case history.Consume:
			t.Consumes++
		case history.Finish:
			t.Finishes++
		case history.Requeue:
			t.Requeues++
		}
	}
	t.Messages = int64(len(acked))
	for _, yes := range acked {
		if yes {
			t.Acked++
		}
	}
	return t
}

// effective counts the faults that took effect, by kind.
func effective(events []history.Event) map[string]int64 {
	n := map[string]int64{}
	for i := range events {
		if e := &events[i]; e.Ev == history.Fault && e.Edge == history.EdgeEffective {
			n[e.What]++
		}
	}
	return n
}
