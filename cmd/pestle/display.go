package main

import (
	"fmt"
	"io"
	"time"

	"pestle/campaign/process"
)

// display shows how far a run is: one line that renews itself on a terminal,
// a plain line now and then elsewhere.
type display struct {
	out      io.Writer
	terminal bool
	shown    time.Time
	phase    string
	acks     int64 // at shown
	dirty    bool  // a renewing line is on the screen
}

// How often the line renews itself, on a terminal and elsewhere.
const (
	renewEvery = 250 * time.Millisecond
	plainEvery = 5 * time.Second
)

func newDisplay(out io.Writer) *display {
	return &display{out: out, terminal: isTerminal(out)}
}

// line prints one line of its own.
func (d *display) line(format string, args ...any) {
	d.done()
	fmt.Fprintf(d.out, format+"\n", args...)
}

// progress shows p, unless it was shown just now.
func (d *display) progress(p process.Progress) {
	now := time.Now()
	every := plainEvery
	if d.terminal {
		every = renewEvery
	}
	since := now.Sub(d.shown)
	if since < every && p.Phase == d.phase {
		return
	}
	rate := int64(0)
	if since > 0 && !d.shown.IsZero() {
		rate = (p.Acks - d.acks) * int64(time.Second) / int64(since)
	}
	text := fmt.Sprintf("%-8s %3.0f/%.0f s  %d acks (%d/s), %d deliveries, faults %d/%d",
		p.Phase, p.Elapsed.Seconds(), p.Total.Seconds(), p.Acks, rate, p.Consumes, p.Faults, p.Planned)
	if d.terminal {
		fmt.Fprintf(d.out, "\r\x1b[K%s", text)
		d.dirty = true
	} else {
		fmt.Fprintln(d.out, text)
	}
	d.shown, d.phase, d.acks = now, p.Phase, p.Acks
}

// done leaves the renewing line as it stands.
func (d *display) done() {
	if d.dirty {
		fmt.Fprintln(d.out)
		d.dirty = false
	}
}
