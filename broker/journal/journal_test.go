package journal

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pestle/broker/plant"
)

// fileSize is the size of the files these tests make.
const fileSize = 4096

// salt is that of every file these tests make.
const salt = 0x5a17

// written is a journal file under construction, kept by the rules of the
// package comment.
type written struct {
	seq     uint64
	data    []byte
	durable Position
	ends    []int64 // where the header and each batch end
	index   uint64
}

func newFile(seq uint64, durable Position) *written {
	w := &written{seq: seq, data: AppendFileHeader(nil, seq, salt), durable: durable}
	w.ends = []int64{FileHeaderSize}
	return w
}

func (w *written) end() Position { return Position{w.seq, int64(len(w.data))} }

// batch appends one batch of records with these payloads; sync makes it
// durable, as far as the next batch will say.
func (w *written) batch(sync bool, payloads ...string) {
	b := Batch{Durable: w.durable, LogTime: 1000 + int64(len(w.ends)), WallTime: 2000 + int64(len(w.ends))}
	for _, p := range payloads {
		w.index++
		b.Records = append(b.Records, Record{Group: 1, Kind: 7, Index: w.index, Term: 1, Payload: []byte(p)})
	}
	w.data = AppendBatch(w.data, salt, w.end(), b)
	w.ends = append(w.ends, int64(len(w.data)))
	if sync {
		w.durable = w.end()
	}
}

// file is the content, filled up with zeros.
func (w *written) file() []byte {
	return append(bytes.Clone(w.data), make([]byte, fileSize-len(w.data))...)
}

// payloads is what a reader got, batch by batch.
func payloads(batches []Batch) [][]string {
	var out [][]string
	for _, b := range batches {
		list := []string{}
		for _, r := range b.Records {
			list = append(list, string(r.Payload))
		}
		out = append(out, list)
	}
	return out
}

