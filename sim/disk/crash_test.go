package disk

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"pestle/sim/lot"
	"pestle/sim/random"
)

// steps are what the sequences below are made of. Creating and removing on a
// disk that lies leaves the directory entry pending, as a kill amid it does.
var steps = []struct {
	transcript string
	on         func(*naive)
}{
	{"write 1 0 a*300", func(m *naive) { m.write(1, 0, strings.Repeat("a", 300)) }},
	{"write 1 200 b*600", func(m *naive) { m.write(1, 200, strings.Repeat("b", 600)) }},
	{"write 1 4000 c*200", func(m *naive) { m.write(1, 4000, strings.Repeat("c", 200)) }},
	{"write 1 8000 d*300", func(m *naive) { m.write(1, 8000, strings.Repeat("d", 300)) }},
	{"sync 1", func(m *naive) { m.sync(1, false) }},
	{"inject fsync-error\nsync 1 => sync journal file 1: input/output error\nheal fsync-error", func(m *naive) { m.sync(1, true) }},
	{"inject disk-lying\ncreate 2 700\nheal disk-lying", func(m *naive) { m.enter(2, 700) }},
	{"write 2 100 e*500", func(m *naive) { m.write(2, 100, strings.Repeat("e", 500)) }},
	{"sync 2", func(m *naive) { m.sync(2, false) }},
	{"inject disk-lying\nremove 2\nheal disk-lying", func(m *naive) { m.name(2).set(m.operations, nil); m.operations++ }},
	{"inject disk-lying\ncreate 1 4200\nheal disk-lying", func(m *naive) { m.enter(1, 4200) }},
}

const failingSync = 5

// possible reports whether a step is one in this state: not on a file that is
// not there, and a sync can only fail when it has something to do.
func possible(m *naive, step int) bool {
	switch transcript := steps[step].transcript; {
	case step == failingSync:
		return len(m.file(1).size.later) > 0
	case strings.Contains(transcript, "create 2"):
		return m.file(2) == nil
	case strings.Contains(transcript, " 2"):
		return m.file(2) != nil || strings.Contains(transcript, "write 1")
	}
	return true
}

// start is a disk with file 1 of two pages, and the model of it.
func start(t *testing.T, seed uint64) (*Disk, *naive) {
	d, m := instant(seed), &naive{names: map[uint64]*parts[*naiveFile]{}}
	play(t, d, "create 1 8192")
	m.enter(1, 8192)
	m.name(1).durable, m.name(1).later = m.file(1), nil
	return d, m
}

// losePowerAfter plays steps and loses the power. It returns false when the
// steps are not possible.
func losePowerAfter(t *testing.T, sequence []int, how lot.Policy, key uint64) bool {
	d, m := start(t, key)
	for _, step := range sequence {
		if !possible(m, step) {
			return false
		}
		play(t, d, steps[step].transcript)
		steps[step].on(m)
	}
	if got, want := content(d), m.content(); got != want {
		t.Fatalf("steps %v leave\n %s, not\n %s", sequence, got, want)
	}
	l := lot.Draw(d.crash, len(d.pending))
	l.Policy = how
	pending := int64(len(d.pending))
	loss := d.losePower(l)
	if why := m.objection(d, how); why != "" {
		t.Fatalf("steps %v, policy %d, key %d: %s\n%s", sequence, how, key, why, content(d))
	}
	if loss.Kept+loss.Torn+loss.Dropped != pending {
		t.Fatalf("steps %v, policy %d, key %d: of %d operations %+v", sequence, how, key, pending, loss)
	}
	after := content(d)
	if d.Crash(PowerLoss); content(d) != after {
		t.Fatalf("steps %v, policy %d, key %d: %s, and after a second crash %s", sequence, how, key, after, content(d))
	}
	if key%4 == 0 {
		growAgain(t, d)
	}
	return true
}

// growAgain: nothing that a crash took comes to life when a file grows over it.
func growAgain(t *testing.T, d *Disk) {
	for _, name := range d.Files() {
		size, _ := d.Size(name)
		play(t, d, fmt.Sprintf("write %d %d x", name, size+5000))
		for _, then := range []string{"kill", fmt.Sprintf("sync %d\npower 0", name)} {
			play(t, d, then+fmt.Sprintf("\nread %d %d 5001 => .*5000+x", name, size))
		}
		play(t, d, fmt.Sprintf("clean %d %d 5001 => .*5000+x", name, size))
	}
}

func (m *naive) content() string {
	var list []string
	for n := range uint64(4) {
		if f := m.file(n); f != nil {
			list = append(list, fmt.Sprintf("%d[%s]", n, short(f.written)))
		}
	}
	return strings.Join(list, " ")
}

