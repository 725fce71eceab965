package fleet

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestLine(t *testing.T) {
	var b bytes.Buffer
	if err := send(&b, job{Seed: 7}); err != nil {
		t.Fatal(err)
	}
	if err := send(&b, setup{Scenarios: []Source{{Text: strings.Repeat("x\n", 100_000)}}}); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReaderSize(&b, 16)
	var j job
	var s setup
	if err := line(in, &j); err != nil || j.Seed != 7 {
		t.Errorf("job %+v, error %v", j, err)
	}
	if err := line(in, &s); err != nil || len(s.Scenarios[0].Text) != 200_000 {
		t.Errorf("a long line: %v", err)
	}
	if err := line(in, &j); !errors.Is(err, io.EOF) {
		t.Errorf("behind the last line: %v", err)
	}
	for _, c := range []struct{ text, want string }{
		{`{"seed":7`, "unexpected EOF"},
		{"{]\n", "invalid character"},
		{strings.Repeat(" ", maxLine) + "{}\n", "a line of more than"},
	} {
		if err := line(bufio.NewReader(strings.NewReader(c.text)), &j); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.20q: error %v, want %s", c.text, err, c.want)
		}
	}
}

// What a worker is told wrongly it says, and dies of nothing.
func TestWorkRefuses(t *testing.T) {
	const none = `{"scenarios":[],"settings":null,"dir":"/"}`
	for _, c := range []struct{ in, out, err string }{
		{"", "", "read the scenarios: EOF; workers are started by pestle campaign"},
		{`{"scenarios":[{"name":"a","file":"a.yaml","text":"name: [","world":"sim"}]}` + "\n", `{"error":"a.yaml:1:`, ""},
		{none + "\n" + `{"scenario":3,"seed":1}` + "\n", `{"ready":true}` + "\n" + `{"error":"campaign worker: a job for scenario 3 of 0"}` + "\n", ""},
		{none + "\n" + `{"scenario":`, `{"ready":true}`, "read a job: unexpected EOF"},
	} {
		var out bytes.Buffer
		err := Work(t.Context(), strings.NewReader(c.in), &out, "pestle")
		if !strings.HasPrefix(out.String(), c.out) || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%.40q: answers %q, error %v; want %q, %q", c.in, out.String(), err, c.out, c.err)
		}
	}
}