func TestBatchesComeBackAsWritten(t *testing.T) {
	w := newFile(3, Position{2, 640})
	w.batch(true, "a", "", strings.Repeat("x", 1000))
	w.batch(true)
	w.batch(false, "last")
	var r Reader
	got, err := r.Feed(3, w.file())
	if err != nil {
		t.Fatal(err)
	}
	want := []Batch{
		{At: 40, Durable: Position{2, 640}, LogTime: 1001, WallTime: 2001, Records: []Record{
			{Group: 1, Kind: 7, Index: 1, Term: 1, Payload: []byte("a"), At: 40 + 48 + 32},
			{Group: 1, Kind: 7, Index: 2, Term: 1, Payload: []byte{}, At: 40 + 48 + 40 + 32},
			{Group: 1, Kind: 7, Index: 3, Term: 1, Payload: []byte(strings.Repeat("x", 1000)), At: 40 + 48 + 40 + 32 + 32},
		}},
		{At: w.ends[1], Durable: Position{3, w.ends[1]}, LogTime: 1002, WallTime: 2002, Records: []Record{}},
		{At: w.ends[2], Durable: Position{3, w.ends[2]}, LogTime: 1003, WallTime: 2003, Records: []Record{
			{Group: 1, Kind: 7, Index: 4, Term: 1, Payload: []byte("last"), At: w.ends[2] + 48 + 32},
		}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("batches (-want +got):\n%s", diff)
	}
	tail, err := r.Finish()
	if err != nil {
		t.Fatal(err)
	}
	wantTail := Tail{
		End: w.end(), Size: fileSize, Salt: salt, LogTime: 1003, WallTime: 2003,
		RewriteAt: Position{3, w.ends[2]}, Rewrite: w.data[w.ends[2]:],
	}
	if diff := cmp.Diff(wantTail, tail); diff != "" {
		t.Errorf("tail (-want +got):\n%s", diff)
	}
}

// The bytes of the format are fixed: a change of them must be seen.
func TestBytesOfTheFormat(t *testing.T) {
	got := AppendFileHeader(nil, 2, salt)
	got = AppendBatch(got, salt, Position{2, 40}, Batch{
		Durable: Position{1, 64}, LogTime: 5, WallTime: 6,
		Records: []Record{{Group: 1, Kind: 7, Index: 9, Term: 1, Payload: []byte("hello")}},
	})
	want := strings.Join([]string{
		"5053544c4a524e4c 01000000 00000000 0200000000000000 175a000000000000 " + fmt.Sprintf("%x", got[32:36]) + " 00000000",
		"42544348 58000000 01000000 " + fmt.Sprintf("%x", got[52:56]) + " 0100000000000000 4000000000000000 0500000000000000 0600000000000000",
		"05000000 " + fmt.Sprintf("%x", got[92:96]) + " 01000000 07 000000 0900000000000000 0100000000000000 68656c6c6f 000000",
	}, "")
	if hex := fmt.Sprintf("%x", got); hex != strings.ReplaceAll(want, " ", "") {
		t.Errorf("bytes\n got %s\nwant %s", hex, want)
	}
	if sum := fmt.Sprintf("%x %x %x", got[32:36], got[52:56], got[92:96]); sum != goldenSums {
		t.Errorf("CRCs are %s, were %s", sum, goldenSums)
	}
}

// worn is what a file holds that is used again: batches, from the first to the
// last byte, of an earlier life.
func worn() []byte {
	w := newFile(7, Position{6, 400})
	for len(w.data) < fileSize-200 {
		w.batch(true, "stale", "and stale")
	}
	return append(w.data, bytes.Repeat([]byte{0xee}, fileSize-len(w.data))...)
}

// A tear leaves any prefix of the last batch, in front of zeros, of what the
// file held before, or of anything. Every earlier batch must survive, and
// nothing of the torn one come back behind the next, however long that is.
func TestTornAtEveryByte(t *testing.T) {
	w := newFile(1, Position{})
	w.batch(true, "one")
	w.batch(true, "two", "three")
	w.batch(false, "four", "five")
	last, end := w.ends[2], w.ends[3]
	for name, under := range map[string][]byte{
		"zeros": make([]byte, fileSize), "ones": bytes.Repeat([]byte{0xff}, fileSize), "an earlier life": worn(),
	} {
		for cut := last; cut < end; cut++ {
			data := append(bytes.Clone(w.data[:cut]), under[cut:]...)
			if bytes.Equal(data[:end], w.data) {
				continue // the tear took nothing but zeros
			}
			if err := goesOnAfter(data, last, "one", "two three"); err != nil {
				t.Fatalf("torn at %d, over %s: %v", cut, name, err)
			}
		}
	}
}

// The idle mark needs no sync, so that a batch may be there whole and the mark
// before it not. When the next batch is as long as the mark, the one behind it
// must not follow.
func TestBatchBehindALostMark(t *testing.T) {
	w := newFile(1, Position{})
	w.batch(true, "one")
	w.batch(false)
	w.batch(false, "never acknowledged")
	for name, under := range map[string][]byte{"zeros": make([]byte, fileSize), "an earlier life": worn()} {
		data := append(bytes.Clone(w.data), under[len(w.data):]...)
		copy(data[w.ends[1]:w.ends[2]], under[w.ends[1]:])
		if err := goesOnAfter(data, w.ends[1], "one"); err != nil {
			t.Errorf("over %s: %v", name, err)
		}
	}
}

// A file that is used again ends where it begins, whatever it held.
func TestAnEarlierLife(t *testing.T) {
	one := newFile(1, Position{})
	one.batch(true, "one")
	one.batch(true)
	var r Reader
	if _, err := r.Feed(1, one.file()); err != nil {
		t.Fatal(err)
	}
	if got, err := r.Feed(2, append(AppendFileHeader(nil, 2, salt), worn()[FileHeaderSize:]...)); err != nil || len(got) != 0 {
		t.Fatalf("got %v, %v", payloads(got), err)
	}
	if tail, err := r.Finish(); err != nil || tail.End != one.end() || len(tail.Empty) != 1 || tail.Spare != 0 {
		t.Fatalf("the journal ends %+v, %v", tail, err)
	}
	if _, err := new(Reader).Feed(1, worn()); err == nil || !strings.Contains(err.Error(), "journal file 1 says that it is file 7") {
		t.Errorf("without a new beginning: %v", err)
	}
}

// goesOnAfter says what is wrong with a file that has to hold these batches and
// end there, and go on from there with a batch of any length.
func goesOnAfter(data []byte, end int64, want ...string) error {
	var r Reader
	got, err := r.Feed(1, bytes.Clone(data))
	if err != nil {
		return err
	}
	tail, err := r.Finish()
	if err != nil {
		return err
	}
	if tail.End != (Position{1, end}) || !equal(got, want) {
		return fmt.Errorf("the journal holds %v and ends at %v, not at %d", payloads(got), tail.End, end)
	}
	clear(data[end : end+tail.Torn])
	for n := range 40 {
		next := Batch{Durable: Position{1, end}}
		if n > 0 {
			next.Records = []Record{{Group: 1, Kind: 7, Index: 9, Payload: bytes.Repeat([]byte("n"), 8*(n-1))}}
		}
		again := bytes.Clone(data)
		copy(again[end:], AppendBatch(nil, salt, Position{1, end}, next))
		var r Reader
		got, err := r.Feed(1, again)
		if err != nil || len(got) != len(want)+1 {
			return fmt.Errorf("with batch %d behind it there are %v, %w", n, payloads(got), errors.Join(err, errors.New("want one more")))
		}
	}
	return nil
}

// equal compares batches with their payloads, joined.
func equal(got []Batch, want []string) bool {
	if len(got) != len(want) {
		return false
	}
	for i, list := range payloads(got) {
		if strings.Join(list, " ") != want[i] {
			return false
		}
	}
	return true
}

// Rot in what was durable, anywhere, must be told from a tear, whatever the
// batches behind it are: records, a mark, or those of the next file.
func TestRotAtEveryByte(t *testing.T) {
	one := newFile(1, Position{})
	one.batch(true, "one")
	one.batch(true, "two", "three")
	one.batch(true) // the mark a file ends with
	two := newFile(2, one.durable)
	two.index = one.index
	two.batch(true, "four")
	two.batch(false) // the mark of an idle journal

	for name, test := range map[string]struct {
		files []*written
		until int64 // every byte of the first file up to here is durable
	}{
		"a batch follows":            {[]*written{one}, one.ends[2]},
		"a file follows":             {[]*written{one, two}, one.ends[3]},
		"a mark follows in the file": {[]*written{two}, two.ends[1]},
	} {
		for at := int64(0); at < test.until; at++ {
			for _, bit := range []byte{0x01, 0x80} {
				var r Reader
				var err error
				for i, w := range test.files {
					data := w.file()
					if i == 0 {
						data[at] ^= bit
					}
					if err == nil {
						_, err = r.Feed(w.seq, data)
					}
				}
				if err == nil {
					_, err = r.Finish()
				}
				if err == nil {
					t.Fatalf("%s: byte %d with bit %#x flipped is not noticed", name, at, bit)
				}
			}
		}
	}
}

func TestZeroedBatchIsRot(t *testing.T) {
	w := newFile(1, Position{})
	w.batch(true, "one")
	w.batch(true, "two")
	w.batch(false, "three")
	data := w.file()
	clear(data[w.ends[1]:w.ends[2]])
	var r Reader
	_, err := r.Feed(1, data)
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("journal file 1 is damaged at offset %d: what stood there was durable up to file 1 offset %d", w.ends[1], w.ends[2])) {
		t.Errorf("got %v", err)
	}
}

