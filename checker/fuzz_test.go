package checker

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"pestle/history"
)

// FuzzObserve damages the clean history and feeds it whole, refused lines
// included: the checker must not panic, and the same lines must give the same
// verdict. Three bytes are one piece of damage: what, to which event, from or
// by which other.
func FuzzObserve(f *testing.F) {
	undamaged := clean.events(f)
	f.Add([]byte{})
	for what := range byte(damages) {
		f.Add([]byte{what, 40, 20, what, 60, 61, what, 90, 3})
	}
	f.Fuzz(func(t *testing.T, damage []byte) {
		events := append([]history.Event(nil), undamaged...)
		for ; len(damage) >= 3; damage = damage[3:] {
			at, other := int(damage[1])%len(events), int(damage[2])%len(events)
			events[at] = damaged(events[at], events[other], damage[0])
		}
		run := func() ([]string, Verdict) {
			var refusals []string
			c := New(testConfig())
			for _, e := range events {
				if err := c.Observe(e); err != nil {
					refusals = append(refusals, err.Error())
				}
			}
			return refusals, c.Verdict()
		}
		refusals, v := run()
		againRefusals, againVerdict := run()
		if diff := cmp.Diff(refusals, againRefusals) + cmp.Diff(v, againVerdict); diff != "" {
			t.Fatalf("the same lines gave another judgement:\n%s", diff)
		}
	})
}

// damages is how many kinds of damage there are.
const damages = 12

// damaged returns e with one thing of other's in it. Times and line numbers
// stay, so that most lines are judged and not only counted out.
func damaged(e, other history.Event, what byte) history.Event {
	switch what % damages {
	case 0: // all of it
		other.T, other.Seq, other.Src = e.T, e.Seq, e.Src
		return other
	case 1:
		e.ID = other.ID
	case 2:
		e.Pos = other.Pos
	case 3:
		e.Ev, e.What = other.Ev, other.What
	case 4:
		e.Src, e.Consumer, e.Channel = other.Src, other.Consumer, other.Channel
	case 5:
		e.Try, e.Attempts = other.Try, other.Attempts
	case 6:
		e.Sum, e.Size = other.Sum, other.Size
	case 7:
		e.Topic, e.Channel = other.Topic, other.Channel
	case 8:
		e.What, e.Target = other.What, other.Target
	case 9:
		e.Edge, e.Ref = other.Edge, other.Ref
	case 10:
		e.T = other.T
	case 11:
		e.Seq = other.Seq
	}
	return e
}

// FuzzParseID: an id that is read is written back the same, so that no two
// ids are one message.
func FuzzParseID(f *testing.F) {
	for _, id := range []string{"producer-1-42", "producer-1-0", "producer-1-007", "-1", "x-", "x-18446744073709551616", "a-b-18446744073709551615", ""} {
		f.Add(id)
	}
	f.Fuzz(func(t *testing.T, id string) {
		name, counter, ok := parseID(id)
		if !ok {
			return
		}
		if back := (messageID{producer: &producer{name: name}, counter: counter}).String(); back != id || counter == 0 {
			t.Errorf("%q was read as counter %d of %q and written as %q", id, counter, name, back)
		}
	})
}
