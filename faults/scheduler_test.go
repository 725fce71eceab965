package faults

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pestle/history"
)

// The scripts below drive a scheduler by hand. Times are milliseconds since the
// start of chaos. A step is:
//
//	due           what Due returns now, as refs, with the process in the place of a selector
//	next          what Next returns, "-" without a deadline
//	took 2        fault 2 took effect
//	ended 2       fault 2 is over
//	acks 3        three acks are seen; attempts 3 likewise
//	journal-sync 2   broker-1 passes that point twice; so for every other point
//	elsewhere 1   broker-2 passes the point ack
//	lead 2        Due is told that broker-2 leads the topic, broker-3 the metadata; 0 for nobody
//	seeks         whether the scheduler wants to be told
type step struct {
	at   int64
	do   string
	want string
}

func at(ms int64, kind Kind, target string, length int64) Fault {
	return Fault{Kind: kind, Target: target, For: length * millisecond, Anchor: Anchor{At: ms * millisecond}}
}

func after(e Event, kind Kind, target string, length int64) Fault {
	e.Delay *= millisecond
	return Fault{Kind: kind, Target: target, For: length * millisecond, Anchor: Anchor{After: &e}}
}

func TestScheduler(t *testing.T) {
	runScripts(t, []script{
		{
			name:   "a fault is due at its time, once",
			faults: []Fault{at(1000, Kill, "broker-1", 200)},
			steps: []step{
				{0, "next", "1000"}, {0, "due", ""}, {999, "due", ""},
				{1000, "due", "1"}, {1000, "due", ""}, {1000, "next", "-"},
				{1010, "took 1", ""}, {1300, "ended 1", ""}, {9000, "due", ""},
			},
		},
		{
			name: "those due together come in the order they became due",
			faults: []Fault{
				at(3000, Kill, "producer-1", 200), at(1000, Kill, "broker-1", 200),
				at(2000, Kill, "producer-2", 200), at(2000, Kill, "producer-3", 200),
			},
			steps: []step{{5000, "due", "2 3 4 1"}},
			notes: []string{"", "", "", ""},
		},
		{
			name:   "a target is under one fault at a time",
			faults: []Fault{at(1000, Kill, "broker-1", 200), at(1100, Pause, "broker-1", 200), at(1100, Pause, "producer-1", 200)},
			steps: []step{
				{1100, "due", "1 3"}, {1150, "took 1", ""}, {1200, "next", "-"}, {1200, "due", ""},
				{1500, "ended 1", ""}, {1500, "next", "1500"}, {1500, "due", "2"},
			},
		},
		{
			name:   "two faults of one target never come out together",
			faults: []Fault{at(1000, Kill, "broker-1", 200), at(1000, Pause, "broker-1", 200)},
			steps:  []step{{1000, "due", "1"}, {1001, "ended 1", ""}, {1001, "due", "2"}},
		},
		{
			name:   "one that would reach into a quiet window waits for its end",
			faults: []Fault{at(9000, Kill, "broker-1", 600), at(9000, Kill, "producer-1", 601)},
			steps: []step{
				{9000, "due", "1"},                                               // 9000 + 600 + the margin of 400 is 10000
				{9000, "next", "15020"}, {15019, "due", ""}, {15020, "due", "2"}, // clear of the window
			},
		},
		{
			name:   "so does one that became due inside a window",
			faults: []Fault{after(Event{Acks: 2}, Kill, "broker-1", 100)},
			steps: []step{
				{9000, "acks 1", ""}, {11_000, "acks 1", ""}, {11_000, "next", "15020"}, {11_000, "due", ""},
				{15_020, "due", "1"},
			},
		},
		{
			name:   "one that cannot be over before the end of chaos is dropped",
			faults: []Fault{at(19_000, Kill, "broker-1", 600), at(19_000, Kill, "producer-1", 601)},
			steps:  []step{{19_000, "next", "19000"}, {19_000, "due", "1"}, {19_000, "next", "-"}, {19_500, "due", ""}},
			notes:  []string{"", "no room before the end of chaos"},
		},
		{
			name:   "acks and attempts are counted from the start of chaos",
			faults: []Fault{after(Event{Acks: 3, Delay: 50}, Kill, "broker-1", 100), after(Event{Attempts: 5}, Kill, "producer-1", 100)},
			steps: []step{
				{100, "next", "-"}, {100, "attempts 4", ""}, {100, "acks 2", ""}, {100, "next", "-"}, {100, "due", ""},
				{200, "acks 1", ""}, {200, "next", "250"}, {249, "due", ""}, {250, "due", "1"},
				{300, "attempts 1", ""}, {300, "due", "2"},
				{310, "acks 9", ""}, {310, "attempts 9", ""}, {400, "due", ""},
			},
		},
		{
			name: "points are counted for each process and name from the start of chaos",
			faults: []Fault{
				after(Event{Point: "journal-sync", Count: 3, Process: "broker-1"}, PowerLoss, "broker-1", 100),
				after(Event{Point: "journal-sync", Count: 3, Process: "broker-2"}, PowerLoss, "broker-2", 100),
				after(Event{Point: "ack", Count: 1, Process: "broker-1", Delay: 50}, Kill, "producer-1", 100),
			},
			steps: []step{
				{100, "journal-sync 2", ""}, {100, "due", ""}, {100, "next", "-"},
				{200, "journal-sync 1", ""}, {200, "next", "200"}, {200, "due", "1"}, {200, "journal-sync 9", ""},
				{300, "ack 1", ""}, {300, "due", ""}, {300, "next", "350"}, {350, "due", "3"},
			},
			notes: []string{"", "its trigger did not come", ""},
		},
		{
			name: "a point of recovery is hit while the target starts again",
			faults: []Fault{
				at(1000, PowerLoss, "broker-1", 200),
				after(Event{Point: "recovery-torn-tail", Count: 1, Process: "broker-1"}, Kill, "broker-1", 100),
				after(Event{Point: "recovery-torn-tail", Count: 1, Process: "broker-1"}, DiskFull, "broker-1", 100),
				after(Event{Point: "ack", Count: 1, Process: "broker-1"}, Kill, "broker-1", 100),
			},
			steps: []step{
				{1000, "due", "1"}, {1000, "took 1", ""}, {1000, "ack 1", ""}, {1000, "due", ""},
				{1300, "recovery-torn-tail 1", ""}, {1300, "next", "1300"}, {1300, "due", "2"}, {1300, "due", ""},
				{1301, "took 2", ""}, {1500, "ended 1", ""}, {1500, "due", ""},
				{1500, "ended 2", ""}, {1500, "due", "4"}, {1700, "ended 4", ""}, {1700, "due", "3"},
			},
		},
		{
			name: "but not while it is under a fault that does not end it",
			faults: []Fault{
				at(1000, DiskStuck, "broker-1", 200),
				after(Event{Point: "recovery-torn-tail", Count: 1, Process: "broker-1"}, Kill, "broker-1", 100),
			},
			steps: []step{{1000, "due", "1"}, {1100, "recovery-torn-tail 1", ""}, {1100, "due", ""}, {1200, "ended 1", ""}, {1200, "due", "2"}},
		},
		{
			name:   "a fault that is over at once holds its target until it is ended",
			faults: []Fault{at(1000, Reset, "broker-1", 0), at(1000, Kill, "broker-1", 100)},
			steps:  []step{{1000, "due", "1"}, {1000, "took 1", ""}, {1000, "ended 1", ""}, {1000, "due", "2"}},
		},
		{
			name:   "a fault that waits for another is armed when that takes effect",
			faults: []Fault{at(1000, Pause, "broker-1", 800), after(Event{Fault: 1, Delay: 150}, Kill, "producer-1", 100)},
			steps: []step{
				{1000, "due", "1"}, {1100, "next", "-"},
				{1200, "took 1", ""}, {1200, "next", "1350"}, {1350, "due", "2"},
			},
		},
		{
			name:   "it does not come when the other could not be carried out",
			faults: []Fault{at(1000, Pause, "broker-1", 800), after(Event{Fault: 1}, Kill, "producer-1", 100)},
			steps:  []step{{1000, "due", "1"}, {1200, "ended 1", ""}, {19_000, "due", ""}},
			notes:  []string{"its target was not there to be hit", "its trigger did not come"},
		},
		{
			name:   "what was never due says why",
			faults: []Fault{at(1000, Kill, "broker-1", 100), at(2000, Kill, "broker-1", 100), at(8000, Kill, "producer-1", 100)},
			steps:  []step{{1000, "due", "1"}, {3000, "due", ""}},
			notes:  []string{"", "its target was still under another fault", "not due yet"},
		},
		{
			name:   "nothing is due after chaos",
			faults: []Fault{at(1000, Kill, "broker-1", 100)},
			chaos:  2000,
			steps:  []step{{2000, "next", "-"}, {2000, "due", ""}},
			notes:  []string{"no room before the end of chaos"},
		},
		{name: "no faults", steps: []step{{0, "next", "-"}, {20_000, "due", ""}}},
	})
}

