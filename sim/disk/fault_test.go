package disk

import "testing"

func TestFaults(t *testing.T) {
	tests := []struct{ name, transcript string }{
		{"full: no new file and no growth, what is there goes on", `
			create 1 8
			inject disk-full
			create 2 8 => create journal file 2 of 8 bytes: no space left on device
			write 1 6 xyz => write 3 bytes at 6 of journal file 1 of 8 bytes: no space left on device
			write 1 6 xy
			sync 1
			remove 1
			files => none
			bites disk-full => 2
			heal disk-full
			create 2 8
			bites disk-full => 2`},
		{"read error: the bytes are there", `
			create 1 8
			write 1 0 x
			inject disk-read-error times=2
			read 1 0 1 => read 1 bytes at 0 of journal file 1: input/output error
			read 1 0 9 => read 9 bytes at 0 of journal file 1: it has 8 bytes
			read 1 0 1 => read 1 bytes at 0 of journal file 1: input/output error
			read 1 0 1 => x
			bites disk-read-error => 2
			inject disk-read-error
			read 1 0 1 => read 1 bytes at 0 of journal file 1: input/output error
			heal disk-read-error
			read 1 0 1 => x
			damaged 1 0 8 => false`},
		{"sync error: told once, read as before, lost with the power", `
			create 1 2000
			write 1 0 a
			sync 1
			write 1 1 b
			inject fsync-error times=1
			sync 1 => sync journal file 1: input/output error
			sync 1
			read 1 0 2 => ab
			kill
			read 1 0 2 => ab
			power 0
			read 1 0 2 => a.
			bites fsync-error => 1
			damaged 1 0 2 => false`},
		{"sync error: a later write to the sector takes what was dropped along, one elsewhere does not", `
			create 1 2000
			write 1 0 a
			write 1 600 a
			inject fsync-error times=1
			sync 1 => sync journal file 1: input/output error
			write 1 1 b
			sync 1
			read 1 600 1 => a
			power 0
			read 1 0 2 => ab
			read 1 600 1 => .`},
		{"sync error: a file that grew is short again", `
			create 1 4
			write 1 4 more
			inject fsync-error
			sync 1 => sync journal file 1: input/output error
			heal fsync-error
			power 0
			files => 1:4
			write 1 7 x
			read 1 0 8 => .......x`},
		{"sync error: not without anything to sync", `
			create 1 8
			inject fsync-error
			sync 1
			create 2 8
			write 2 0 x
			sync 1
			bites fsync-error => 0`},
		{"stuck: nothing begins until it is healed, then the same call does", `
			create 1 8
			inject disk-stuck
			write 1 0 x => stuck
			create 2 8 => stuck
			sync 1 => stuck
			remove 1 => stuck
			read 1 0 1 => stuck
			heal disk-stuck
			read 1 0 1 => .
			files => 1:8
			write 1 0 x
			bites disk-stuck => 5`},
		{"stuck: what was under way ends", `
			create 1 8
			write 1 0 x
			sync 1 &
			inject disk-stuck
			kill
			inject disk-stuck
			heal all
			read 1 0 1 => x`},
		{"lying: synced is not durable, nor is a file or its end", `
			create 1 8
			write 1 0 safe
			sync 1
			inject disk-lying
			write 1 0 lies
			sync 1
			create 2 8
			power 0
			files => 1:8
			read 1 0 4 => safe
			remove 1
			power 0
			files => 1:8
			bites disk-lying => 3
			damaged 1 0 4 => false`},
		{"lying: it may go well", `
			create 1 8
			inject disk-lying
			write 1 0 lies
			sync 1
			power 1
			read 1 0 4 => lies`},
		{"lying: an honest sync later makes it good", `
			create 1 8
			inject disk-lying
			write 1 0 text
			sync 1
			heal disk-lying
			sync 1
			power 0
			read 1 0 4 => text`},
		{"lost write: the old bytes, until it is healed", `
			create 1 8
			write 1 0 old
			sync 1
			write 1 0 new
			inject lost-write times=1
			read 1 0 3 => new
			sync 1
			read 1 0 3 => old
			damaged 1 0 3 => true
			clean 1 0 3 => new
			power 0
			read 1 0 3 => old
			bites lost-write => 1
			heal lost-write
			read 1 0 3 => new
			damaged 1 0 3 => false`},
		{"lost write: what is written later lands, the rest of the sector stays old", `
			create 1 600
			write 1 0 abcd
			inject lost-write times=1
			sync 1
			write 1 2 CDef
			read 1 0 6 => ..CDef
			sync 1
			read 1 0 6 => ..CDef
			clean 1 0 6 => abCDef
			damaged 1 0 2 => true
			damaged 1 2 598 => false
			write 1 0 AB
			sync 1
			damaged 1 0 600 => false
			heal all
			read 1 0 6 => ABCDef`},
		{"lost write: each run of sectors is one write of the medium", `
			create 1 4096
			write 1 0 a*1024
			write 1 1024 b
			write 1 2048 c
			inject lost-write times=1
			sync 1
			read 1 0 1025 => .*1025
			read 1 2048 1 => c`},
		{"lost write: a pending write is lost with the power, the damage is not", `
			create 1 600
			write 1 0 abcd
			inject lost-write times=1
			sync 1
			write 1 0 XYZ
			power 0
			read 1 0 4 => ....
			write 1 0 XYZ
			power 1
			read 1 0 4 => XYZ.
			heal all
			read 1 0 4 => XYZd`},
		{"misdirected write: there is one other sector in the file", `
			create 1 1024
			write 1 0 old
			write 1 512 victim
			sync 1
			write 1 0 new
			inject misdirected-write times=1
			sync 1
			read 1 0 6 => old...
			read 1 512 6 => new...
			clean 1 0 3 => new
			clean 1 512 6 => victim
			damaged 1 0 512 => true
			damaged 1 512 512 => true
			bites misdirected-write => 1
			heal misdirected-write
			read 1 0 3 => new
			read 1 512 6 => victim`},
		{"misdirected write: not where there is no other place", `
			create 1 1023
			write 1 0 x
			inject misdirected-write
			sync 1
			read 1 0 1 => x
			bites misdirected-write => 0`},
		{"bit rot: not in what is not stored", `
			create 1 4096
			write 1 0 x
			inject bit-rot
			bites bit-rot => 0
			read 1 0 1 => x`},
		{"bit rot: the rest of a file is as it was, and healing restores", `
			create 1 1
			write 1 0 x
			sync 1
			inject bit-rot
			bites bit-rot => 1
			damaged 1 0 1 => true
			clean 1 0 1 => x
			kill
			damaged 1 0 1 => true
			power 0
			damaged 1 0 1 => true
			heal bit-rot
			read 1 0 1 => x
			damaged 1 0 1 => false`},
		{"bit rot: a write over it is good again, once it is durable", `
			create 1 1
			write 1 0 x
			sync 1
			inject bit-rot
			write 1 0 y
			read 1 0 1 => y
			power 0
			damaged 1 0 1 => true
			write 1 0 y
			sync 1
			damaged 1 0 1 => false
			read 1 0 1 => y`},
		{"healing one fault leaves the others", `
			create 1 8
			inject disk-full
			inject disk-read-error
			heal disk-full
			create 2 1
			read 1 0 1 => read 1 bytes at 0 of journal file 1: input/output error
			heal all
			read 1 0 1 => .`},
		{"healing one fault leaves the damage of another", `
			create 1 600
			write 1 0 x
			inject lost-write
			sync 1
			heal bit-rot
			read 1 0 1 => .
			heal lost-write
			read 1 0 1 => x`},
		{"lost write: the same bytes as before are no damage", `
			create 1 600
			write 1 0 x
			sync 1
			write 1 0 x
			inject lost-write
			sync 1
			damaged 1 0 600 => false
			write 1 0 y
			sync 1
			damaged 1 0 600 => true
			write 1 0 x
			sync 1
			damaged 1 0 600 => false
			heal all
			read 1 0 1 => x`},
		{"a short write is not there at all after the power was lost", `
			create 1 8
			inject disk-write-short times=1
			write 1 0 x => write 1 bytes at 0 of journal file 1: only 0 were written: input/output error
			write 1 0 x
			read 1 0 1 => x
			bites disk-write-short => 1`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { play(t, instant(1), test.transcript) })
	}
}

