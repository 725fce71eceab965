package workload

import (
	"bytes"
	"encoding/hex"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParseID(t *testing.T) {
	for s, want := range map[string]ID{
		"producer-1-1":    {1, 1},
		"producer-12-345": {12, 345},
		"producer-2147483647-18446744073709551615": {math.MaxInt32, math.MaxUint64},
	} {
		if got, err := ParseID(s); err != nil || got != want || got.String() != s {
			t.Errorf("ParseID(%q) = %v, %v, want %v", s, got, err, want)
		}
	}
	for _, s := range []string{
		"", "producer-", "producer-1", "producer-1-", "producer--1", "producer-0-1", "producer-1-0", "producer-01-1",
		"producer-1-01", "producer-+1-1", "producer-1-1-1", "producer-1-1 ", "1-1", "consumer-1-1",
		"producer-2147483648-1", "producer-1-18446744073709551616",
	} {
		if got, err := ParseID(s); err == nil {
			t.Errorf("ParseID(%q) = %v, want an error", s, got)
		}
	}
}

func TestProducerNumber(t *testing.T) {
	if n, err := ProducerNumber("producer-12"); n != 12 || err != nil {
		t.Errorf("producer-12: got %d, %v", n, err)
	}
	for _, name := range []string{"", "producer-", "producer-0", "producer-01", "producer-x", "consumer-1", "producer--1", "12"} {
		if n, err := ProducerNumber(name); err == nil {
			t.Errorf("%q: got %d, want an error", name, n)
		}
	}
}

// The bytes are a contract with other programs: sum from
//
//	printf '\0\0\0\14producer-1-7\0\0\0\6orders\0\0\0\0\0\0\0\5hello' | sha256sum
func TestEnvelopeBytes(t *testing.T) {
	const sum = "a20f1a961ca97c85444d33b12ba71971c19bca4488779ed33e00c0305805d195"
	want := "5053544c" + "01" + "0c" + hex.EncodeToString([]byte("producer-1-7")) + sum + "00000005" + hex.EncodeToString([]byte("hello"))
	m := Message{ID: ID{1, 7}, Topic: "orders", Payload: []byte("hello")}
	body, got := m.Encode()
	if hex.EncodeToString(body) != want || got.String() != sum {
		t.Errorf("got  %x\nwant %s", body, want)
	}
	back, backSum, err := Decode("orders", "", body)
	if err != nil || back.ID != m.ID || !bytes.Equal(back.Payload, m.Payload) || backSum != got {
		t.Errorf("decoded %+v, %s, %v", back, backSum, err)
	}
}

func TestDecodeNamesTheDamage(t *testing.T) {
	body, _ := Message{ID: ID{1, 7}, Topic: "orders", Payload: []byte("hello")}.Encode()
	edit := func(at int, to byte) []byte {
		b := bytes.Clone(body)
		b[at] = to
		return b
	}
	for name, c := range map[string]struct {
		topic, key string
		body       []byte
		id         ID
		want       string
	}{
		"empty":                  {"orders", "", nil, ID{}, "0 bytes that are no envelope"},
		"another magic":          {"orders", "", edit(0, 'X'), ID{}, "59 bytes that are no envelope"},
		"another version":        {"orders", "", edit(4, 2), ID{}, "envelope version 2, want 1"},
		"id longer than all":     {"orders", "", edit(5, 200), ID{}, "envelope of 59 bytes ends within its id of 200"},
		"no id":                  {"orders", "", edit(6, 'P'), ID{}, `envelope: "Producer-1-7" is no id`},
		"another id":             {"orders", "", edit(17, '8'), ID{1, 8}, "envelope of producer-1-8 in topic \"orders\" has checksum"},
		"a flipped checksum":     {"orders", "", edit(18, body[18]^1), ID{1, 7}, "has checksum"},
		"a flipped payload":      {"orders", "", edit(58, 'x'), ID{1, 7}, "has checksum"},
		"payload cut off":        {"orders", "", body[:58], ID{1, 7}, "envelope of producer-1-7 says 5 payload bytes and has 4"},
		"something behind":       {"orders", "", append(bytes.Clone(body), 'x'), ID{1, 7}, "says 5 payload bytes and has 6"},
		"found in another topic": {"refunds", "", body, ID{1, 7}, `in topic "refunds" has checksum`},
		"found under a key":      {"orders", "k", body, ID{1, 7}, "has checksum"},
	} {
		m, _, err := Decode(c.topic, c.key, c.body)
		if err == nil || !strings.Contains(err.Error(), c.want) || m.ID != c.id {
			t.Errorf("%s: got %v, %v\nwant %v, … %s …", name, m.ID, err, c.id, c.want)
		}
	}
}

// The parts of the checksum cannot be moved against each other.
func TestSumSeparatesItsParts(t *testing.T) {
	a := Message{ID: ID{1, 1}, Topic: "ab", Key: "c", Payload: []byte("d")}
	for _, b := range []Message{
		{ID: ID{1, 1}, Topic: "a", Key: "bc", Payload: []byte("d")},
		{ID: ID{1, 1}, Topic: "ab", Key: "", Payload: []byte("cd")},
		{ID: ID{1, 12}, Topic: "ab", Key: "c", Payload: []byte("d")},
	} {
		if a.Sum() == b.Sum() {
			t.Errorf("%+v and %+v have one checksum", a, b)
		}
	}
}

func TestPayload(t *testing.T) {
	sizes := map[int]int{}
	for counter := uint64(1); counter <= 2000; counter++ {
		p := Payload(7, ID{1, counter}, 100, 1099)
		sizes[len(p)]++
		for _, c := range p {
			if c < ' ' || c > '~' {
				t.Fatalf("message %d holds %q", counter, c)
			}
		}
		if !bytes.Equal(p, Payload(7, ID{1, counter}, 100, 1099)) {
			t.Fatalf("message %d differs from itself", counter)
		}
	}
	for _, size := range []int{100, 101, 127, 128, 129, 255, 256, 257, 511, 512, 513, 1023, 1024, 1025, 1098, 1099} {
		if sizes[size] == 0 {
			t.Errorf("2000 messages, and none of %d characters", size)
		}
	}
	for size := range sizes {
		if size < 100 || size > 1099 {
			t.Errorf("a payload of %d characters is out of range", size)
		}
	}
	if a, b := Payload(7, ID{1, 1}, 50, 50), Payload(8, ID{1, 1}, 50, 50); bytes.Equal(a, b) {
		t.Error("the seed makes no difference")
	}
	for _, size := range []int{0, 1, 2} {
		if got := len(Payload(7, ID{1, 1}, size, size)); got != size {
			t.Errorf("asked for %d characters, got %d", size, got)
		}
	}
}

func TestProducerState(t *testing.T) {
	for name, c := range map[string]struct {
		file string
		want ProducerState
		err  string
	}{
		"empty": {"", ProducerState{}, ""},
		"acked, open, tried again": {
			"producer-1-1, attempt\nproducer-1-2, attempt\nproducer-1-1, ack\nproducer-1-2, attempt\nproducer-1-3, attempt\n",
			ProducerState{Highest: 3, Acked: Ranges{{1, 1}}, Open: []ID{{1, 2}, {1, 3}}}, ""},
		"torn last line":        {"producer-1-1, attempt\nproducer-1-1, ac", ProducerState{Highest: 1, Open: []ID{{1, 1}}}, ""},
		"the end alone is torn": {"producer-1-1, attempt\nproducer-1-1, ack", ProducerState{Highest: 1, Open: []ID{{1, 1}}}, ""},
		"torn in the middle":    {"producer-1-1, att\nproducer-1-1, ack\n", ProducerState{}, `line 1: want attempt or ack after producer-1-1, , not "att"`},
		"no id":                 {"producer-1-1, attempt\nproducer-x-1, ack\n", ProducerState{}, `line 2: "producer-x-1" is no id`},
		"another separator":     {"producer-1-1,attempt\n", ProducerState{}, `line 1: want <id>, …, not "producer-1-1,attempt"`},
		"an empty line":         {"producer-1-1, attempt\n\n", ProducerState{}, `line 2: want <id>, …`},
		"a long line":           {"producer-1-1, " + strings.Repeat("x", 300) + "\n", ProducerState{}, "line 1: 315 bytes, at most 256 are allowed"},
		"another producer's":    {"producer-2-1, attempt\n", ProducerState{}, "line 1: producer-2-1 is not of producer-1"},
		"ack of nothing":        {"producer-1-1, ack\n", ProducerState{}, "line 1: ack of producer-1-1, which was never attempted"},
		"a counter left out":    {"producer-1-1, attempt\nproducer-1-3, attempt\n", ProducerState{}, "line 2: attempt of producer-1-3, but the counter before it was 1"},
		"acked twice":           {"producer-1-1, attempt\nproducer-1-1, ack\nproducer-1-1, ack\n", ProducerState{}, "line 3: second ack of producer-1-1"},
		"tried after its ack":   {"producer-1-1, attempt\nproducer-1-1, ack\nproducer-1-1, attempt\n", ProducerState{}, "line 3: attempt of producer-1-1, which was acked before"},
	} {
		lines, err := ParseProducerLines([]byte(c.file))
		var got ProducerState
		if err == nil {
			got, err = ReplayProducer(1, nil, lines)
		}
		if c.err != "" {
			if err == nil || !strings.HasPrefix(err.Error(), c.err) {
				t.Errorf("%s: got %v, want %s …", name, err, c.err)
			}
			continue
		}
		if err != nil || got.Highest != c.want.Highest || !slices.Equal(got.Acked, c.want.Acked) || !slices.Equal(got.Open, c.want.Open) {
			t.Errorf("%s: got %+v, %v, want %+v", name, got, err, c.want)
		}
	}
}

// A producer that leaves counters out attempts each that it is to send; behind
// the last of them there is only the sentinel.
func TestProducerStateWithCountersLeftOut(t *testing.T) {
	only := Ranges{{2, 3}, {7, 7}}
	for _, c := range []struct {
		attempts []uint64
		err      string
	}{
		{[]uint64{2, 3, 7, 8, 9}, ""},
		{[]uint64{2, 3, 4}, ""}, // a sentinel while 7 was still to come
		{[]uint64{1}, ""},       // or at once
		{[]uint64{3}, "line 1: attempt of producer-1-3, but the counter before it was 0"},
		{[]uint64{2, 7}, "line 2: attempt of producer-1-7, but the counter before it was 2"},
		{[]uint64{2, 3, 7, 9}, "line 4: attempt of producer-1-9, but the counter before it was 7"},
		{[]uint64{2, 3, 3, 2}, ""}, // further tries
	} {
		var lines []ProducerLine
		for _, counter := range c.attempts {
			lines = append(lines, ProducerLine{ID: ID{1, counter}})
		}
		got := ""
		if _, err := ReplayProducer(1, only, lines); err != nil {
			got = err.Error()
		}
		if got != c.err {
			t.Errorf("attempts %d: %q, want %q", c.attempts, got, c.err)
		}
	}
}

func TestConsumerLines(t *testing.T) {
	const file = "producer-1-1, 0000100000000007\nproducer-2-9, 3/41\nproducer-1-1, 00001"
	want := []ConsumerLine{{ID{1, 1}, "0000100000000007"}, {ID{2, 9}, "3/41"}}
	got, err := ParseConsumerLines([]byte(file))
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	var back []byte
	for _, l := range got {
		back = l.AppendTo(back)
	}
	if string(back) != file[:WholeLines([]byte(file))] {
		t.Errorf("written back as %q", back)
	}
	for _, bad := range []string{"producer-1-1, ", "producer-1-1, a b", "producer-1-1, a,b", "producer-1-1, é", "producer-1-1, " + strings.Repeat("0", 129)} {
		if _, err := ParseConsumerLines([]byte(bad + "\n")); err == nil || !strings.HasPrefix(err.Error(), "line 1: want a position after producer-1-1, ") {
			t.Errorf("%q: got %v", bad, err)
		}
	}
}

// Ranges against a plain set.
func TestRanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r Ranges
		set := map[uint64]bool{}
		for _, c := range rapid.SliceOf(rapid.Uint64Range(1, 30)).Draw(t, "counters") {
			r.Add(c)
			set[c] = true
		}
		for c := uint64(0); c <= 31; c++ {
			if r.Has(c) != set[c] {
				t.Fatalf("%v has %d: %v", r, c, r.Has(c))
			}
		}
		for i := 1; i < len(r); i++ {
			if r[i].From <= r[i-1].To+1 {
				t.Fatalf("%v: ranges touch or are out of order", r)
			}
		}
	})
}

