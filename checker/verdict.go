package checker

import (
	"fmt"
	"slices"
	"strings"
)

// Status is the value of a verdict or of one property.
type Status string

// Values of a Status. NotApplicable is for properties only: the target does
// not promise it; Reason says why.
const (
	Pass          Status = "pass"
	Fail          Status = "fail"
	Inconclusive  Status = "inconclusive"
	NotApplicable Status = "not-applicable"
)

// Class tells safety (nothing bad happens) from liveness (something good
// happens in bounded time).
type Class string

// Values of a Class.
const (
	Safety   Class = "safety"
	Liveness Class = "liveness"
)

// MaxViolations is how many violations of one property a verdict keeps; more
// are only counted. A broken target breaks one promise thousands of times, and
// nobody reads past the first few.
const MaxViolations = 50

// Violation is one proven breach of a property. Violations beyond
// MaxViolations per property are counted, not kept.
type Violation struct {
	ID      string `json:"id,omitempty"`      // the message, where there is one
	Channel string `json:"channel,omitempty"` //
	Pos     string `json:"pos,omitempty"`     //
	T       int64  `json:"t"`                 // when it was proven, CLOCK_MONOTONIC ns
	Cause   string `json:"cause"`             // a few stable words, no ids or numbers: with the slug it is the fingerprint
	Detail  string `json:"detail"`            // one sentence for people, with ids and times since the first event
}

// Exposure is how much was really tested, by name: "messages consumed",
// "pairs separated by a fault"… Zero-valued entries are listed too.
type Exposure map[string]int64

// Property is the judgement of one property.
type Property struct {
	Slug       string      `json:"slug"`
	Class      Class       `json:"class"`
	Required   bool        `json:"required"` // counts for the run's status
	Status     Status      `json:"status"`
	Reason     string      `json:"reason,omitempty"` // why inconclusive or not applicable
	Exposure   Exposure    `json:"exposure"`
	Total      int64       `json:"violations_total"`
	Violations []Violation `json:"violations"`
}

// Claim is a reachability claim: something the run must have met at least
// once for its pass to mean anything.
type Claim struct {
	Name     string `json:"name"`
	Required bool   `json:"required"` // counts for the run's status
	Count    int64  `json:"count"`
	Reached  bool   `json:"reached"`
}

// Verdict is the judgement of one history.
type Verdict struct {
	Status     Status     `json:"status"`           // fail over inconclusive over pass, over the required properties and claims
	Reason     string     `json:"reason,omitempty"` // what is missing: all of it for an inconclusive verdict; beside a fail only lost history lines
	Properties []Property `json:"properties"`       // in catalog order
	Claims     []Claim    `json:"claims"`
}

// findings are the violations of one property so far.
type findings struct {
	list  []Violation
	total int64
}

func (f *findings) add(v Violation) {
	f.total++
	if len(f.list) < MaxViolations {
		f.list = append(f.list, v)
	}
}

// clone returns a copy to which a verdict may add.
func (f *findings) clone() findings {
	return findings{list: slices.Clone(f.list), total: f.total}
}

// judgement is what one property concludes, before it is known whether it
// counts.
type judgement struct {
	findings findings
	exposure Exposure
	missing  []string // each a clause: what was not seen; empty: the exposure is met
	blind    string   // why this run could not see it at all; empty: it could
}

// settle turns a judgement into a Property: a property that is not promised
// is not applicable, a violation fails, missing exposure is inconclusive.
func settle(entry Entry, cfg *Config, j judgement) Property {
	p := Property{
		Slug:       entry.Slug,
		Class:      entry.Class,
		Required:   slices.Contains(cfg.Required, entry.Slug),
		Status:     Pass,
		Exposure:   j.exposure,
		Total:      j.findings.total,
		Violations: j.findings.list,
	}
	if len(cfg.Required) == 0 {
		p.Required = p.Total > 0 || slices.Contains(Core(), entry.Slug)
	}
	if entry.Slug == Invariants {
		p.Required = p.Required || p.Total > 0
	}
	if j.blind != "" && p.Required {
		j.missing = append(j.missing, j.blind)
	}
	reason, unpromised := cfg.Unpromised[entry.Slug]
	if !unpromised && entry.Slug == MessageOrdering && cfg.Order != OrderPartition {
		reason, unpromised = "the target promises no order", true
	}
	if !unpromised && j.blind != "" && !p.Required {
		reason, unpromised = j.blind, true
	}
	switch {
	case unpromised:
		p.Status, p.Reason = NotApplicable, reason
		p.Required, p.Total, p.Violations = false, 0, nil
	case p.Total > 0:
		p.Status = Fail
	case len(j.missing) > 0:
		p.Status, p.Reason = Inconclusive, strings.Join(j.missing, "; ")
	}
	if p.Violations == nil {
		p.Violations = []Violation{} // verdict.json has a list either way
	}
	return p
}

// overall combines a run's judgements. broken says what makes the history
// itself too weak for a pass.
func overall(cfg *Config, properties []Property, claims []Claim, broken []string) (Status, string) {
	missing := slices.Clone(broken)
	for _, slug := range cfg.Required {
		if !slices.ContainsFunc(properties, func(p Property) bool { return p.Slug == slug }) {
			missing = append(missing, fmt.Sprintf("property %q is not in the catalog", slug))
		}
	}
	for _, p := range properties {
		switch {
		case p.Required && p.Status == Fail:
			return Fail, strings.Join(broken, "; ")
		case p.Required && p.Status == Inconclusive:
			missing = append(missing, p.Slug+": "+p.Reason)
		}
	}
	for _, name := range cfg.Claims {
		if !slices.ContainsFunc(claims, func(c Claim) bool { return c.Name == name && c.Reached }) {
			missing = append(missing, fmt.Sprintf("claim %s was not reached", name))
		}
	}
	if len(missing) > 0 {
		return Inconclusive, strings.Join(missing, "; ")
	}
	return Pass, ""
}
