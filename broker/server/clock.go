package server

import (
	"time"

	"pestle/broker/core"
)

// Clock tells the time to the core. Mono must never go back; Wall may.
type Clock interface {
	Now() core.Time
}

// SystemClock returns the machine's clock. Its Mono starts at zero.
func SystemClock() Clock { return systemClock{start: time.Now()} }

type systemClock struct{ start time.Time }

func (c systemClock) Now() core.Time {
	now := time.Now()
	return core.Time{Mono: int64(now.Sub(c.start)), Wall: now.UnixNano()}
}
