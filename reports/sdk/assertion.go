package sdk

import (
	"encoding/json"
	"fmt"
)

// Kind is what an assertion claims.
type Kind uint8

// The kinds, with Antithesis' names.
const (
	Always              Kind = iota + 1 // true whenever it is evaluated, and it is
	AlwaysOrUnreachable                 // true whenever it is evaluated
	Sometimes                           // true at least once
	Reachable                           // evaluated at least once
)

// form is how a kind is written.
type form struct {
	assert, display string
	mustHit         bool
}

func (k Kind) form() form {
	switch k {
	case Always:
		return form{"always", "Always", true}
	case AlwaysOrUnreachable:
		return form{"always", "AlwaysOrUnreachable", false}
	case Sometimes:
		return form{"sometimes", "Sometimes", true}
	case Reachable:
		return form{"reachability", "Reachable", true}
	}
	panic(fmt.Sprintf("sdk: there is no kind %d of assertion", k))
}

// Assertion is one entry of a catalog. Two with one message are one property.
type Assertion struct {
	Message string
	Kind    Kind
	File    string // of Pestle's source, where it is judged
}

type location struct {
	Class       string `json:"class"`
	Function    string `json:"function"`
	File        string `json:"file"`
	BeginLine   int    `json:"begin_line"`
	BeginColumn int    `json:"begin_column"`
}

type assertLine struct {
	Location    location        `json:"location"`
	Details     json.RawMessage `json:"details"`
	AssertType  string          `json:"assert_type"`
	DisplayType string          `json:"display_type"`
	Message     string          `json:"message"`
	ID          string          `json:"id"`
	Hit         bool            `json:"hit"`
	MustHit     bool            `json:"must_hit"`
	Condition   bool            `json:"condition"`
}

// line is one line of the assertion; details of nil are null.
func (a Assertion) line(hit, condition bool, details any) ([]byte, error) {
	written, err := json.Marshal(details)
	if err != nil {
		return nil, fmt.Errorf("details of assertion %q: %w", a.Message, err)
	}
	f := a.Kind.form()
	return encode("antithesis_assert", assertLine{
		Location: location{Class: "pestle", Function: a.Message, File: a.File}, Details: written,
		AssertType: f.assert, DisplayType: f.display, Message: a.Message, ID: a.Message,
		Hit: hit, MustHit: f.mustHit, Condition: condition,
	})
}

// declaration is the line that says that the assertion exists.
func (a Assertion) declaration() []byte {
	line, err := a.line(false, false, nil)
	if err != nil {
		panic("sdk: declare " + a.Message + ": " + err.Error()) // strings only: cannot fail
	}
	return line
}

// Version says who writes.
type Version struct {
	Pestle string // release
	Go     string // that built it
}

// protocol is the version of the line format that this package writes.
const protocol = "1.1.0"

func (v Version) line() ([]byte, error) {
	type language struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	}
	return encode("antithesis_sdk", struct {
		Language language `json:"language"`
		Protocol string   `json:"protocol_version"`
		SDK      string   `json:"sdk_version"`
	}{language{"Go", v.Go}, protocol, "pestle " + v.Pestle})
}

func setupLine(details any) ([]byte, error) {
	return encode("antithesis_setup", struct {
		Details any    `json:"details"`
		Status  string `json:"status"`
	}{details, "complete"})
}

// encode writes one line: an object with one key.
func encode(key string, value any) ([]byte, error) {
	text, err := json.Marshal(map[string]any{key: value})
	if err != nil {
		return nil, fmt.Errorf("encode a line of %s: %w", key, err)
	}
	return append(text, '\n'), nil
}