// TestPowerLoss: after every sequence of up to three steps, whatever is left
// is what the rules allow.
func TestPowerLoss(t *testing.T) {
	played := 0
	for i := range len(steps) * len(steps) * len(steps) {
		sequence := []int{i % len(steps), i / len(steps) % len(steps), i / len(steps) / len(steps)}
		for how := range lot.Policies {
			for key := range uint64(6) {
				if !losePowerAfter(t, sequence, how, key) {
					break
				}
				played++
			}
		}
	}
	if played < 10_000 {
		t.Errorf("only %d were possible", played)
	}
}

// TestPowerLossAfterMany: and after longer ones.
func TestPowerLossAfterMany(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		_, m := start(t, 0)
		var sequence []int
		for _, step := range rapid.SliceOfN(rapid.IntRange(0, len(steps)-1), 1, 25).Draw(r, "steps") {
			if possible(m, step) {
				steps[step].on(m)
				sequence = append(sequence, step)
			}
		}
		how := lot.Policy(rapid.IntRange(0, int(lot.Policies)-1).Draw(r, "policy"))
		losePowerAfter(t, sequence, how, rapid.Uint64().Draw(r, "key"))
	})
}

// TestPowerLossReachesEverything: each state that a policy allows is drawn.
func TestPowerLossReachesEverything(t *testing.T) {
	tests := []struct {
		name, transcript    string
		prefix, paged, torn int // states
	}{
		{"three pages", "write 1 0 a\nwrite 1 4096 b\nwrite 1 8192 c", 4, 2 * 2 * 3, 2 * 2 * 3}, // the last one with its size
		{"two sectors of a page", "write 1 0 a\nwrite 1 512 b", 3, 3, 4},
		{"one write over two sectors", "write 1 508 abcdefgh", 2, 2, 4},
		{"one sector three times", "write 1 0 a\nwrite 1 1 b\nwrite 1 0 c", 4, 4, 4},
		{"a file that grows", "write 1 9000 x", 2, 3, 3}, // size without bytes
		{"synced in between", "write 1 0 a\nsync 1\nwrite 1 1 b", 2, 2, 2},
		{"a lost entry", "inject disk-lying\ncreate 2 8\nwrite 2 0 x", 3, 3, 3},
		{"a removal that did not happen", "create 2 8\ninject disk-lying\nremove 2", 2, 2, 2},
		{"removed and made again", "create 2 8\ninject disk-lying\nremove 2\ncreate 2 9", 3, 3, 3},
	}
	for _, test := range tests {
		for how, want := range []int{lot.Prefix: test.prefix, lot.Paged: test.paged, lot.Torn: test.torn} {
			seen := map[string]bool{}
			for seed := range uint64(1500) {
				d := instant(seed)
				play(t, d, "create 1 8192\n"+test.transcript)
				l := lot.Draw(d.crash, len(d.pending))
				l.Policy = lot.Policy(how)
				d.losePower(l)
				seen[content(d)] = true
			}
			if len(seen) != want {
				t.Errorf("%s, policy %d: %d states, not %d", test.name, how, len(seen), want)
			}
		}
	}
}

// TestGarbage: a torn sector may hold what nobody wrote, but only where a lost
// write was to change it.
func TestGarbage(t *testing.T) {
	garbage := 0
	for seed := range uint64(200) {
		d := instant(seed)
		play(t, d, "create 1 512\nwrite 1 0 k*100\nsync 1\nwrite 1 0 k*50+n*150")
		l := lot.Draw(d.crash, len(d.pending))
		l.Policy = lot.Garbled
		loss := d.losePower(l)
		p, _ := d.Content(1)
		if !bytes.Equal(p[:50], bytes.Repeat([]byte("k"), 50)) || len(bytes.Trim(p[200:], "\x00")) > 0 {
			t.Fatalf("seed %d: garbage where nothing was written: %s", seed, short(p))
		}
		text := short(p)
		if clean := text == "k*100+.*412" || text == "k*50+n*150+.*312"; clean != (loss.Garbage == 0) {
			t.Fatalf("seed %d: %s, and %d sectors are counted", seed, text, loss.Garbage)
		}
		if loss.Garbage > 0 {
			garbage++
		}
	}
	if garbage < 10 {
		t.Errorf("garbage in %d of 200", garbage)
	}
}

