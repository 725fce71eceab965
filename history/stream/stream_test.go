package stream_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pestle/history"
	"pestle/history/stream"
)

const (
	line1 = `{"seq":1,"t":10,"src":"p","ev":"note","what":"started","try":1}` + "\n"
	line2 = `{"seq":2,"t":20,"src":"p","ev":"note","what":"tick"}` + "\n"
	line3 = `{"seq":3,"t":30,"src":"p","ev":"note","what":"stopped"}` + "\n"
)

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func seqs(events []history.Event) []uint64 {
	var got []uint64
	for _, e := range events {
		got = append(got, e.Seq)
	}
	return got
}

func TestReadFile(t *testing.T) {
	for name, c := range map[string]struct {
		content string
		want    []uint64
		err     string // after the path
	}{
		"whole":                    {line1 + line2, []uint64{1, 2}, ""},
		"empty":                    {"", nil, ""},
		"torn last line":           {line1 + line2[:20], []uint64{1}, ""},
		"last line lacks its end":  {line1 + strings.TrimSuffix(line2, "\n"), []uint64{1}, ""},
		"lines taken out":          {line1 + line3, []uint64{1, 3}, ""},
		"damage in the middle":     {line1 + line2[:20] + "\n" + line3, nil, `:2: key: the string`},
		"damage in the last line":  {line1 + "{}\n", nil, `:2: key "seq" is missing`},
		"an empty line":            {line1 + "\n" + line2, nil, `:2: not a JSON object`},
		"lines out of order":       {line2 + line1, nil, `:2: line 1 of p (t 10) does not come after line 2 of p (t 20)`},
		"a line without any end":   {line1 + strings.Repeat("x", history.MaxLine), nil, `:2: the line is longer than 16384 bytes`},
		"more than one read takes": {many(5000), count(5000), ""},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "p.ndjson")
			write(t, path, c.content)
			events, err := stream.ReadFile(path)
			if c.err != "" {
				if err == nil || !strings.HasPrefix(err.Error(), path+c.err) {
					t.Fatalf("got %v, want %s%s …", err, path, c.err)
				}
				return
			}
			if err != nil || !slices.Equal(seqs(events), c.want) {
				t.Fatalf("got %v, %v, want %v", seqs(events), err, c.want)
			}
		})
	}
}

func many(n int) string {
	var b []byte
	for i := 1; i <= n; i++ {
		b = history.AppendLine(b, history.Event{Seq: uint64(i), T: int64(i), Src: "p", Ev: history.Note, What: history.NoteTick, Text: strings.Repeat("x", 100)})
	}
	return string(b)
}

func count(n int) []uint64 {
	var want []uint64
	for i := 1; i <= n; i++ {
		want = append(want, uint64(i))
	}
	return want
}

// Killed after any byte, a writer's file can be read, and its successor goes
// on as if the torn line had never been begun.
func TestWriterResumesAfterAnyByte(t *testing.T) {
	whole := line1 + line2
	for cut := range len(whole) + 1 {
		path := filepath.Join(t.TempDir(), "p.ndjson")
		write(t, path, whole[:cut])
		w, err := stream.OpenWriter(path, "p")
		if err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		e, err := w.Append(history.Event{T: 40, Ev: history.Note, What: history.NoteTick})
		if err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		lines := strings.Count(whole[:cut], "\n")
		if want := uint64(lines + 1); e.Seq != want || e.Src != "p" {
			t.Errorf("cut at %d: appended as line %d of %q, want %d of p", cut, e.Seq, e.Src, want)
		}
		want := strings.Join(strings.SplitAfter(whole, "\n")[:lines], "") + string(history.AppendLine(nil, e))
		if got := read(t, path); got != want {
			t.Errorf("cut at %d: got\n%swant\n%s", cut, got, want)
		}
	}
}

