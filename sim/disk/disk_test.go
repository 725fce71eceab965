package disk

import (
	"slices"
	"testing"
)

func TestOperations(t *testing.T) {
	tests := []struct{ name, transcript string }{
		{"a new file is zeros", `
			create 7 5000
			files => 7:5000
			read 7 0 5000 => .*5000
			read 7 4999 1 => .`},
		{"what is written is read, over the edges of sectors and pages", `
			create 1 10000
			write 1 508 abcdefgh
			write 1 4094 wxyz
			write 1 510 XY
			read 1 506 12 => ..abXYefgh..
			read 1 4092 8 => ..wxyz..`},
		{"a write behind the end makes the file grow", `
			create 1 4
			write 1 6 xy
			files => 1:8
			read 1 0 8 => ......xy`},
		{"an empty write does nothing", `
			create 1 4
			write 1 9 *0
			files => 1:4`},
		{"files are listed by number", `
			create 9 1
			create 2 2
			create 5 3
			remove 5
			files => 2:2 9:1`},
		{"a file in the place of another", `
			create 1 4
			write 1 0 old
			create 1 3
			read 1 0 3 => ...`},
		{"mistakes are answers", `
			write 1 0 x => write 1 bytes at 0 of journal file 1: it does not exist
			sync 1 => sync journal file 1: it does not exist
			remove 1 => remove journal file 1: it does not exist
			read 1 0 1 => read 1 bytes at 0 of journal file 1: it does not exist
			create 1 -1 => create journal file 1 of -1 bytes: the size must be 0 to 1073741824
			create 1 1073741825 => create journal file 1 of 1073741825 bytes: the size must be 0 to 1073741824
			create 1 4
			read 1 2 3 => read 3 bytes at 2 of journal file 1: it has 4 bytes
			read 1 -1 3 => read 3 bytes at -1 of journal file 1: it has 4 bytes
			read 1 0 -1 => read -1 bytes at 0 of journal file 1: it has 4 bytes
			read 1 9223372036854775807 1 => read 1 bytes at 9223372036854775807 of journal file 1: it has 4 bytes
			write 1 1073741823 xy => write 2 bytes at 1073741823 of journal file 1: it must stay within 0 to 1073741824
			write 1 -1 xy => write 2 bytes at -1 of journal file 1: it must stay within 0 to 1073741824
			clean 1 2 3 => none
			damaged 1 2 3 => false`},
		{"a kill keeps what was written", `
			create 1 8
			write 1 0 synced
			sync 1
			write 1 2 UNSYNC
			kill
			read 1 0 8 => syUNSYNC
			files => 1:8`},
		{"the power takes what was not synced", `
			create 1 8
			write 1 0 synced
			sync 1
			write 1 2 UN
			write 1 600 grown
			power 0
			files => 1:8
			read 1 0 8 => synced..`},
		{"what is durable is told before the power goes", `
			create 1 8
			write 1 0 synced
			sync 1
			write 1 2 UN
			write 1 600 grown
			create 2 4 &
			durable => 1:synced..
			power 0
			read 1 0 8 => synced..
			files => 1:8`},
		{"a wiped disk is empty, and goes on", `
			inject disk-full
			create 1 8 => create journal file 1 of 8 bytes: no space left on device
			heal disk-full
			create 1 8
			write 1 0 synced
			sync 1
			write 1 2 UN
			inject disk-slow factor=5
			wipe
			files => none
			durable => none
			power 0
			files => none
			create 1 4
			durable => 1:....`},
		{"and keeps the first operations", `
			create 1 8
			write 1 0 aa
			write 1 600 bb
			write 1 0 cc
			power 2
			files => 1:602
			read 1 0 2 => aa
			read 1 600 2 => bb`},
		{"a sync is for one file", `
			create 1 8
			create 2 8
			write 1 0 one
			write 2 0 two
			sync 2
			power 0
			read 1 0 3 => ...
			read 2 0 3 => two`},
		{"and leaves the others pending", `
			create 1 8
			create 2 8
			write 1 0 one
			write 2 0 two
			sync 1
			power 1
			read 1 0 3 => one
			read 2 0 3 => two`},
		{"an answered create and an answered remove are durable", `
			create 1 8
			create 2 8
			write 2 0 x
			remove 1
			power 0
			files => 2:8`},
		{"what a removed file had pending is gone with it", `
			create 1 8
			write 1 0 x
			remove 1
			create 1 8
			power 1
			read 1 0 1 => .`},
		{"the caller's bytes are its own", `
			create 1 8
			write 1 0 x
			sync 1
			clean 1 0 1 => x`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { play(t, instant(1), test.transcript) })
	}
}

