package disk

import (
	"bytes"
	"testing"
)

// TestDamageEnds: damage that has become the truth is forgotten.
func TestDamageEnds(t *testing.T) {
	for _, how := range []string{"write 1 0 x", "write 1 0 y\ninject lost-write times=1"} {
		d := instant(1)
		play(t, d, `
			create 1 600
			write 1 0 y
			sync 1
			write 1 0 x
			inject lost-write times=1
			sync 1
			damaged 1 0 1 => true
			`+how+`
			sync 1
			damaged 1 0 1 => false`)
		if n := len(d.names.file(1).damage); n != 0 {
			t.Errorf("after %q %d sectors are kept", how, n)
		}
	}
	back := 0
	for seed := range uint64(50) {
		d := instant(seed)
		play(t, d, "create 1 1\nwrite 1 0 x\nsync 1\ninject bit-rot times=2")
		damaged := d.Damaged(1, 0, 1)
		if n := len(d.names.file(1).damage); n == 1 != damaged {
			t.Errorf("seed %d: damaged: %t, and %d sectors are kept", seed, damaged, n)
		}
		if !damaged {
			back++
		}
	}
	if back == 0 {
		t.Error("in 50 tries no bit turned back")
	}
}

// TestBitRotTurnsOneBit, as often as it was asked to, anywhere in what is
// stored.
func TestBitRotTurnsOneBit(t *testing.T) {
	where := map[int]bool{}
	for seed := range uint64(300) {
		d := instant(seed)
		play(t, d, "create 1 20\nwrite 1 0 text\nsync 1\ncreate 2 9000\nwrite 2 8999 x\nsync 2")
		before := both(d)
		d.Inject(Fault{Kind: BitRot})
		bit := -1
		for i, b := range both(d) {
			for k := range 8 {
				if (b^before[i])>>k&1 == 1 {
					if bit >= 0 {
						t.Fatalf("seed %d: two bits turned", seed)
					}
					bit = 8*i + k
				}
			}
		}
		if bit < 0 {
			t.Fatalf("seed %d: no bit turned", seed)
		}
		where[bit/8] = true
		d.HealAll()
		if !bytes.Equal(both(d), before) {
			t.Fatalf("seed %d: healing does not restore", seed)
		}
	}
	first, second := 0, 0
	for i := range where {
		switch {
		case i < 20:
			first++
		case i >= 20+8192:
			second++
		default:
			t.Errorf("byte %d is not stored", i)
		}
	}
	if first == 0 || second == 0 {
		t.Errorf("of 300 bits %d in file 1 and %d in file 2", first, second)
	}

	d := instant(1)
	play(t, d, "create 1 4096\nwrite 1 0 text\nsync 1\ninject bit-rot times=5\nbites bit-rot => 5")
}

func both(d *Disk) []byte {
	one, _ := d.Content(1)
	two, _ := d.Content(2)
	return append(one, two...)
}

// TestMisdirectedWriteStaysInTheFile: sectors go to sectors, and all others
// are as they were.
func TestMisdirectedWriteStaysInTheFile(t *testing.T) {
	places := map[int64]bool{}
	for seed := range uint64(200) {
		d := instant(seed)
		play(t, d, `
			create 1 5200
			create 2 5200
			write 1 0 v*5200
			sync 1
			write 1 2048 n*1024
			inject misdirected-write
			sync 1`)
		p, _ := d.Content(1)
		var at int64 = -1
		for s := range int64(11) {
			switch got := short(p[s*512 : min(s*512+512, 5200)]); {
			case got == "n*512" && at < 0:
				at = s
			case got == "n*512" && s == at+1:
			case got != "v*512" && got != "v*80":
				t.Fatalf("seed %d: sector %d holds %s", seed, s, got)
			}
		}
		if at < 0 || at == 4 {
			t.Fatalf("seed %d: it went to sector %d", seed, at)
		}
		places[at] = true
		if other, _ := d.Content(2); short(other) != ".*5200" {
			t.Fatalf("seed %d: it went to another file", seed)
		}
		play(t, d, "heal all\nclean 1 2048 1024 => n*1024\nread 1 2048 1024 => n*1024")
	}
	if len(places) != 8 { // 0 to 8 without 4
		t.Errorf("it went to sectors %v only", places)
	}
}
