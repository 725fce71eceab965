package shrink

import (
	"fmt"
	"regexp"
	"slices"

	"pestle/checker"
	"pestle/workload"
)

// Fingerprint tells one failure from another.
type Fingerprint struct {
	Property string `json:"property"` // slug
	Cause    string `json:"cause"`    // the checker's words, without ids and numbers
}

func (f Fingerprint) String() string { return fmt.Sprintf("%s: %s", f.Property, f.Cause) }

// Symptom is the first violation of a fingerprint in a run.
type Symptom struct {
	Fingerprint
	Violation checker.Violation
}

// Symptoms lists the fingerprints that a verdict shows of required properties,
// each with its first violation, the earliest first; of equal times the first
// in the catalog.
func Symptoms(v checker.Verdict) []Symptom {
	var list []Symptom
	for _, p := range v.Properties {
		if !p.Required || p.Status != checker.Fail {
			continue
		}
		for _, violation := range p.Violations {
			list = add(list, Symptom{Fingerprint{p.Slug, violation.Cause}, violation})
		}
	}
	return list
}

// add puts a symptom where its time belongs, unless its fingerprint is there
// already: the violations of a property are in the order of their proof.
func add(list []Symptom, s Symptom) []Symptom {
	at := len(list)
	for i := range list {
		if list[i].Fingerprint == s.Fingerprint {
			return list
		}
		if list[i].Violation.T > s.Violation.T && i < at {
			at = i
		}
	}
	return slices.Insert(list, at, s)
}

// shows returns the symptom of a fingerprint, if the verdict shows it.
func shows(v checker.Verdict, want Fingerprint) (Symptom, bool) {
	for _, s := range Symptoms(v) {
		if s.Fingerprint == want {
			return s, true
		}
	}
	return Symptom{}, false
}

// idPattern finds message ids in a violation's sentence: the other half of a
// wrong order is named only there.
var idPattern = regexp.MustCompile(`producer-[0-9]+-[0-9]+`)

// messages returns the messages that the violation names, its own first.
func (s Symptom) messages() []workload.ID {
	var ids []workload.ID
	for _, text := range append([]string{s.Violation.ID}, idPattern.FindAllString(s.Violation.Detail, -1)...) {
		if id, err := workload.ParseID(text); err == nil && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}
