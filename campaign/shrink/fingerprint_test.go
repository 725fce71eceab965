package shrink

import (
	"slices"
	"testing"

	"pestle/checker"
	"pestle/workload"
)

// What a run shows: of required properties that fail each cause once, with its
// first violation, the earliest proven first.
func TestSymptoms(t *testing.T) {
	fails := func(slug string, violations ...checker.Violation) checker.Property {
		return checker.Property{Slug: slug, Required: true, Status: checker.Fail, Violations: violations}
	}
	at := func(t int64, cause, id string) checker.Violation {
		return checker.Violation{T: t, Cause: cause, ID: id}
	}
	optional := fails("no-data-corruption", at(1, "flipped", "x"))
	optional.Required = false
	unpromised := fails("message-ordering", at(1, "overtaken", "x"))
	unpromised.Status = checker.NotApplicable
	v := checker.Verdict{Properties: []checker.Property{
		optional, unpromised,
		fails("no-data-loss", at(9, "gone", "a"), at(9, "gone", "b"), at(9, "given back", "c")),
		fails("producer-progress", at(5, "no ack", "d")),
		fails("consumer-progress", at(9, "late", "e"), at(4, "never", "f")),
	}}
	var got []string
	for _, s := range Symptoms(v) {
		got = append(got, s.String()+" "+s.Violation.ID)
	}
	want := []string{
		"consumer-progress: never f", "producer-progress: no ack d",
		"no-data-loss: gone a", "no-data-loss: given back c", "consumer-progress: late e",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q\nwant\n%q", got, want)
	}
	if s, ok := shows(v, Fingerprint{"no-data-loss", "given back"}); !ok || s.Violation.ID != "c" {
		t.Errorf("shows %v, %v", s, ok)
	}
	if s, ok := shows(v, Fingerprint{"no-data-corruption", "flipped"}); ok {
		t.Errorf("shows %v of a property that is not required", s)
	}
}

func TestMessagesOfASymptom(t *testing.T) {
	s := Symptom{Violation: checker.Violation{ID: "producer-2-7", Detail: "producer-2-7 came after producer-2-10, of producer-2 and producer-1-0"}}
	want := []workload.ID{{Producer: 2, Counter: 7}, {Producer: 2, Counter: 10}}
	if got := s.messages(); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
