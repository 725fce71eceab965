package faults

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// TestEveryKindHasItsFile: a kind is found by its name.
func TestEveryKindHasItsFile(t *testing.T) {
	seen := map[Kind]bool{}
	for _, s := range Kinds() {
		if seen[s.Kind] {
			t.Errorf("%s stands in the table twice", s.Kind)
		}
		seen[s.Kind] = true
		if _, err := os.Stat(strings.ReplaceAll(string(s.Kind), "-", "_") + ".go"); err != nil {
			t.Errorf("%s: %v", s.Kind, err)
		}
		if found, ok := Find(s.Kind); !ok || found.Does != s.Does {
			t.Errorf("%s is not found", s.Kind)
		}
		if s.Class == "" || s.Does == "" || s.Imitates == "" || s.Survives == "" || s.ForIs == "" ||
			s.MinFor > s.MaxFor || !s.In("sim") || len(s.Roles) == 0 {
			t.Errorf("%s is incomplete: %+v", s.Kind, s)
		}
		for _, p := range s.Params {
			isNumber := slices.Contains(Numbers(), p.Name)
			if p.Name == "" || p.Is == "" || isNumber != (p.Unit != NoNumber) || p.Min > p.Max {
				t.Errorf("%s has an incomplete parameter: %+v", s.Kind, p)
			}
		}
	}
	if _, ok := Find("burn"); ok {
		t.Error("burn is no kind")
	}
}

func TestRoles(t *testing.T) {
	for name, want := range map[string]Role{
		"broker-1": Broker, "producer-2": Producer, "consumer-ordered-1": Consumer,
		"broker": "", "broker-": "", "brokers-1": "", "": "", "nsqd-1": "",
	} {
		if got, ok := RoleOf(name); got != want || ok != (want != "") {
			t.Errorf("%q: %q, %v", name, got, ok)
		}
	}
}

