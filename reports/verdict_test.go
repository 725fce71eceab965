package reports

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pestle/checker"
	"pestle/history"
)

func TestVerdictRoundTrip(t *testing.T) {
	for name, s := range map[string]*synthetic{"pass": newSynthetic(), "fail": failing(), "inconclusive": doubtful(), "small": small()} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			want := NewVerdictFile(s.run, s.verdict, s.events)
			if err := WriteVerdict(dir, want); err != nil {
				t.Fatal(err)
			}
			got, err := ReadVerdict(dir)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("verdict.json does not read back (-written +read):\n%s", diff)
			}
		})
	}
}

// A verdict without anything in it still has every list, so that a script can
// index without looking first; and the whole 64 bits of a seed.
func TestVerdictOfNothing(t *testing.T) {
	line, err := NewVerdictFile(Run{Seed: 1<<64 - 1}, checker.Verdict{Properties: []checker.Property{{Slug: "a <b> & c"}}}, nil).Line()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"seed":18446744073709551615`, `"claims":[]`, `"faults":{}`, `"violations":[]`, `"exposure":{}`, `"slug":"a <b> & c"`, `"status":"inconclusive","exit_code":3`,
	} {
		if !bytes.Contains(line, []byte(want)) {
			t.Errorf("the line has no %s:\n%s", want, line)
		}
	}
	if bytes.ContainsRune(line, '\n') {
		t.Errorf("it is more than one line:\n%s", line)
	}
}

func TestTotals(t *testing.T) {
	s := small()
	want := Totals{Attempts: 3, Acks: 2, Fails: 1, Messages: 3, Acked: 2, Consumes: 1, Finishes: 1}
	if diff := cmp.Diff(want, count(s.events)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	retried := []history.Event{
		{Ev: history.Attempt, ID: "producer-1-1"}, {Ev: history.Unknown, ID: "producer-1-1"},
		{Ev: history.Attempt, ID: "producer-1-1"}, {Ev: history.Ack, ID: "producer-1-1"},
		{Ev: history.Attempt, ID: "producer-1-1"}, // rebuilt from a state file, after the ack
		{Ev: history.Consume, ID: "producer-1-1"}, {Ev: history.Requeue, ID: "producer-1-1"}, {Ev: history.Consume, ID: "producer-1-1"},
	}
	want = Totals{Attempts: 3, Acks: 1, Unknowns: 1, Messages: 1, Acked: 1, Consumes: 2, Requeues: 1}
	if diff := cmp.Diff(want, count(retried)); diff != "" {
		t.Errorf("a message sent twice is one message (-want +got):\n%s", diff)
	}
}

func TestReadVerdictRefuses(t *testing.T) {
	for _, row := range []struct{ name, text, want string }{
		{"a torn file", `{"schema":1,"status":`, "unexpected end of JSON input"},
		{"another schema", `{"schema":2,"colour":"red"}`, "its schema is 2, this pestle reads 1"},
		{"an unknown key", `{"schema":1,"colour":"red"}`, `unknown field "colour"`},
		{"no object", `[]`, "cannot unmarshal array"},
	} {
		t.Run(row.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, VerdictName)
			if err := os.WriteFile(path, []byte(row.text), 0o644); err != nil {
				t.Fatal(err)
			}
			_, err := ReadVerdict(dir)
			if err == nil {
				t.Fatal("it was read")
			}
			for _, want := range []string{path, row.want, "pestle check " + dir} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error does not say %q: %v", want, err)
				}
			}
		})
	}
	if _, err := ReadVerdict(t.TempDir()); err == nil || !strings.Contains(err.Error(), "finished run?") {
		t.Errorf("a directory without a verdict: %v", err)
	}
}

// What is read is written again as the same bytes.
func FuzzVerdict(f *testing.F) {
	for _, s := range []*synthetic{small(), failing()} {
		line, err := NewVerdictFile(s.run, s.verdict, s.events[:10]).Line()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(line)
	}
	f.Add([]byte(`{"schema":1}`))
	f.Add([]byte(`{"schema":1,"faults":null,"properties":[{"exposure":{"a":1}}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		first, err := decodeVerdict(data)
		if err != nil {
			return
		}
		one, err := first.Line()
		if err != nil {
			t.Fatal(err)
		}
		second, err := decodeVerdict(one)
		if err != nil {
			t.Fatalf("its own line is refused: %v\n%s", err, one)
		}
		two, err := second.Line()
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(one, two) {
			t.Errorf("read and written again it differs:\n%s\n%s", one, two)
		}
	})
}
