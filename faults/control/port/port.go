// Package port serves the control port of a process that is under faults: see
// pestle/faults/control for what it answers. It owns the HTTP side and which
// of disk and clock a request is for. Only builds with the tag chaos have it.
//
// # The loopback rule
//
// Whoever reaches the port can destroy the data. It listens on loopback only.
//
//	l, err := port.Listen("127.0.0.1:4199")
//	go http.Serve(l, port.New(dir, clock))
package port

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"

	"pestle/faults/clock"
	"pestle/faults/control"
	"pestle/faults/disk"
)

// Listen listens at host:port, where the host has to be a loopback address or
// localhost; port 0 takes a free one.
func Listen(address string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("--chaos-address %q: %w; give host:port", address, err)
	}
	ip := net.ParseIP(host)
	if host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, fmt.Errorf("--chaos-address %q: %q is not loopback, and whoever reaches this port can destroy the data; use 127.0.0.1", address, host)
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("--chaos-address: %w", err)
	}
	return l, nil
}

// port is what the requests are for.
type port struct {
	disk  *disk.Dir
	clock *clock.Clock
}

// New returns the handler of a process with this disk and clock.
func New(d *disk.Dir, c *clock.Clock) http.Handler {
	p := &port{disk: d, clock: c}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /impose", p.impose)
	mux.HandleFunc("POST /lift", p.lift)
	mux.HandleFunc("POST /power-loss", p.losePower)
	mux.HandleFunc("GET /status", p.status)
	return mux
}

func (p *port) impose(w http.ResponseWriter, r *http.Request) {
	var ask control.Imposition
	if !read(w, r, &ask) {
		return
	}
	f := ask.Fault
	if f.Ref < 1 {
		refuse(w, http.StatusBadRequest, fmt.Errorf("ref is %d; faults are numbered from 1", f.Ref))
		return
	}
	if p.gone(w) {
		return
	}
	var err error
	switch {
	case clock.Does(f.Kind):
		err = p.clock.Impose(f)
	case disk.Does(f.Kind):
		err = p.disk.Impose(f, ask.Seed)
	default:
		refuse(w, http.StatusBadRequest, fmt.Errorf("impose %q: it is no fault of a disk or a clock", f.Kind))
		return
	}
	if err != nil {
		refuse(w, statusOf(err), err)
		return
	}
	answer(w, struct{}{})
}

// statusOf tells whose mistake an error is.
func statusOf(err error) int {
	var real interface{ Timeout() bool } // of the operating system
	switch {
	case errors.Is(err, disk.ErrUnderWay), errors.Is(err, clock.ErrUnderWay):
		return http.StatusConflict
	case errors.As(err, &real):
		return http.StatusInternalServerError
	}
	return http.StatusBadRequest
}

func (p *port) lift(w http.ResponseWriter, r *http.Request) {
	var ask control.Lifting
	if !read(w, r, &ask) || p.gone(w) {
		return
	}
	p.clock.Lift(ask.Ref)
	bites, err := p.disk.Lift(ask.Ref)
	if err != nil {
		refuse(w, http.StatusInternalServerError, err)
		return
	}
	answer(w, control.Lifted{Bites: bites})
}

func (p *port) losePower(w http.ResponseWriter, r *http.Request) {
	var ask control.PowerLoss
	if !read(w, r, &ask) {
		return
	}
	loss, err := p.disk.PowerLoss(ask.Seed)
	if err != nil {
		refuse(w, http.StatusInternalServerError, err)
		return
	}
	answer(w, control.Loss(loss))
}

func (p *port) status(w http.ResponseWriter, _ *http.Request) {
	s := control.Status{PowerLost: p.disk.Lost(), Lying: p.disk.Lying(), Clock: control.Clock(p.clock.State()), Faults: []control.Imposed{}}
	for _, f := range p.disk.Faults() {
		s.Faults = append(s.Faults, control.Imposed(f))
	}
	for _, f := range p.clock.Faults() {
		s.Faults = append(s.Faults, control.Imposed{Ref: f.Ref, Kind: f.Kind})
	}
	answer(w, s)
}

// gone refuses what would wait for ever.
func (p *port) gone(w http.ResponseWriter) bool {
	lost := p.disk.Lost()
	if lost {
		refuse(w, http.StatusConflict, errors.New("the power is lost; kill the process and start it again"))
	}
	return lost
}

// read reads one JSON value that has only what it may have.
func read(w http.ResponseWriter, r *http.Request, into any) bool {
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, control.MaxRequest))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	if err == nil {
		if _, more := d.Token(); more == nil {
			err = errors.New("something follows the request")
		} else if !errors.Is(more, io.EOF) {
			err = more
		}
	}
	if err != nil {
		refuse(w, http.StatusBadRequest, fmt.Errorf("the request is not understood: %w", err))
	}
	return err == nil
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // who does not listen any more is not told
}

func refuse(w http.ResponseWriter, status int, err error) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(control.Refusal{Error: err.Error()})
}
