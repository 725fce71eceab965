package conformance

import (
	"errors"
	"fmt"

	"pestle/faults"
	"pestle/history"
)

const (
	outage   = 800 * millisecond // shorter than anybody's patience, so that nobody hangs up
	slowLink = 2000              // bytes per second
	longWay  = 150 * millisecond
)

// networkRows are about the link between one producer and the broker; the other
// producer's is as it was.
func networkRows() []Row {
	return []Row{
		{
			Fault: faults.Fault{Kind: faults.Partition, Target: one, For: outage, Shape: faults.Halves, Side: []string{one, other, ordered, shared}},
			Says:  "the producer on the other side gets no ack and is not told; the one on the broker's side goes on",
			Seen:  separated,
		},
		{
			Fault: faults.Fault{Kind: faults.Cut, Target: one, Peer: producer, For: outage},
			Says:  "the producer gets no ack and is not told; the other one goes on",
			Seen:  separated,
		},
		{
			Fault: faults.Fault{Kind: faults.Silence, Target: producer, For: outage},
			Says:  "the producer gets no ack and is not told; the other one goes on",
			Seen:  separated,
		},
		{
			Fault: faults.Fault{Kind: faults.Jam, Target: one, Peer: producer, For: outage},
			Says:  "the producer gets no ack and is not told; then it gets all in a burst, without waiting to send again",
			Seen:  jammed,
		},
		{
			Fault: faults.Fault{Kind: faults.Clog, Target: one, Peer: producer, For: 2 * second, BytesPerSecond: slowLink},
			Says:  "no more than the link carries is acknowledged",
			Rest:  2500 * millisecond,
			Seen:  clogged,
		},
		{
			Fault: faults.Fault{Kind: faults.Latency, Target: one, Peer: producer, For: 1500 * millisecond, Delay: longWay},
			Says:  "a round trip takes twice the delay longer, and is as quick as before afterwards",
			Seen:  farAway,
		},
		{
			Fault: faults.Fault{Kind: faults.Loss, Target: one, Peer: producer, For: 2 * second, Rate: 300},
			Says:  "some sends wait for a packet to be sent again; all are acknowledged",
			Rest:  2500 * millisecond,
			Seen: func(r *Run, w Window) error {
				return errors.Join(late(r, w, 90, 100*millisecond, producer), untold(r, w.Asked, w.Ended, producer), works(r, w.From, w.To, other), resumes(r, w, producer))
			},
		},
		{
			Fault: faults.Fault{Kind: faults.Reorder, Target: one, Peer: producer, For: 1500 * millisecond, Rate: 500, Delay: 100 * millisecond},
			Says:  "some sends wait for a packet that was overtaken; the connection stands",
			Seen: func(r *Run, w Window) error {
				return errors.Join(late(r, w, 90, 50*millisecond, producer), untold(r, w.Asked, w.Ended, producer), works(r, w.From, w.To, other), resumes(r, w, producer))
			},
		},
		{
			Fault: faults.Fault{Kind: faults.Refuse, Target: one, Peer: producer, For: second},
			Says:  "the producer loses its connection, is refused a new one, and gets one afterwards",
			Seen:  refused,
		},
		{
			Fault: faults.Fault{Kind: faults.Reset, Target: producer},
			Says:  "the producer loses its connection and has another one at once",
			Rest:  2500 * millisecond,
			Seen:  torn,
		},
		{
			Fault: faults.Fault{Kind: faults.HalfOpen, Target: one, For: outage},
			Says:  "the producers get no ack and are told only afterwards",
			Rest:  2500 * millisecond,
			Seen: func(r *Run, w Window) error {
				return errors.Join(
					untold(r, w.Asked, w.To-edge, both()...), halted(r, w.From+edge, w.To-edge, both()...),
					told(r, w.To-edge, w.Ended+soon, both()...), lives(r, w), resumes(r, w, both()...))
			},
		},
	}
}

func jammed(r *Run, w Window) error {
	const burst = 350 * millisecond
	tried := r.count(producer, history.Attempt, w.From, w.To)
	if n := r.count(producer, history.Ack, w.To-edge, w.Ended+burst); 2*n < tried {
		return fmt.Errorf("of %d sends of %s only %d were acknowledged in a burst", tried, producer, n)
	}
	return separated(r, w)
}

func clogged(r *Run, w Window) error {
	const filled = 300 * millisecond // what was on its way
	const message = 200              // bytes at least
	n := int64(r.count(producer, history.Ack, w.From+filled, w.To-edge))
	if most := slowLink * (w.To - w.From) / second / message; n > most {
		return fmt.Errorf("%s got %d acks; its link carries %d messages", producer, n, most)
	}
	return errors.Join(works(r, w.From, w.To, other), untold(r, w.Asked, w.Ended, producer), resumes(r, w, producer))
}

func farAway(r *Run, w Window) error {
	const other = 400 * millisecond // that a loaded machine may add
	during, before, err := medians(r, w, producer)
	if err != nil {
		return err
	}
	after, err := quantile(r.waits(producer, w.Ended+edge, w.Ended+second), 50)
	switch {
	case err != nil:
		return err
	case during < 2*longWay || during > before+2*longWay+other:
		return fmt.Errorf("sends of %s waited %.1f ms, before it %.1f ms: want %.1f ms more", producer, ms(during), ms(before), ms(2*longWay))
	case after > longWay || before > longWay:
		return fmt.Errorf("sends of %s waited %.1f ms before it and %.1f ms after it", producer, ms(before), ms(after))
	}
	return nil
}

func refused(r *Run, w Window) error {
	const takes = 400 * millisecond
	var errs []error
	if n := answered(r.sends(producer, w.Asked, w.To-edge), "refused"); n == 0 {
		errs = append(errs, fmt.Errorf("%s was not refused a connection", producer))
	}
	if _, ok := r.noted(history.NoteConnected, producer, "", w.To-edge, w.Ended+soon); !ok {
		errs = append(errs, fmt.Errorf("%s has no connection afterwards", producer))
	}
	return errors.Join(append(errs, told(r, w.Asked, w.From+takes, producer), halted(r, w.From+edge, w.To-edge, producer),
		works(r, w.From, w.To, other), resumes(r, w, producer), lives(r, w))...)
}

func torn(r *Run, w Window) error {
	const takes = 500 * millisecond
	if _, ok := r.noted(history.NoteConnected, producer, "", w.Asked, w.From+2*takes); !ok {
		return fmt.Errorf("%s has made no new connection", producer)
	}
	return errors.Join(told(r, w.Asked, w.From+takes, producer), untold(r, w.Asked, w.From+takes, other), resumes(r, w, producer))
}