func FuzzDecode(f *testing.F) {
	body, _ := Message{ID: ID{1, 7}, Topic: "orders", Payload: []byte("hello")}.Encode()
	f.Add(body)
	f.Add(body[:30])
	f.Add([]byte("PSTL\x01\xff"))
	f.Fuzz(func(t *testing.T, body []byte) {
		m, sum, err := Decode("orders", "", body)
		if err != nil {
			return
		}
		if again, againSum := m.Encode(); !bytes.Equal(again, body) || againSum != sum {
			t.Fatalf("%x decodes, but encodes as %x", body, again)
		}
	})
}

func FuzzStateLines(f *testing.F) {
	f.Add([]byte("producer-1-1, attempt\nproducer-1-1, ack\n"))
	f.Add([]byte("producer-1-1, 0000100000000007\nproducer-2-9, 3/41\nprod"))
	f.Fuzz(func(t *testing.T, file []byte) {
		if lines, err := ParseProducerLines(file); err == nil {
			var back []byte
			for _, l := range lines {
				back = l.AppendTo(back)
			}
			if !bytes.Equal(back, file[:WholeLines(file)]) {
				t.Fatalf("%q reads as %v", file, lines)
			}
			if _, err := ReplayProducer(1, nil, lines); err == nil && len(lines) > 0 && lines[0].Ack {
				t.Fatalf("%q: an ack came first", file)
			}
		}
		if lines, err := ParseConsumerLines(file); err == nil {
			var back []byte
			for _, l := range lines {
				back = l.AppendTo(back)
			}
			if !bytes.Equal(back, file[:WholeLines(file)]) {
				t.Fatalf("%q reads as %v", file, lines)
			}
		}
	})
}