func TestJournalsThatMustNotStart(t *testing.T) {
	one := newFile(1, Position{})
	one.batch(true, "one")
	one.batch(true)
	two := newFile(2, one.durable)
	two.batch(true, "two")
	two.batch(true)
	three := newFile(3, two.durable)
	three.batch(true, "three")

	newer := bytes.Clone(one.file())
	copy(newer, AppendFileHeader(nil, 1, salt))
	newer[8] = 9
	copy(newer[32:], le32(Sum(newer[:32])))

	headless := two.file()
	headless[3] ^= 1

	short := newFile(2, Position{1, one.ends[1]})
	short.batch(true, "two")

	for name, test := range map[string]struct {
		seqs  []uint64
		files [][]byte
		want  string
	}{
		"a file is missing":              {[]uint64{1, 3}, [][]byte{one.file(), three.file()}, "journal file 2 is missing between 1 and 3"},
		"a file has another's name":      {[]uint64{1, 2}, [][]byte{one.file(), one.file()}, "journal file 2 says that it is file 1"},
		"a file is of a newer program":   {[]uint64{1}, [][]byte{newer}, "journal file 1 has format version 9 and this program reads version 1"},
		"a file was wiped in the middle": {[]uint64{1, 2, 3}, [][]byte{one.file(), make([]byte, fileSize), three.file()}, "journal file 3 does not go on where file 1 ends"},
		"the end of a file is cut":       {[]uint64{1, 2}, [][]byte{one.file()[:one.ends[1]], two.file()}, "journal file 2 does not go on where file 1 ends, at offset 128"},
		"a file goes on too early":       {[]uint64{1, 2}, [][]byte{one.file(), short.file()}, "journal file 2 does not go on where file 1 ends"},
		"a file's header is rotten":      {[]uint64{1, 2}, [][]byte{one.file(), headless}, "journal file 2 is damaged at offset 0: its header was durable"},
		"the oldest file is empty":       {[]uint64{4}, [][]byte{make([]byte, fileSize)}, "journal file 4 is the oldest and empty"},
	} {
		t.Run(name, func(t *testing.T) {
			var r Reader
			var err error
			for i, data := range test.files {
				if err == nil {
					_, err = r.Feed(test.seqs[i], data)
				}
			}
			if err == nil {
				_, err = r.Finish()
			}
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

func le32(x uint32) []byte { return []byte{byte(x), byte(x >> 8), byte(x >> 16), byte(x >> 24)} }

// What a crash can leave of a file that was just begun is no damage.
func TestFilesWithoutBatches(t *testing.T) {
	one := newFile(1, Position{})
	one.batch(true, "one")
	one.batch(true)
	two := newFile(2, one.durable)
	two.batch(false, "two")
	torn := two.file()
	torn[two.ends[1]-1] ^= 1
	header := AppendFileHeader(nil, 2, salt)
	headless := append(header[:20:20], make([]byte, fileSize-20)...)
	for name, data := range map[string][]byte{
		"zeros":              make([]byte, fileSize),
		"no bytes":           nil,
		"a header":           append(header, make([]byte, fileSize-len(header))...),
		"a torn first batch": torn,
		"a torn file header": headless,
	} {
		var r Reader
		_, err := r.Feed(1, one.file())
		if err == nil {
			_, err = r.Feed(2, data)
		}
		tail, finish := r.Finish()
		if err != nil || finish != nil {
			t.Errorf("%s: %v, %v", name, err, finish)
			continue
		}
		want := Tail{End: one.end(), Size: fileSize, Salt: salt, LogTime: 1002, WallTime: 2002, Empty: []uint64{2}}
		want.RewriteAt = Position{1, one.ends[1]}
		want.Rewrite = one.data[one.ends[1]:]
		if len(data) == fileSize && len(bytes.TrimRight(data, "\x00")) <= FileHeaderSize {
			want.Spare = fileSize
		}
		if name == "a torn first batch" {
			// The header of the torn batch still proves the end of file 1.
			want.RewriteAt, want.Rewrite = one.end(), nil
		}
		if diff := cmp.Diff(want, tail); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// A client may publish what looks like the header of a batch that says that
// the one before it was durable. A torn write of it must stay a torn write: what
// stands in a batch is not looked at, and where the batch's own header is torn
// the client had to know the salt.
func TestForgedBatchInATornBody(t *testing.T) {
	for name, test := range map[string]struct {
		salt uint64 // that the client takes
		tear func(batch []byte)
	}{
		"in a batch with its header": {salt, func(batch []byte) { batch[len(batch)-1] ^= 1 }},
		"in one without":             {salt + 1, func(batch []byte) { clear(batch[:BatchHeaderSize]) }},
	} {
		t.Run(name, func(t *testing.T) {
			w := newFile(1, Position{})
			w.batch(true, "one")
			end := w.end()
			body := Position{1, end.Offset + BatchHeaderSize + RecordHeaderSize}
			after := Position{1, body.Offset + MarkSize}
			w.batch(false, string(AppendBatch(nil, test.salt, body, Batch{Durable: after}))+"and more")
			data := w.file()
			test.tear(data[end.Offset:w.end().Offset])
			var r Reader
			if _, err := r.Feed(1, data); err != nil {
				t.Fatalf("the node does not start: %v", err)
			}
			if tail, err := r.Finish(); err != nil || tail.End != end {
				t.Errorf("the journal ends at %v, %v; want %v", tail.End, err, end)
			}
		})
	}
}

// A block that stands elsewhere than it was written is not taken for a batch.
func TestMisplacedBlocks(t *testing.T) {
	w := newFile(1, Position{})
	w.batch(true, "same length")
	first := bytes.Clone(w.data[w.ends[0]:w.ends[1]])
	for name, data := range map[string][]byte{
		"at another offset":            append(bytes.Clone(w.data), first...),
		"in another file, same offset": append(AppendFileHeader(nil, 2, salt), first...),
	} {
		seq := uint64(1)
		if strings.Contains(name, "another file") {
			seq = 2
		}
		c, err := scan(seq, data, plant.None)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(c.batches); n != int(2-seq) {
			t.Errorf("%s: %d batches are read", name, n)
		}
	}
}

func FuzzReader(f *testing.F) {
	w := newFile(1, Position{})
	w.batch(true, "one", "two")
	w.batch(true)
	w.batch(false, "three")
	f.Add(w.data, AppendFileHeader(nil, 2, salt))
	two := newFile(2, w.end())
	two.batch(true, "four")
	f.Add(w.data, two.data)
	f.Add([]byte{}, []byte{})
	f.Fuzz(func(t *testing.T, a, b []byte) {
		var r Reader
		got, err := r.Feed(1, bytes.Clone(a))
		if err != nil {
			return
		}
		size := int64(0)
		for _, batch := range got {
			for _, record := range batch.Records {
				size += RecordSize(len(record.Payload))
			}
		}
		if size > int64(len(a)) {
			t.Errorf("%d bytes of records come out of %d", size, len(a))
		}
		if _, err := r.Feed(2, b); err != nil {
			return
		}
		tail, err := r.Finish()
		if err != nil {
			return
		}
		if tail.End.Before(tail.RewriteAt) || tail.Torn < 0 || tail.End.Offset+tail.Torn > tail.Size {
			t.Errorf("the tail makes no sense: %+v", tail)
		}
	})
}

// goldenSums are the CRCs of TestBytesOfTheFormat.
const goldenSums = "01409856 0ccf31de 253dbdf5"
