package faults

import (
	"slices"
	"strings"
	"testing"
)

// TestParameters: each kind takes its own parameters, in its bounds, and no
// others.
func TestParameters(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault Fault
		want  string // "" for none
	}{
		{"none", Fault{Kind: PowerLoss, Target: "broker-1"}, ""},
		{"foreign number", Fault{Kind: Kill, Target: "broker-1", Rate: 1}, "rate is 1; a kill takes none"},
		{"foreign peer", Fault{Kind: Kill, Target: "broker-1", Peer: "producer-1"}, `peer is "producer-1"; a kill takes none`},
		{"foreign shape", Fault{Kind: Cut, Target: "broker-1", Peer: "producer-1", For: second, Shape: Ring}, "shape, side and among are for a partition"},
		{"missing number", Fault{Kind: DiskSlow, Target: "broker-1", For: second}, "factor is 0; a disk-slow takes 2..10000"},
		{"too large", Fault{Kind: Loss, Target: "broker-1", For: second, Rate: 1001}, "rate is 1001; a loss takes 1..1000"},
		{"too low", Fault{Kind: ClockDrift, Target: "broker-1", For: second, Drift: -100_001}, "drift is -100001; a clock-drift takes -100000..100000"},
		{"lowest", Fault{Kind: ClockDrift, Target: "broker-1", For: second, Drift: -100_000}, ""},
		{"optional number left out", Fault{Kind: Latency, Target: "broker-1", For: second, Delay: millisecond}, ""},
		{"optional number out of range", Fault{Kind: Latency, Target: "broker-1", For: second, Delay: millisecond, Jitter: -1}, "jitter is -1; a latency takes 0..60000000000"},
		{"peer left out", Fault{Kind: Cut, Target: "broker-1", For: second}, `peer "" is no other process`},
		{"optional peer left out", Fault{Kind: Loss, Target: "broker-1", For: second, Rate: 1}, ""},
		{"peer that is no process", Fault{Kind: Cut, Target: "broker-1", Peer: "broker", For: second}, `peer "broker" is no other process`},
		{"peer that is the target", Fault{Kind: Cut, Target: "broker-1", Peer: "broker-1", For: second}, `peer "broker-1" is no other process`},
		{"broker's peer of what is among brokers", Fault{Kind: Corrupt, Target: "leader", Peer: "follower-1", For: second, Rate: 1}, ""},
		{"client as the peer of what is among brokers", Fault{Kind: Corrupt, Target: "broker-1", Peer: "producer-1", For: second, Rate: 1}, `peer is "producer-1"; a corrupt is among brokers only`},
		{"client that refuses", Fault{Kind: Refuse, Target: "consumer-a-1", For: second}, "a refuse does not apply to a consumer"},
		{"reordered by nothing", Fault{Kind: Reorder, Target: "broker-1", For: second, Rate: 1}, "delay is 0; a reorder takes 1000..60000000000"},
		{"no share of a processor", Fault{Kind: CPUSlow, Target: "producer-1", For: second, Factor: 101}, "factor is 101; a cpu-slow takes 2..100"},
		{"client's disk", Fault{Kind: DiskFull, Target: "producer-1", For: second}, "a disk-full does not apply to a producer"},
		{"length of what is over at once", Fault{Kind: Reset, Target: "broker-1", For: 1}, "for is 1 ns; a reset takes 0..0 ns"},
		{"over at once", Fault{Kind: Reset, Target: "producer-1"}, ""},

		{"no shape", Fault{Kind: Partition, Target: "broker-1", For: second}, `unknown shape ""`},
		{"isolated", Fault{Kind: Partition, Target: "broker-1", For: second, Shape: Isolate}, ""},
		{"side of a shape without", Fault{Kind: Partition, Target: "broker-1", For: second, Shape: OneWay, Side: []string{"broker-1"}}, "side: shape one-way takes none"},
		{"no side", Fault{Kind: Partition, Target: "broker-1", For: second, Shape: Bridge}, "side: shape bridge needs one half"},
		{"twice on a side", Fault{Kind: Partition, Target: "broker-1", For: second, Shape: Halves, Side: []string{"broker-1", "broker-1"}}, `side: "broker-1" is no process or stands there twice`},
		{"half without its target", Fault{Kind: Partition, Target: "broker-1", For: second, Shape: Halves, Side: []string{"producer-1"}}, "side: broker-1, the target, is missing"},
		{"bridge on a side", Fault{Kind: Partition, Target: "broker-1", For: second, Shape: Bridge, Side: []string{"producer-1", "broker-1"}}, "side: broker-1 is the bridge and stands on no side"},
		{"ring that begins elsewhere", Fault{Kind: Partition, Target: "broker-1", For: second, Shape: Ring, Side: []string{"producer-1", "broker-1"}}, "side: the ring has to begin with broker-1, the target"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.fault.Ref = 1
			got := ""
			if err := Validate([]Fault{c.fault}, nil, minute); err != nil {
				got = strings.TrimPrefix(err.Error(), "fault 1: ")
			}
			if got != c.want {
				t.Errorf("error\n got %s\nwant %s", got, c.want)
			}
		})
	}
}

