package shrink

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pestle/checker"
	"pestle/scenarios"
)

func regression(t testing.TB) Regression {
	return Regression{Schema: RegressionSchema, Fingerprint: wanted, Noise: 5, Plan: example(t)}
}

func TestRegressionFile(t *testing.T) {
	root := t.TempDir()
	r := regression(t)
	if _, err := r.Save(root, "lost"); err == nil || !strings.Contains(err.Error(), "at the root of Pestle's source tree") {
		t.Errorf("saved elsewhere: %v", err)
	}
	if err := os.MkdirAll(filepath.Join(root, "sim", "testdata"), 0o755); err != nil {
		t.Fatal(err)
	}
	path, err := r.Save(root, "lost")
	if err != nil || path != filepath.Join(root, RegressionDir, "lost.json") {
		t.Fatalf("%s, %v", path, err)
	}
	back, err := ReadRegression(path)
	if err != nil || back.Plan.Hash() != r.Plan.Hash() || back.Fingerprint != r.Fingerprint || back.Noise != r.Noise || back.Fixed {
		t.Errorf("%+v, %v", back, err)
	}
	if _, err := r.Save(root, "lost"); err == nil || !strings.Contains(err.Error(), "choose another name") {
		t.Errorf("a second one of the name: %v", err)
	}
	if _, err := r.Save(root, "../lost"); err == nil {
		t.Error("a name that leaves the folder is taken")
	}
}

func TestWrongRegressions(t *testing.T) {
	data, err := encode(regression(t), "")
	if err != nil {
		t.Fatal(err)
	}
	good := string(data)
	if _, err := ParseRegression(data); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, old, new, want string }{
		{"schema", `{"schema":1`, `{"schema":2`, "regression has schema 2, this program reads schema 1"},
		{"unknown key", `"fixed":false`, `"fixd":true`, `regression: json: unknown field "fixd"`},
		{"no cause", `"cause":"acked but gone",`, ``, "regression: property and cause are missing"},
		{"plan", `"tries":4`, `"tries":0`, "regression: plan: workload: tries is 0, allowed is 1..100"},
		{"two values", "}\n", "}\n{}", "regression: more than one JSON value"},
	} {
		if !strings.Contains(good, c.old) {
			t.Fatalf("%s: no %s in %s", c.name, c.old, good)
		}
		if _, err := ParseRegression([]byte(strings.Replace(good, c.old, c.new, 1))); err == nil || err.Error() != c.want {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
}

// One that is open has to fail as it did under one of the noises; one that is
// fixed must not fail at all.
func TestRegressionCheck(t *testing.T) {
	under := func(noise uint64, shown ...Fingerprint) Oracle {
		return func(_ context.Context, _ scenarios.Plan, n uint64) (Trial, error) {
			if n == noise {
				return Trial{Verdict: failing(shown...)}, nil
			}
			return Trial{Verdict: checker.Verdict{Status: checker.Pass}}, nil
		}
	}
	for _, c := range []struct {
		name   string
		fixed  bool
		oracle Oracle
		want   string // "" for none
	}{
		{"open, fails", false, under(5, wanted), ""},
		{"open, fails under another noise", false, under(18, wanted), ""},
		{"open, fails too", false, under(5, another, wanted), ""},
		{"open, fails under none of twenty", false, under(20, wanted), "it does not fail under any of 20 noises any more"},
		{"open, fails otherwise", false, under(5, another), "it does not fail under any of 20 noises any more"},
		{"fixed, passes", true, under(99), ""},
		{"fixed, fails", true, under(3, wanted), "noise 3: it is said to be fixed, and fails: no-data-loss: acked but gone"},
		{"fixed, fails otherwise", true, under(5, another), "noise 5: it is said to be fixed, and fails: message-ordering: overtaken"},
		{"harness", true, func(context.Context, scenarios.Plan, uint64) (Trial, error) { return Trial{}, os.ErrClosed }, "noise 5: file already closed"},
	} {
		r := regression(t)
		r.Fixed = c.fixed
		got := ""
		if err := r.Check(t.Context(), c.oracle); err != nil {
			got = err.Error()
		}
		if !strings.HasPrefix(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func FuzzParseRegression(f *testing.F) {
	data, err := encode(regression(f), "")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(`{"schema":1,"property":"x","cause":"y","plan":{"schema":1}}`))
	f.Add([]byte(`{"schema":1}{}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := ParseRegression(data)
		if err != nil {
			return
		}
		again, err := encode(r, "  ")
		if err != nil {
			t.Fatal(err)
		}
		back, err := ParseRegression(again)
		if err != nil || back.Plan.Hash() != r.Plan.Hash() || back.Fingerprint != r.Fingerprint {
			t.Errorf("a regression does not survive its own bytes: %v\n%s", err, again)
		}
	})
}
