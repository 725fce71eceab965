package checker

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

// Violation is one proven breach of a property. Violations beyond
// MaxViolations per property are counted, not kept.
type Violation struct {
	ID      string `json:"id,omitempty"`      // the message, where there is one
	Channel string `json:"channel,omitempty"` //
	Pos     string `json:"pos,omitempty"`     //
	T       int64  `json:"t"`                 // when it was proven, CLOCK_MONOTONIC ns
	Cause   string `json:"cause"`             // a few stable words, no ids or numbers: with the slug it is the fingerprint
	Detail  string `json:"detail"`            // one sentence for people, with ids and times
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
	Name    string `json:"name"`
	Count   int64  `json:"count"`
	Reached bool   `json:"reached"`
}

// Verdict is the judgement of one history.
type Verdict struct {
	Status     Status     `json:"status"`           // fail over inconclusive over pass, over the required properties and claims
	Reason     string     `json:"reason,omitempty"` // why inconclusive
	Properties []Property `json:"properties"`       // in catalog order
	Claims     []Claim    `json:"claims"`
}