// script is one run of a scheduler.
type script struct {
	name   string
	faults []Fault
	chaos  int64 // 20 s where it is 0
	steps  []step
	notes  []string // of the entries at the end, in order
}

// runScripts drives a scheduler through each script, with a quiet window from
// 10 s to 15 s.
func runScripts(t *testing.T, scripts []script) {
	t.Helper()
	quiet := []Window{{10_000, 15_000}}
	for _, c := range scripts {
		t.Run(c.name, func(t *testing.T) {
			for i := range c.faults {
				c.faults[i].Ref = i + 1
			}
			chaos := int64(20_000)
			if c.chaos > 0 {
				chaos = c.chaos
			}
			var windows []Window
			for _, w := range quiet {
				if w.To <= chaos {
					windows = append(windows, Window{w.From * millisecond, w.To * millisecond})
				}
			}
			if err := Validate(c.faults, windows, chaos*millisecond); err != nil {
				t.Fatalf("the plan of this case: %v", err)
			}
			s := New(c.faults, windows, chaos*millisecond)
			for _, st := range c.steps {
				if got := perform(s, c.faults, st); got != st.want {
					t.Fatalf("at %d ms, %s: %q, want %q", st.at, st.do, got, st.want)
				}
			}
			if c.notes == nil {
				return
			}
			var notes []string
			for _, e := range s.Entries() {
				notes = append(notes, e.Note)
			}
			if !slices.Equal(notes, c.notes) {
				t.Errorf("notes %q, want %q", notes, c.notes)
			}
		})
	}
}

