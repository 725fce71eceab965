package disk

import (
	"strings"
	"testing"

	"pestle/sim/lot"
)

// TestUnderWay: what a crash finds of an operation that was issued and not
// completed, over all draws.
func TestUnderWay(t *testing.T) {
	const before = `
		create 1 8192
		write 1 0 old
		sync 1
	`
	tests := []struct {
		name, issued string
		kill, power  []string // all contents that there can be
	}{
		{
			"create", "create 2 8192 &",
			[]string{"1[old]", "1[old] 2[]", "1[old] 2[.*4096]", "1[old] 2[.*8192]"},
			[]string{"1[old]", "1[old] 2[]", "1[old] 2[.*4096]", "1[old] 2[.*8192]"},
		},
		{
			"create in the place of another", "create 1 4096 &",
			[]string{"1[old]", "1[]", "1[.*4096]"},
			[]string{"1[old]", "1[]", "1[.*4096]"},
		},
		{
			"remove", "remove 1 &",
			[]string{"1[old]", ""},
			[]string{"1[old]", ""},
		},
		{
			"write within a page", "write 1 0 new &",
			[]string{"1[old]", "1[new]"},
			[]string{"1[old]", "1[new]"}, // garbage aside
		},
		{
			"write over pages", "write 1 4090 n*4200 &",
			[]string{
				"1[old]",
				"1[old+.*4087+nnnnnn]",
				"1[old+.*4087+n*4102]",
				"1[old+.*4087+n*4200]",
			},
			nil, // see TestPowerLoss
		},
		{
			"sync", "sync 1 &",
			[]string{"1[old+.*509+new]"},
			[]string{"1[old]", "1[old+.*509+new]"},
		},
		{
			"a sync that would fail", "inject fsync-error; sync 1 & => sync journal file 1: input/output error",
			[]string{"1[old+.*509+new]"},
			[]string{"1[old]", "1[old+.*509+new]"},
		},
		{
			"recycle", "recycle 1 2 new &",
			[]string{"1[old]", "", "2[new+.*8189]"},
			[]string{"1[old]", "", "2[new+.*8189]"},
		},
		{
			"a create that failed", "inject disk-full; create 2 5 & => create journal file 2 of 5 bytes: no space left on device",
			[]string{"1[old]"},
			[]string{"1[old]"},
		},
	}
	for _, test := range tests {
		for how, want := range map[Crash][]string{Kill: test.kill, PowerLoss: test.power} {
			if want == nil {
				continue
			}
			got := map[string]bool{}
			for seed := range uint64(400) {
				d := instant(seed)
				play(t, d, before)
				if strings.Contains(test.issued, "sync") {
					play(t, d, "write 1 512 new")
				}
				play(t, d, strings.ReplaceAll(test.issued, "; ", "\n"))
				if how == Kill {
					d.Crash(Kill)
				} else {
					d.interrupt()
					l := lot.Draw(d.crash, len(d.pending))
					l.Policy = min(l.Policy, lot.Torn)
					d.losePower(l)
				}
				got[trimmed(d)] = true
				d.Create(3, 1) // nothing is under way any more
				d.Complete()
			}
			for _, w := range want {
				if !got[w] {
					t.Errorf("%s, crash %d: never leaves %q", test.name, how, w)
				}
				delete(got, w)
			}
			for g := range got {
				t.Errorf("%s, crash %d: leaves %q", test.name, how, g)
			}
		}
	}
}

// TestUnderWaySize: what is half done has half the size, also for what comes
// after it.
func TestUnderWaySize(t *testing.T) {
	tests := []struct {
		name, transcript string
		sizes            []int64 // of file 1 after the crash
		durable          int64   // at most
	}{
		{"create", "create 1 8192 &", []int64{-1, 0, 4096, 8192}, 8192},
		{"write that makes a file grow", "create 1 8190\nwrite 1 8190 wxyz &", []int64{8190, 8192, 8194}, 8190},
	}
	for _, test := range tests {
		seen := map[int64]bool{}
		for seed := range uint64(100) {
			d := instant(seed)
			play(t, d, test.transcript)
			d.Crash(Kill)
			size, there := d.Size(1)
			if !there {
				seen[-1] = true
				continue
			}
			seen[size] = true
			// Another create makes the entry durable, and then a write is lost.
			play(t, d, "create 9 1\nwrite 1 9000 x\npower 0")
			if again, _ := d.Size(1); again != min(size, test.durable) {
				t.Errorf("%s, seed %d: %d bytes, and %d after a write was lost", test.name, seed, size, again)
			}
		}
		for _, size := range test.sizes {
			if !seen[size] {
				t.Errorf("%s: never leaves %d bytes", test.name, size)
			}
			delete(seen, size)
		}
		for size := range seen {
			t.Errorf("%s: leaves %d bytes", test.name, size)
		}
	}
}

// trimmed is content without the zeros at the end of file 1.
func trimmed(d *Disk) string {
	text := content(d)
	for _, name := range d.Files() {
		if p, _ := d.Content(name); name == 1 && len(p) > 0 && p[0] != 0 {
			text = strings.Replace(text, short(p), short([]byte(strings.TrimRight(string(p), "\x00"))), 1)
		}
	}
	return text
}

func TestOneChangeAtATime(t *testing.T) {
	tests := []struct {
		name string
		do   func(*Disk)
	}{
		{"a change while one is under way", func(d *Disk) { d.Create(1, 1); d.Sync(1) }},
		{"Complete without a change", func(d *Disk) { d.Complete() }},
		{"Complete twice", func(d *Disk) { d.Create(1, 1); d.Complete(); d.Complete() }},
		{"Complete after a crash", func(d *Disk) { d.Create(1, 1); d.Crash(Kill); d.Complete() }},
		{"Complete of what is stuck", func(d *Disk) { d.Inject(Fault{Kind: Stuck}); d.Create(1, 1); d.Complete() }},
		{"a fault that is none", func(d *Disk) { d.Inject(Fault{Kind: kinds}) }},
		{"a chance above one", func(d *Disk) { d.Inject(Fault{Kind: Full, Permille: 1001}) }},
		{"a slow disk that is not", func(d *Disk) { d.Inject(Fault{Kind: Slow, Factor: 1}) }},
		{"a factor of another fault", func(d *Disk) { d.Inject(Fault{Kind: Full, Factor: 2}) }},
		{"stuck for some", func(d *Disk) { d.Inject(Fault{Kind: Stuck, Permille: 500}) }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("does not panic")
				}
			}()
			test.do(instant(1))
		})
	}
}

// TestReadsBesideChanges: readers see a change when it is issued.
func TestReadsBesideChanges(t *testing.T) {
	play(t, instant(1), `
		create 1 8
		write 1 0 new &
		read 1 0 3 => new`)
}