// TestShortWrite: a part of the bytes, each length of it but the whole, and
// nothing else.
func TestShortWrite(t *testing.T) {
	seen := map[string]bool{}
	for seed := range uint64(200) {
		d := instant(seed)
		play(t, d, "create 1 8\nwrite 1 2 abcd")
		d.Inject(Fault{Kind: ShortWrite})
		if out := d.Write(1, 2, []byte("WXYZ")); !out.Failed {
			t.Fatalf("seed %d: it did not fail", seed)
		}
		d.Complete()
		seen[content(d)] = true
		d.Crash(PowerLoss) // must not find more than was there
	}
	for _, want := range []string{"1[..abcd..]", "1[..Wbcd..]", "1[..WXcd..]", "1[..WXYd..]"} {
		if !seen[want] {
			t.Errorf("never %s", want)
		}
		delete(seen, want)
	}
	if len(seen) > 0 {
		t.Errorf("also %v", seen)
	}
}

// TestChance: a fault with a chance bites that often, and only as many times
// as it may.
func TestChance(t *testing.T) {
	for seed := range uint64(20) {
		d := instant(seed)
		play(t, d, "create 1 8\ninject disk-read-error permille=250")
		failed := 0
		for range 2000 {
			if d.Read(1, 0, 1).Failed {
				failed++
			}
		}
		if failed < 400 || failed > 600 || d.Bites(ReadError) != int64(failed) {
			t.Errorf("seed %d: %d of 2000 reads failed, %d are counted", seed, failed, d.Bites(ReadError))
		}
	}
}
