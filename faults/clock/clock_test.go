package clock

import (
	"strings"
	"testing"
	"time"

	"pestle/faults"
)

// between reads the clock, lets the machine's time pass, and returns how far
// clock and machine went, ns.
func between(c *Clock) (mono, wall, least, most int64) {
	out := time.Now()
	m0, w0 := c.Read()
	in := time.Now()
	for time.Since(in) < 20*time.Millisecond {
		time.Sleep(time.Millisecond)
	}
	least = int64(time.Since(in))
	m1, w1 := c.Read()
	return m1 - m0, w1 - w0, least, int64(time.Since(out))
}

func impose(t *testing.T, c *Clock, f faults.Fault) {
	t.Helper()
	f.Ref = 1
	if err := c.Impose(f); err != nil {
		t.Fatal(err)
	}
}

// TestFaults: what each kind does to both clocks while it lasts.
func TestFaults(t *testing.T) {
	const hour = int64(time.Hour)
	for _, test := range []struct {
		fault faults.Fault
		rate  int64 // ppm of the machine's time
		ahead int64 // ns, at once
	}{
		{faults.Fault{Kind: faults.ClockJump, Offset: -hour}, 1_000_000, -hour},
		{faults.Fault{Kind: faults.ClockDrift, Drift: 100_000}, 1_100_000, 0},
		{faults.Fault{Kind: faults.ClockDrift, Drift: -100_000}, 900_000, 0},
		{faults.Fault{Kind: faults.ClockFreeze}, 0, 0},
	} {
		c := New()
		_, before := c.Read()
		impose(t, c, test.fault)
		impose(t, c, test.fault) // twice is no mistake
		if _, wall := c.Read(); (wall-before-test.ahead)/int64(time.Minute) != 0 {
			t.Errorf("%s moves the wall clock by %d ns", test.fault.Kind, wall-before)
		}
		mono, wall, least, most := between(c)
		for _, ran := range []int64{mono, wall} {
			if ran < least*test.rate/1_000_000-1 || ran > most*test.rate/1_000_000+1 {
				t.Errorf("%s: a clock ran %d ns in %d to %d", test.fault.Kind, ran, least, most)
			}
		}
		c.Lift(1)
		mono, wall, least, most = between(c)
		if mono < least || mono > most || wall < least || wall > most {
			t.Errorf("%s lifted: the clocks ran %d and %d ns in %d to %d", test.fault.Kind, mono, wall, least, most)
		}
		if s := c.State(); s.Drift != 0 || s.Frozen || test.ahead != 0 && s.Offset != 0 || s.Offset*(test.rate-1_000_000) < 0 {
			t.Errorf("%s lifted: %+v", test.fault.Kind, s)
		}
	}
}

// TestState: a status tells how wrong the clock is.
func TestState(t *testing.T) {
	c := New()
	if s := c.State(); s != (State{}) {
		t.Errorf("a new clock is wrong: %+v", s)
	}
	impose(t, c, faults.Fault{Kind: faults.ClockJump, Offset: 5_000_000_000})
	if s := c.State(); s != (State{Offset: 5_000_000_000}) {
		t.Errorf("after a jump of 5 s: %+v", s)
	}
	impose(t, c, faults.Fault{Kind: faults.ClockFreeze})
	if s := c.State(); !s.Frozen {
		t.Errorf("frozen: %+v", s)
	}
	if list := c.Faults(); len(list) != 2 || list[0].Kind != faults.ClockJump {
		t.Errorf("imposed are %+v", list)
	}
}

func TestRefusals(t *testing.T) {
	c := New()
	impose(t, c, faults.Fault{Kind: faults.ClockFreeze})
	for _, test := range []struct {
		fault faults.Fault
		why   string
	}{
		{faults.Fault{Ref: 2, Kind: faults.DiskFull}, "no fault of a clock"},
		{faults.Fault{Ref: 2, Kind: faults.ClockDrift, Drift: 200_000}, "drift is 200000; it takes -100000 to 100000"},
		{faults.Fault{Ref: 2, Kind: faults.ClockFreeze}, "fault 1 is of the same kind"},
	} {
		if err := c.Impose(test.fault); err == nil || !strings.Contains(err.Error(), test.why) {
			t.Errorf("%+v: %v, want %q", test.fault, err, test.why)
		}
	}
}
