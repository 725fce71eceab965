//go:build !linux

package server

import (
	"context"
	"errors"
	"io"
)

// Serve returns an error: what an agent does is Linux's alone.
func Serve(context.Context, io.Reader, io.Writer, Options) error {
	return errors.New("an agent runs on Linux only: the harness starts it in a container")
}
