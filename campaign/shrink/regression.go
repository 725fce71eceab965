package shrink

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"

	"pestle/scenarios"
)

// RegressionDir is where the regression plans of the source tree are, seen from
// its root. The tests of package sim run every file there.
const RegressionDir = "sim/testdata/regressions"

// RegressionSchema is the version of the file format.
const RegressionSchema = 1

// Regression is a failure that is kept: a plan with the noise under which it
// failed. As a file it is one JSON object.
//
//	schema    RegressionSchema
//	property  slug of the property that fails
//	cause     why, in the checker's words
//	fixed     true: the plan must not fail any more; false: it must fail as it did
//	noise     under which it failed
//	plan      as plan.json
type Regression struct {
	Schema int `json:"schema"`
	Fingerprint
	Fixed bool           `json:"fixed"`
	Noise uint64         `json:"noise"`
	Plan  scenarios.Plan `json:"plan"`
}

// NewRegression returns the failure of a shrunk run, not fixed yet.
func NewRegression(r Result) Regression {
	return Regression{Schema: RegressionSchema, Fingerprint: r.Symptom.Fingerprint, Noise: r.Noise, Plan: r.Plan}
}

// regressionName is the form of a file's name, without its .json.
var regressionName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,63}$`)

// Save writes the failure into RegressionDir of the source tree at root, as
// name.json, and returns the file's path. An older file of that name stays.
func (r Regression) Save(root, name string) (string, error) {
	if !regressionName.MatchString(name) {
		return "", fmt.Errorf("save regression: %q is no name of 1..64 of a-z, 0-9 and -", name)
	}
	dir := filepath.Join(root, RegressionDir)
	if _, err := os.Stat(filepath.Join(root, "sim", "testdata")); err != nil {
		return "", fmt.Errorf("save regression: %w; call it at the root of Pestle's source tree", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("save regression: %w", err)
	}
	data, err := encode(r, "  ")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, name+".json")
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return "", fmt.Errorf("save regression: %w; choose another name, or remove the file", err)
	}
	_, err = file.Write(data)
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return "", fmt.Errorf("save regression %s: %w", path, err)
	}
	return path, nil
}

// ParseRegression reads a file's content and checks it, the plan included.
func ParseRegression(data []byte) (Regression, error) {
	if len(data) > 2*scenarios.MaxPlan {
		return Regression{}, fmt.Errorf("regression of %d bytes; the largest is %d", len(data), 2*scenarios.MaxPlan)
	}
	var r Regression
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		return Regression{}, fmt.Errorf("regression: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return Regression{}, fmt.Errorf("regression: more than one JSON value")
	}
	if r.Schema != RegressionSchema {
		return Regression{}, fmt.Errorf("regression has schema %d, this program reads schema %d", r.Schema, RegressionSchema)
	}
	if r.Property == "" || r.Cause == "" {
		return Regression{}, fmt.Errorf("regression: property and cause are missing")
	}
	if err := r.Plan.Validate(); err != nil {
		return Regression{}, fmt.Errorf("regression: plan: %w", err)
	}
	return r, nil
}

// ReadRegression reads a file.
func ReadRegression(path string) (Regression, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return Regression{}, fmt.Errorf("read regression: %w", err)
	}
	r, err := ParseRegression(data)
	if err != nil {
		return Regression{}, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

// Check runs the plan under its noise and as many others as Simulated tries,
// since a change of the code moves what a noise means. One that is not fixed
// has to show its failure under one of them; one that is fixed has to show none
// under any.
func (r Regression) Check(ctx context.Context, oracle Oracle) error {
	order := noises{first: r.Noise}
	for range Simulated().Runs {
		noise := order.next()
		trial, err := oracle(ctx, r.Plan, noise)
		if err != nil {
			return fmt.Errorf("noise %d: %w", noise, err)
		}
		_, shown := shows(trial.Verdict, r.Fingerprint)
		switch symptoms := Symptoms(trial.Verdict); {
		case shown && !r.Fixed:
			return nil
		case len(symptoms) > 0 && r.Fixed:
			return fmt.Errorf("noise %d: it is said to be fixed, and fails: %s: %s", noise, symptoms[0].Fingerprint, symptoms[0].Violation.Detail)
		}
	}
	if !r.Fixed {
		return fmt.Errorf("it does not fail under any of %d noises any more (%s): if that is what was wanted, set fixed to true", Simulated().Runs, r.Fingerprint)
	}
	return nil
}
