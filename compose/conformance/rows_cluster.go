package conformance

import (
	"errors"
	"fmt"

	"pestle/faults"
	"pestle/history"
)

// clusterRows are about what several brokers have to do with each other.
func clusterRows() []Row {
	return []Row{
		{
			Fault: faults.Fault{Kind: faults.Duplicate, Target: one, For: 1500 * millisecond, Rate: 500},
			Says:  "packets come twice, and nobody notices",
			Seen: func(r *Run, w Window) error {
				if r.Met.Doubled == 0 {
					return errors.New("no packet came twice")
				}
				return errors.Join(works(r, w.From, w.To, both()...), untold(r, w.Asked, w.Ended, both()...), lives(r, w))
			},
		},
		{
			Fault: faults.Fault{Kind: faults.Corrupt, Target: one, For: 1500 * millisecond, Rate: 200},
			Says:  "bits turn in what brokers send each other, and nothing damaged is delivered",
			Rest:  3 * second,
			Seen: func(r *Run, w Window) error {
				if r.Met.Damaged == 0 {
					return errors.New("no bit has turned")
				}
				return errors.Join(intact(r), lives(r, w), works(r, w.Ended, w.Ended+3*second, both()...))
			},
		},
		{
			Fault: faults.Fault{Kind: faults.Wipe, Target: third, For: 300 * millisecond},
			Says:  "the broker comes back, says that it has lost its data, and takes part in nothing; the others go on",
			Rest:  3 * second,
			Seen:  wiped,
		},
		{
			Fault: faults.Fault{Kind: faults.Replace, Target: third, For: 300 * millisecond},
			Says:  "the broker does not come back; another one has its vote",
			Rest:  8 * second,
			Seen:  replaced,
		},
	}
}

func wiped(r *Run, w Window) error {
	for _, s := range r.Samples {
		if s.Broker == w.Fault.Target && s.T > w.From && s.Quarantine != "" {
			return works(r, w.From, w.Ended+3*second, both()...)
		}
	}
	return fmt.Errorf("%s does not say that it takes part in nothing", w.Fault.Target)
}

func replaced(r *Run, w Window) error {
	const old, come = 3, 4
	var errs []error
	if _, ok := r.noted(history.NoteReady, "", fmt.Sprintf("%s-%d", faults.Broker, come), w.From, w.Ended+edge); !ok {
		errs = append(errs, fmt.Errorf("broker %d is not ready", come))
	}
	if e, ok := r.noted(history.NoteReady, "", w.Fault.Target, w.From, hourOf); ok {
		errs = append(errs, fmt.Errorf("%s is back at %.3f s", w.Fault.Target, seconds(e.T)))
	}
	leads := false
	for _, s := range r.Samples {
		if s.T < w.Ended || len(s.Votes) == 0 {
			continue
		}
		leads = true
		if _, in := s.Votes[old]; in {
			errs = append(errs, fmt.Errorf("%s still counts broker %d at %.3f s", s.Broker, old, seconds(s.T)))
		}
		if s.Broker != fmt.Sprintf("%s-%d", faults.Broker, come) && !s.Votes[come] {
			errs = append(errs, fmt.Errorf("%s does not count broker %d at %.3f s", s.Broker, come, seconds(s.T)))
		}
	}
	if !leads {
		errs = append(errs, errors.New("no broker tells who has a vote"))
	}
	return errors.Join(append(errs[:min(len(errs), 3)], works(r, w.From, w.Ended+3*second, both()...))...)
}
