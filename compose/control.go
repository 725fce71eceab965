package compose

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"pestle/faults"
)

// brokerFlags are those of every broker in this world beside the plan's.
func (h *Host) brokerFlags() []string { return nil }

func (h *Host) loseUnsynced(context.Context, *pod, faults.Fault) (string, error) {
	return "", errors.New("not yet")
}

// decode reads one JSON value of bounded length.
func decode(r io.Reader, into any) error {
	const longest = 1 << 20
	if err := json.NewDecoder(io.LimitReader(r, longest)).Decode(into); err != nil {
		return fmt.Errorf("decode the answer: %w", err)
	}
	return nil
}