// TestShapes: who hears whom, on a map of four processes. A row is a sender, a
// column a receiver, x where nothing arrives.
func TestShapes(t *testing.T) {
	all := []string{"broker-1", "producer-1", "producer-2", "consumer-a-1"}
	for _, c := range []struct {
		fault Fault
		want  []string
	}{
		{Fault{Shape: Halves, Target: "producer-1", Side: []string{"producer-1", "broker-1"}}, []string{
			"..xx",
			"..xx",
			"xx..",
			"xx..",
		}},
		{Fault{Shape: Isolate, Target: "producer-2"}, []string{
			"..x.",
			"..x.",
			"xx.x",
			"..x.",
		}},
		{Fault{Shape: Ring, Target: "broker-1", Side: []string{"broker-1", "consumer-a-1", "producer-1", "producer-2"}}, []string{
			".x..",
			"x...",
			"...x",
			"..x.",
		}},
		{Fault{Shape: Bridge, Target: "producer-1", Side: []string{"broker-1"}}, []string{
			"..xx",
			"....",
			"x...",
			"x...",
		}},
		{Fault{Shape: OneWay, Target: "consumer-a-1"}, []string{
			"....",
			"....",
			"....",
			"xxx.",
		}},
	} {
		for i, from := range all {
			row := ""
			for _, to := range all {
				if c.fault.Severs(from, to) {
					row += "x"
				} else {
					row += "."
				}
			}
			if row != c.want[i] {
				t.Errorf("%s: what %s sends: %s, want %s", c.fault.Shape, from, row, c.want[i])
			}
		}
	}
}

// TestHits: which links a fault of the network is on, on a map as above.
func TestHits(t *testing.T) {
	all := []string{"broker-1", "broker-2", "producer-1"}
	for _, c := range []struct {
		fault Fault
		want  string // rows
	}{
		{Fault{Kind: Silence, Target: "broker-1"}, ".xx x.. x.."},
		{Fault{Kind: Cut, Target: "producer-1", Peer: "broker-1"}, "..x ... x.."},
		{Fault{Kind: Loss, Target: "producer-1"}, "..x ..x xx."},
		{Fault{Kind: Jam, Target: "producer-1", Peer: "broker-2"}, "... ..x .x."},
		{Fault{Kind: Corrupt, Target: "broker-1"}, ".x. x.. ..."},
		{Fault{Kind: Corrupt, Target: "broker-2", Peer: "broker-1"}, ".x. x.. ..."},
		{Fault{Kind: Partition, Shape: OneWay, Target: "broker-1", Among: Broker}, ".x. ... ..."},
	} {
		var rows []string
		for _, from := range all {
			row := ""
			for _, to := range all {
				if c.fault.Hits(from, to) {
					row += "x"
				} else {
					row += "."
				}
			}
			rows = append(rows, row)
		}
		if got := strings.Join(rows, " "); got != c.want {
			t.Errorf("%s of %s is on %s, want %s", c.fault.Kind, c.fault.Target, got, c.want)
		}
	}
}

// TestAtlas: what loses a broker's copy of a message is known, and how many
// brokers can be lost or away.
func TestAtlas(t *testing.T) {
	loses := []Kind{BitRot, MisdirectedWrite, LostWrite, Wipe, Replace}
	for _, s := range Kinds() {
		if s.Loses() != slices.Contains(loses, s.Kind) {
			t.Errorf("%s loses a copy: %v", s.Kind, s.Loses())
		}
		if s.Loses() && !s.TakesAway || s.Cluster && !slices.Equal(s.Roles, brokersOnly()) {
			t.Errorf("%s: %+v", s.Kind, s)
		}
	}
	for brokers, want := range map[int]int{1: 0, 2: 0, 3: 1, 4: 1, 5: 2} {
		if got := Expendable(brokers); got != want {
			t.Errorf("of %d brokers %d are expendable, want %d", brokers, got, want)
		}
	}
	on := func(k Kind, target string) Fault { return Fault{Kind: k, Target: target} }
	for _, c := range []struct {
		faults []Fault
		want   int
	}{
		{nil, 0},
		{[]Fault{on(PowerLoss, "broker-1"), on(FsyncError, "leader")}, 0},
		{[]Fault{on(BitRot, "broker-1"), on(Wipe, "broker-1")}, 1},
		{[]Fault{on(BitRot, "broker-1"), on(Replace, "broker-3")}, 2},
		{[]Fault{on(Wipe, "leader"), on(LostWrite, "leader"), on(MisdirectedWrite, "broker-1")}, 3},
	} {
		if got := Lost(c.faults); got != c.want {
			t.Errorf("%+v: %d lost, want %d", c.faults, got, c.want)
		}
	}
}