// perform does one step and returns what the scheduler said.
func perform(s *Scheduler, planned []Fault, st step) string {
	now := st.at * millisecond
	verb, number, _ := strings.Cut(st.do, " ")
	n := 0
	if number != "" {
		var err error
		if n, err = strconv.Atoi(number); err != nil {
			panic(err)
		}
	}
	switch verb {
	case "due":
		var refs []string
		for _, f := range s.Due(now) {
			ref := fmt.Sprint(f.Ref)
			if IsSelector(planned[f.Ref-1].Target) {
				ref += ":" + f.Target
			}
			refs = append(refs, ref)
		}
		return strings.Join(refs, " ")
	case "next":
		s.Observe(now, history.Event{Ev: history.Note}) // time passes
		deadline, ok := s.Next()
		if !ok {
			return "-"
		}
		return fmt.Sprint(deadline / millisecond)
	case "seeks":
		return fmt.Sprint(s.Seeks(now))
	case "lead":
		c := Cluster{Brokers: []string{"broker-1", "broker-2", "broker-3"}}
		if n > 0 {
			c.Leader, c.Metadata = fmt.Sprint("broker-", n), "broker-3"
		}
		s.Lead(c)
	case "elsewhere":
		s.Point(now, "broker-2", "ack")
	case "took":
		s.Effective(n, now)
	case "ended":
		s.Ended(n, now)
	case "acks", "attempts":
		kind := history.Ack
		if verb == "attempts" {
			kind = history.Attempt
		}
		for range n {
			s.Observe(now, history.Event{Ev: kind})
		}
	default:
		for range n {
			s.Point(now, "broker-1", verb)
		}
	}
	return ""
}

func TestEntriesTellWhatHappened(t *testing.T) {
	faults := []Fault{
		at(1000, Kill, "broker-1", 200),
		at(1100, Pause, "broker-1", 200),
		after(Event{Fault: 2, Delay: 50}, Stop, "producer-1", 100),
	}
	for i := range faults {
		faults[i].Ref = i + 1
	}
	s := New(faults, nil, 20*second)
	for _, st := range []step{
		{1002, "due", "1"}, {1010, "took 1", ""}, {1300, "due", ""}, {1400, "ended 1", ""},
		{1400, "due", "2"}, {1401, "took 2", ""}, {1451, "due", "3"}, {1460, "ended 3", ""},
	} {
		if got := perform(s, faults, st); got != st.want {
			t.Fatalf("at %d ms, %s: %q, want %q", st.at, st.do, got, st.want)
		}
	}
	want := []Entry{
		{Ref: 1, Kind: Kill, Target: "broker-1", Asked: 1002 * millisecond, Effective: 1010 * millisecond, Ended: 1400 * millisecond, Lateness: 10 * millisecond},
		{Ref: 2, Kind: Pause, Target: "broker-1", Asked: 1400 * millisecond, Effective: 1401 * millisecond, Ended: Never, Lateness: 301 * millisecond},
		{Ref: 3, Kind: Stop, Target: "producer-1", Asked: 1451 * millisecond, Effective: Never, Ended: 1460 * millisecond, Note: "its target was not there to be hit"},
	}
	if got := s.Entries(); !slices.Equal(got, want) {
		t.Errorf("entries\n got %+v\nwant %+v", got, want)
	}
}

func TestWrongReportsPanic(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(*Scheduler)
		want string
	}{
		{"effect before it was due", func(s *Scheduler) { s.Effective(1, 0) }, "faults: report about fault 1, which is not underway"},
		{"end of an unknown fault", func(s *Scheduler) { s.Ended(2, 0) }, "faults: report about fault 2, which is not underway"},
		{"end twice", func(s *Scheduler) { s.Due(second); s.Ended(1, second); s.Ended(1, second) }, "faults: report about fault 1, which is not underway"},
		{"time going back", func(s *Scheduler) { s.Due(second); s.Due(0) }, "faults: time went back from 1000000000 to 0 ns"},
	} {
		t.Run(c.name, func(t *testing.T) {
			defer func() {
				if got := recover(); got != c.want {
					t.Errorf("panic %v, want %s", got, c.want)
				}
			}()
			one := at(1000, Kill, "broker-1", 100)
			one.Ref = 1
			c.do(New([]Fault{one}, nil, 20*second))
		})
	}
}
