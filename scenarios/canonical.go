//det:ring0

package scenarios

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
)

// MaxPlan is the largest plan that is read, in bytes.
const MaxPlan = 16 << 20

// Canonical returns the plan's one representation in bytes: JSON on one line,
// keys sorted, integers only, nothing escaped that need not be, a newline at
// the end. Equal plans have equal bytes.
func (p Plan) Canonical() []byte {
	p.Phases.Quiet = orEmpty(p.Phases.Quiet)
	p.Faults = orEmpty(p.Faults)
	p.Properties = orEmpty(p.Properties)
	p.Claims = orEmpty(p.Claims)
	// A struct is written in the order of its fields, a map in the order of its
	// keys: going through a map sorts the keys on every level.
	typed, err := json.Marshal(p)
	if err != nil {
		panic(fmt.Sprintf("scenarios: encode plan: %v", err)) // integers, strings and lists: cannot fail
	}
	var untyped map[string]any
	d := json.NewDecoder(bytes.NewReader(typed))
	d.UseNumber() // a 64-bit number must not go through a float
	if err := d.Decode(&untyped); err != nil {
		panic(fmt.Sprintf("scenarios: decode own plan: %v", err))
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(untyped); err != nil {
		panic(fmt.Sprintf("scenarios: encode plan: %v", err))
	}
	return out.Bytes()
}

// orEmpty makes a missing list an empty one: they are the same plan.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// Hash names the plan: SHA-256 of its canonical bytes in hex, which is what
// sha256sum prints for plan.json.
func (p Plan) Hash() string {
	sum := sha256.Sum256(p.Canonical())
	return hex.EncodeToString(sum[:])
}

// ShortHash is the first 16 digits of Hash, for people.
func (p Plan) ShortHash() string { return p.Hash()[:16] }

// ParsePlan reads a plan and checks every bound; whitespace and the order of
// keys are free. The error says what is wrong; the caller adds the file.
func ParsePlan(data []byte) (Plan, error) {
	if len(data) > MaxPlan {
		return Plan{}, fmt.Errorf("plan of %d bytes; the largest is %d", len(data), MaxPlan)
	}
	var version struct {
		Schema int `json:"schema"`
	}
	if err := json.Unmarshal(data, &version); err != nil {
		return Plan{}, fmt.Errorf("plan: %w", err)
	}
	if version.Schema != PlanSchema {
		return Plan{}, fmt.Errorf("plan has schema %d, this program reads schema %d: make the plan again with pestle plan", version.Schema, PlanSchema)
	}
	var p Plan
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&p); err != nil {
		return Plan{}, fmt.Errorf("plan: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return Plan{}, fmt.Errorf("plan: more than one JSON value")
	}
	if err := p.Validate(); err != nil {
		return Plan{}, fmt.Errorf("plan: %w", err)
	}
	return p, nil
}