func TestCallersBytesStayTheirs(t *testing.T) {
	d := instant(1)
	play(t, d, "create 1 8")
	p := []byte("mine")
	d.Write(1, 0, p)
	d.Complete()
	copy(p, "????")
	read := d.Read(1, 0, 4).Data
	copy(read, "!!!!")
	play(t, d, `
		read 1 0 4 => mine
		power 1
		read 1 0 4 => mine`)
}

// TestRemovedFilesHaveNothingPending, or memory would fill up with them.
func TestRemovedFilesHaveNothingPending(t *testing.T) {
	d := instant(1)
	play(t, d, "create 1 8\ncreate 2 8\nwrite 1 0 x\nwrite 2 0 x\nremove 1")
	if loss := d.Crash(PowerLoss); loss.Kept+loss.Dropped != 1 {
		t.Errorf("pending were %+v", loss)
	}
}

// TestWriteBack: the kernel writes the oldest back in time, so that memory
// and crashes do not cost more and more.
func TestWriteBack(t *testing.T) {
	d := instant(1)
	play(t, d, "create 1 8388608")
	for i := range int64(maxPending + 1) {
		d.Write(1, i*1024, []byte("x"))
		d.Complete()
	}
	if len(d.pending) != maxPending/2+1 {
		t.Fatalf("%d operations are pending", len(d.pending))
	}
	if want := (maxPending/2 + 1) * sectorSize; len(d.snapshots) != want {
		t.Errorf("%d bytes are kept for them, not %d", len(d.snapshots), want)
	}
	play(t, d, "power 1")
	p, _ := d.Content(1)
	var there int64
	for i := range int64(maxPending + 1) {
		if p[i*1024] == 'x' {
			there++
			if i != there-1 {
				t.Fatalf("write %d is there and one before is not", i)
			}
		}
	}
	if there != maxPending/2+1 {
		t.Errorf("%d writes are there", there)
	}
}

func TestNewFilesTakeNoRoom(t *testing.T) {
	d := instant(1)
	if n := testing.AllocsPerRun(20, func() { d.Create(1, 16<<20); d.Complete() }); n > 2 {
		t.Errorf("a create allocates %.0f times", n)
	}
	play(t, d, "write 1 16777215 x")
	if f := d.names.file(1); f.written.stored() != 1 || len(f.durable.pages) != 0 {
		t.Error("a byte takes more than a page")
	}
}

// TestOnlyTheStreamDecides: the same stream gives the same disk, another one
// another.
func TestOnlyTheStreamDecides(t *testing.T) {
	run := func(seed uint64) []string {
		var log []string
		d := instant(seed)
		d.options = Typical()
		play(t, d, "create 1 65536")
		for i := range int64(60) {
			d.Inject(Fault{Kind: ShortWrite, Permille: 100})
			d.Inject(Fault{Kind: LostWrite, Permille: 300})
			out := d.Write(1, i*1000, []byte(long(t, "w*900")))
			d.Complete()
			log = append(log, describe(out), short([]byte{byte(out.Latency), byte(out.Latency >> 8)}))
			if i%7 == 0 {
				d.Sync(1)
				d.Complete()
			}
			if i%20 == 19 {
				d.Inject(Fault{Kind: BitRot})
				d.Crash(PowerLoss)
				log = append(log, content(d))
			}
		}
		return log
	}
	for seed := range uint64(10) {
		if !slices.Equal(run(seed), run(seed)) {
			t.Errorf("seed %d: two runs differ", seed)
		}
		if slices.Equal(run(seed), run(seed+100)) {
			t.Errorf("seeds %d and %d: the same run", seed, seed+100)
		}
	}
}
