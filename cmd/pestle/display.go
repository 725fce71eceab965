package main

import (
	"fmt"
	"io"
	"time"

	"pestle/campaign/conductor"
	"pestle/campaign/fleet"
	"pestle/reports/page"
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
func (d *display) progress(p conductor.Progress) {
	now := time.Now()
	since := now.Sub(d.shown)
	if since < d.every() && p.Phase == d.phase {
		return
	}
	rate := int64(0)
	if since > 0 && !d.shown.IsZero() {
		rate = (p.Acks - d.acks) * int64(time.Second) / int64(since)
	}
	text := fmt.Sprintf("%-8s %3.0f/%.0f s  %d acks (%d/s), %d deliveries, faults %d/%d",
		p.Phase, p.Elapsed.Seconds(), p.Total.Seconds(), p.Acks, rate, p.Consumes, p.Faults, p.Planned)
	d.renew(text)
	d.shown, d.phase, d.acks = now, p.Phase, p.Acks
}

// campaign shows how far a campaign is, unless it was shown just now.
func (d *display) campaign(p fleet.Progress) {
	now := time.Now()
	if now.Sub(d.shown) < d.every() && p.Doing == d.phase {
		return
	}
	d.shown, d.phase = now, p.Doing
	if p.Doing != "" {
		text := p.Doing
		if p.Detail != "" {
			text += ": " + p.Detail
		}
		d.renew(text)
		return
	}
	text := fmt.Sprintf("%d/%d runs", p.Done, p.Total)
	if p.Now > 0 {
		perRun := p.Elapsed / time.Duration(p.Now)
		left := perRun * time.Duration(p.Total-p.Done)
		text += fmt.Sprintf("  %.1f/s, %v left", 1/perRun.Seconds(), left.Round(time.Second))
	}
	d.renew(fmt.Sprintf("%s  %d failed, with %s", text, p.Failed, page.Counted(int64(p.Fingerprints), "fingerprint")))
}

// every is how often the line renews itself.
func (d *display) every() time.Duration {
	if d.terminal {
		return renewEvery
	}
	return plainEvery
}

// renew shows a text in place of the line before, or on a line of its own.
func (d *display) renew(text string) {
	if !d.terminal {
		fmt.Fprintln(d.out, text)
		return
	}
	fmt.Fprintf(d.out, "\r\x1b[K%s", text)
	d.dirty = true
}

// done leaves the renewing line as it stands.
func (d *display) done() {
	if d.dirty {
		fmt.Fprintln(d.out)
		d.dirty = false
	}
}