func TestWriterTime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.ndjson")
	write(t, path, line1)
	w, err := stream.OpenWriter(path, "p")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	for _, c := range []struct{ given, want int64 }{
		{given: 9, want: 10}, // never before the line that stands there
		{given: 50, want: 50},
		{given: 49, want: 50},
	} {
		if e, err := w.Append(history.Event{T: c.given, Ev: history.Note}); err != nil || e.T != c.want {
			t.Errorf("time %d became %d, %v, want %d", c.given, e.T, err, c.want)
		}
	}
	before := stream.Now()
	e, err := w.Append(history.Event{Ev: history.Note})
	if after := stream.Now(); err != nil || e.T < before || e.T > after {
		t.Errorf("no time became %d, %v, want the time of the call, %d to %d", e.T, err, before, after)
	}
}

func TestOpenWriterRefuses(t *testing.T) {
	for name, c := range map[string]struct{ content, want string }{
		"another source's file": {strings.ReplaceAll(line1, `"p"`, `"q"`), `last line is of "q", not of "p"`},
		"a damaged last line":   {line1 + "{}\n", `last line: key "seq" is missing`},
		"something else":        {strings.Repeat("x", 3*history.MaxLine), `it is no history file`},
	} {
		path := filepath.Join(t.TempDir(), "p.ndjson")
		write(t, path, c.content)
		if _, err := stream.OpenWriter(path, "p"); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want … %s …", name, err, c.want)
		}
		if read(t, path) != c.content {
			t.Errorf("%s: the file was changed", name)
		}
	}
}

// After a write that failed nothing more is written: the file must not go on
// behind a gap.
func TestWriterStopsAtTheFirstFailure(t *testing.T) {
	w, err := stream.OpenWriter("/dev/full", "p")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	for range 2 {
		if _, err := w.Append(history.Event{Ev: history.Note}); err == nil || !strings.Contains(err.Error(), "no space left") {
			t.Errorf("got %v, want a full disk", err)
		}
	}
}

// A tail follows a file from before it exists, over a torn line that is cut
// off and written anew.
func TestTail(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.ndjson")
	tail := stream.NewTail(path)
	t.Cleanup(func() { _ = tail.Close() })
	for _, step := range []struct {
		content string
		want    []uint64
	}{
		{"", nil},
		{line1, []uint64{1}},
		{line1, nil},
		{line1 + line2[:30], nil},
		{line1 + line2 + line3[:10], []uint64{2}},
		{line1 + line2, nil}, // its writer was killed and has come back
		{line1 + line2 + strings.ReplaceAll(line3, "stopped", "started"), []uint64{3}},
	} {
		if step.content != "" {
			write(t, path, step.content)
		}
		events, err := tail.Read()
		if err != nil || !slices.Equal(seqs(events), step.want) {
			t.Fatalf("%q: got %v, %v, want %v", step.content, seqs(events), err, step.want)
		}
	}
	write(t, path, line1+line2+line3+"{}\n")
	for range 2 {
		if _, err := tail.Read(); err == nil || !strings.HasPrefix(err.Error(), path+":4: ") {
			t.Errorf("got %v, want an error in line 4", err)
		}
	}
}

func TestReadDir(t *testing.T) {
	run := filepath.Join(t.TempDir(), "run [1]*") // the name is no pattern
	line := func(src string, seq uint64, at int64) string {
		return string(history.AppendLine(nil, history.Event{Seq: seq, T: at, Src: src, Ev: history.Note}))
	}
	write(t, filepath.Join(run, "history", "b.ndjson"), line("b", 1, 5)+line("b", 2, 20))
	write(t, filepath.Join(run, "history", "a.ndjson"), line("a", 1, 10)+line("a", 2, 20)+line("a", 3, 30)[:9])
	write(t, filepath.Join(run, "history", "notes.txt"), "not a history")
	events, err := stream.ReadDir(run)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range events {
		got = append(got, fmt.Sprint(e.Src, e.T))
	}
	if want := "b5 a10 a20 b20"; strings.Join(got, " ") != want {
		t.Errorf("got %v, want %s", got, want)
	}

	if _, err := stream.ReadDir(t.TempDir()); err == nil || !strings.Contains(err.Error(), "name a run directory") {
		t.Errorf("without histories: got %v", err)
	}
	write(t, filepath.Join(run, "history", "a.ndjson"), line("a", 1, 10)+"{}\n")
	if _, err := stream.ReadDir(run); err == nil || !strings.Contains(err.Error(), "a.ndjson:2: ") {
		t.Errorf("with damage: got %v", err)
	}
}