func TestValidate(t *testing.T) {
	kill := func(ref int) Fault { return Fault{Ref: ref, Kind: Kill, Target: "broker-1", For: second} }
	wait := func(ref int, e Event) Fault {
		return Fault{Ref: ref, Kind: Kill, Target: "producer-1", For: second, Anchor: Anchor{After: &e}}
	}
	edit := func(f Fault, change func(*Fault)) Fault { change(&f); return f }
	windows := func(w ...Window) []Window { return w }
	for _, c := range []struct {
		name   string
		faults []Fault
		quiet  []Window
		want   string // "" for none
	}{
		{"nothing", nil, nil, ""},
		{"all forms", []Fault{kill(1), wait(2, Event{Acks: 1}), wait(3, Event{Attempts: 1, Delay: 1}), wait(4, Event{Fault: 5}), kill(5)}, windows(Window{1, 2}, Window{2, 3}), ""},
		{"window upside down", nil, windows(Window{2, 2}), "quiet window 1 (2..2 ns) is not after the one before it and inside the chaos of 60000000000 ns"},
		{"windows overlap", nil, windows(Window{1, 5}, Window{4, 6}), "quiet window 2 (4..6 ns) is not after the one before it and inside the chaos of 60000000000 ns"},
		{"window beyond chaos", nil, windows(Window{1, minute + 1}), "quiet window 1 (1..60000000001 ns) is not after the one before it and inside the chaos of 60000000000 ns"},
		{"too many", make([]Fault, MaxFaults+1), nil, "1001 faults; a plan holds 1000 at most"},
		{"ref", []Fault{kill(2)}, nil, "fault 1 has ref 2; refs count from 1 in order"},
		{"kind", []Fault{edit(kill(1), func(f *Fault) { f.Kind = "burn" })}, nil, `fault 1: unknown kind "burn"`},
		{"target", []Fault{edit(kill(1), func(f *Fault) { f.Target = "broker" })}, nil, `fault 1: target "broker" is no process; processes are named broker-<n>, producer-<n>, consumer-<channel>-<n>`},
		{"too short", []Fault{edit(kill(1), func(f *Fault) { f.Kind, f.For = Pause, 1 })}, nil, "fault 1: for is 1 ns; a pause takes 10000000..600000000000 ns"},
		{"before chaos", []Fault{edit(kill(1), func(f *Fault) { f.Anchor.At = -1 })}, nil, "fault 1: at is -1 ns, outside the chaos of 60000000000 ns"},
		{"after chaos", []Fault{edit(kill(1), func(f *Fault) { f.Anchor.At = minute })}, nil, "fault 1: at is 60000000000 ns, outside the chaos of 60000000000 ns"},
		{"no trigger", []Fault{wait(1, Event{Delay: 1})}, nil, "fault 1: after needs exactly one of acks, attempts, fault and point, greater than 0"},
		{"two triggers", []Fault{wait(1, Event{Acks: 1, Attempts: 1})}, nil, "fault 1: after needs exactly one of acks, attempts, fault and point, greater than 0"},
		{"negative trigger", []Fault{wait(1, Event{Acks: -1})}, nil, "fault 1: after needs exactly one of acks, attempts, fault and point, greater than 0"},
		{"delay", []Fault{wait(1, Event{Acks: 1, Delay: -1})}, nil, "fault 1: after.delay is -1 ns, outside the chaos of 60000000000 ns"},
		{"time and trigger", []Fault{edit(wait(1, Event{Acks: 1}), func(f *Fault) { f.Anchor.At = 1 })}, nil, "fault 1: both at and after are set"},
		{"waits for itself", []Fault{wait(1, Event{Fault: 1})}, nil, "fault 1: after.fault 1 is no other fault of the plan"},
		{"waits for nothing", []Fault{wait(1, Event{Fault: 2})}, nil, "fault 1: after.fault 2 is no other fault of the plan"},
		{"count without point", []Fault{wait(1, Event{Acks: 1, Count: 1})}, nil, "fault 1: after.count and after.process are for a point"},
		{"unknown point", []Fault{wait(1, Event{Point: "journal-sink", Count: 1, Process: "broker-1"})}, nil, `fault 1: after.point is "journal-sink", which the broker does not have`},
		{"point without count", []Fault{wait(1, Event{Point: "ack", Process: "broker-1"})}, nil, "fault 1: after.count is 0; it counts from 1"},
		{"point of a client", []Fault{wait(1, Event{Point: "ack", Count: 1, Process: "producer-1"})}, nil, `fault 1: after.process is "producer-1"; points are passed by brokers`},
		{"selector", []Fault{edit(kill(1), func(f *Fault) { f.Target, f.Away = Leader, 1 })}, nil, ""},
		{"peers by one leader", []Fault{edit(kill(1), func(f *Fault) { f.Kind, f.Target, f.Peer = Cut, Leader, Follower(2) })}, nil, ""},
		{"peers that may be one", []Fault{edit(kill(1), func(f *Fault) { f.Kind, f.Target, f.Peer = Cut, Leader, "broker-1" })}, nil, `fault 1: peer "broker-1" is no other process`},
		{"half a selector", []Fault{edit(kill(1), func(f *Fault) { f.Target = "follower" })}, nil, `fault 1: target "follower" is no process; processes are named broker-<n>, producer-<n>, consumer-<channel>-<n>`},
		{"away without a broker", []Fault{edit(kill(1), func(f *Fault) { f.Target, f.Away = "producer-1", 1 })}, nil, "fault 1: away is 1; it is a number of brokers, for faults that take one away"},
		{"away of who stays", []Fault{edit(kill(1), func(f *Fault) { f.Kind, f.Away = Silence, 1 })}, nil, "fault 1: away is 1; it is a number of brokers, for faults that take one away"},
		{"negative away", []Fault{edit(kill(1), func(f *Fault) { f.Away = -1 })}, nil, "fault 1: away is -1; it is a number of brokers, for faults that take one away"},
		{"among of a kill", []Fault{edit(kill(1), func(f *Fault) { f.Among = Broker })}, nil, "fault 1: shape, side and among are for a partition"},
		{"minority among all", []Fault{edit(kill(1), func(f *Fault) {
			f.Kind, f.Shape, f.Side = Partition, Minority, []string{"broker-1"}
		})}, nil, `fault 1: among is ""; shape minority of broker-1 splits brokers, or every process`},
		{"among consumers", []Fault{edit(kill(1), func(f *Fault) { f.Kind, f.Shape, f.Among = Partition, Isolate, Consumer })}, nil, `fault 1: among is "consumer"; shape isolate of broker-1 splits brokers, or every process`},
		{"a client on a brokers' side", []Fault{edit(kill(1), func(f *Fault) {
			f.Kind, f.Shape, f.Among, f.Side = Partition, Halves, Broker, []string{"broker-1", "producer-1"}
		})}, nil, "fault 1: side: producer-1 takes no part in a partition among brokers"},
		{"point of anybody", []Fault{wait(1, Event{Point: "ack", Count: 1, Process: AnyProcess})}, nil, ""},
		{"point", []Fault{wait(1, Event{Point: "ack", Count: 1, Process: "broker-1", Delay: 1})}, nil, ""},
		{"chain", []Fault{kill(1), wait(2, Event{Fault: 1}), wait(3, Event{Fault: 2})}, nil, "fault 3: after.fault 2 waits for a fault itself; chains are not allowed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := Validate(c.faults, c.quiet, minute)
			got := ""
			if err != nil {
				got = err.Error()
			}
			if got != c.want {
				t.Errorf("error\n got %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestJournalLines(t *testing.T) {
	for _, c := range []struct {
		entry Entry
		line  string
	}{
		{
			Entry{Ref: 3, Kind: Kill, Target: "broker-1", Asked: 1, Effective: 2, Ended: 30, Lateness: 1},
			`{"ref":3,"kind":"kill","target":"broker-1","asked":1,"effective":2,"ended":30,"lateness":1}`,
		},
		{
			Entry{Ref: 1, Kind: Pause, Target: "producer-2", Asked: Never, Effective: Never, Ended: Never, Note: "its trigger did not come"},
			`{"ref":1,"kind":"pause","target":"producer-2","asked":-1,"effective":-1,"ended":-1,"lateness":0,"note":"its trigger did not come"}`,
		},
	} {
		if got := string(AppendEntry(nil, c.entry)); got != c.line+"\n" {
			t.Errorf("line\n got %swant %s", got, c.line)
		}
		for _, line := range []string{c.line, c.line + "\n"} {
			if got, err := ParseEntry([]byte(line)); err != nil || got != c.entry {
				t.Errorf("%s\n is %+v, error %v", line, got, err)
			}
		}
	}
}

func TestWrongJournalLines(t *testing.T) {
	const good = `{"ref":3,"kind":"kill","target":"broker-1","asked":1,"effective":2,"ended":30,"lateness":1}`
	for _, c := range []struct{ name, line, want string }{
		{"empty", "", "journal line: EOF"},
		{"torn", good[:40], "journal line: unexpected EOF"},
		{"two objects", good + good, "journal line: more than one object"},
		{"unknown key", strings.Replace(good, "ref", "rev", 1), `journal line: json: unknown field "rev"`},
		{"no ref", strings.Replace(good, `"ref":3,`, "", 1), "journal line of fault 0 (kill): a value is out of its range"},
		{"unknown kind", strings.Replace(good, `"kill"`, `"burn"`, 1), "journal line of fault 3 (burn): a value is out of its range"},
		{"negative lateness", strings.Replace(good, `"lateness":1`, `"lateness":-1`, 1), "journal line of fault 3 (kill): a value is out of its range"},
		{"too long", good + strings.Repeat(" ", MaxEntry), "journal line of 4187 bytes; the longest is 4096"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := ParseEntry([]byte(c.line))
			if err == nil || err.Error() != c.want {
				t.Errorf("error\n got %v\nwant %s", err, c.want)
			}
		})
	}
}

func FuzzParseEntry(f *testing.F) {
	f.Add([]byte(`{"ref":3,"kind":"kill","target":"broker-1","asked":1,"effective":2,"ended":30,"lateness":1}`))
	f.Add([]byte(`{"ref":1,"kind":"pause","target":"producer-2","note":"\u0000<&>"}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		e, err := ParseEntry(line)
		if err != nil {
			return
		}
		written := AppendEntry(nil, e)
		if len(written) > MaxEntry {
			t.Errorf("line of %d bytes", len(written))
		}
		again, err := ParseEntry(written)
		if err != nil {
			t.Fatalf("%s: %v", written, err)
		}
		if len(e.Target) < 256 && len(e.Note) < 256 && again != e {
			t.Errorf("%+v became %+v", e, again)
		}
	})
}