// TestCrashDrawsEveryPolicy, and is the same for the same stream.
func TestCrashDrawsEveryPolicy(t *testing.T) {
	seen := map[lot.Policy]bool{}
	for seed := range uint64(50) {
		d := instant(seed)
		seen[lot.Draw(d.crash, len(d.pending)).Policy] = true
		a, b := instant(seed), instant(seed)
		for _, d := range []*Disk{a, b} {
			play(t, d, "create 1 8192\nwrite 1 0 a*5000\nwrite 1 3000 b*3000\nwrite 1 9000 c")
		}
		if x, y := a.Crash(PowerLoss), b.Crash(PowerLoss); x != y || content(a) != content(b) {
			t.Errorf("seed %d: two crashes differ", seed)
		}
	}
	if len(seen) != int(lot.Policies) {
		t.Errorf("policies drawn: %v", seen)
	}
}

// TestAgainstBytes: without faults a disk is files of bytes; a kill changes
// nothing, and the loss of the power undoes what was not synced.
func TestAgainstBytes(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		d := New(random.New(rapid.Uint64().Draw(r, "seed")), Typical())
		written, durable := map[uint64][]byte{}, map[uint64][]byte{}
		name := rapid.Uint64Range(1, 3)
		size := rapid.Int64Range(0, 10_000)
		finish := func(what string, out Outcome, should bool) {
			d.Complete()
			if out.Failed == should {
				r.Fatalf("%s: %+v", what, out)
			}
		}
		r.Repeat(map[string]func(*rapid.T){
			"create": func(r *rapid.T) {
				n, size := name.Draw(r, "file"), size.Draw(r, "size")
				finish("create", d.Create(n, size), true)
				written[n], durable[n] = make([]byte, size), make([]byte, size)
			},
			"remove": func(r *rapid.T) {
				n := name.Draw(r, "file")
				_, there := written[n]
				finish("remove", d.Remove(n), there)
				delete(written, n)
				delete(durable, n)
			},
			"write": func(r *rapid.T) {
				n, off := name.Draw(r, "file"), size.Draw(r, "offset")
				p := bytes.Repeat([]byte{rapid.Byte().Draw(r, "letter")}, rapid.IntRange(1, 3000).Draw(r, "length"))
				was, there := written[n]
				finish("write", d.Write(n, off, p), there)
				if there {
					if missing := int(off) + len(p) - len(was); missing > 0 {
						was = append(was, make([]byte, missing)...)
					}
					copy(was[off:], p)
					written[n] = was
				}
			},
			"sync": func(r *rapid.T) {
				n := name.Draw(r, "file")
				_, there := written[n]
				finish("sync", d.Sync(n), there)
				if there {
					durable[n] = bytes.Clone(written[n])
				}
			},
			"read": func(r *rapid.T) {
				n, off, length := name.Draw(r, "file"), size.Draw(r, "offset"), size.Draw(r, "length")
				out := d.Read(n, off, length)
				if p := written[n]; out.Failed != (written[n] == nil || off+length > int64(len(p))) {
					r.Fatalf("read %d bytes at %d of %d: %+v", length, off, len(p), out)
				} else if !out.Failed && !bytes.Equal(out.Data, p[off:off+length]) {
					r.Fatalf("read %d bytes at %d: %s", length, off, short(out.Data))
				}
			},
			"kill": func(*rapid.T) { d.Crash(Kill) },
			"power loss": func(*rapid.T) {
				d.losePower(lot.Lot{Policy: lot.Prefix, First: 0, N: len(d.pending)})
				clear(written)
				for n, p := range durable {
					written[n] = bytes.Clone(p)
				}
			},
			"": func(r *rapid.T) {
				if len(d.Files()) != len(written) {
					r.Fatalf("there are files %v", d.Files())
				}
				for n, want := range written {
					if got, ok := d.Content(n); !ok || !bytes.Equal(got, want) {
						r.Fatalf("file %d is %s, not %s", n, short(got), short(want))
					}
					if clean, _ := d.CleanBytes(n, 0, int64(len(durable[n]))); !bytes.Equal(clean, durable[n]) {
						r.Fatalf("durable of file %d is %s, not %s", n, short(clean), short(durable[n]))
					}
				}
			},
		})
	})
}

// A file whose making a kill interrupts may be there and its name not durable.
// Whoever finds it syncs the directory before anything is written to it.
// (Without that a power loss took away what a broker had acknowledged: seed 76
// of everything.)
func TestNamesThatAreFoundAreMadeDurable(t *testing.T) {
	kept := 0
	for seed := range uint64(100) {
		d := New(random.New(seed), Typical())
		d.Create(1, 8192)
		d.Crash(Kill)
		if len(d.Files()) == 0 {
			continue
		}
		d.SyncDirectory()
		d.Crash(PowerLoss)
		if len(d.Files()) != 1 {
			t.Fatalf("seed %d: a file that was there is gone with the power", seed)
		}
		kept++
	}
	if kept == 0 {
		t.Error("no file was ever there")
	}
}
