package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// ParseRequest reads one line to the agent and validates it. The request is
// returned with what could be read even if there is an error, for its ID.
func ParseRequest(line []byte) (Request, error) {
	var r Request
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields() // an older agent must not carry out half of a request
	if err := decoder.Decode(&r); err != nil {
		return r, fmt.Errorf("request %.80q: %w", line, err)
	}
	if _, err := decoder.Token(); err != io.EOF {
		return r, fmt.Errorf("request %.80q: more than one object in a line", line)
	}
	return r, r.Validate()
}

// ParseAnswer reads one line from the agent.
func ParseAnswer(line []byte) (Answer, error) {
	var a Answer
	if err := json.Unmarshal(line, &a); err != nil {
		return a, fmt.Errorf("answer %.80q: %w", line, err)
	}
	return a, nil
}

// appendLine encodes a request or an answer with its end of line.
func appendLine(message any) ([]byte, error) {
	line, err := json.Marshal(message)
	if err != nil {
		return nil, err
	}
	if len(line) >= MaxLine {
		return nil, fmt.Errorf("a line of %d bytes is longer than %d", len(line), MaxLine)
	}
	return append(line, '\n'), nil
}

// WriteAnswer writes an answer as a line, in one call.
func WriteAnswer(w io.Writer, a Answer) error {
	line, err := appendLine(a)
	if err != nil {
		line, err = appendLine(Answer{ID: a.ID, Op: a.Op, At: a.At, Err: err.Error()})
	}
	if err == nil {
		_, err = w.Write(line)
	}
	return err
}
