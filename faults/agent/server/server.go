//go:build linux

package server

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"golang.org/x/sys/unix"

	"pestle/faults/agent"
	"pestle/faults/agent/rules"
	"pestle/faults/agent/sockets"
)

// server is what is imposed on the pod. One goroutine uses it.
type server struct {
	network   rules.Network
	abilities []agent.Ability
	table     *rules.Table // nil: this kernel has none
	pump      *pump        // nil: there is no queue
	pumpErr   error        // why, then

	parts []rules.Part  // by ref
	torn  map[int]int64 // connections, by ref
}

// open begins with no rules. What the kernel lacks is no error.
func open(options Options) (*server, error) {
	address, err := own(options.Subnet)
	if err != nil {
		return nil, err
	}
	s := &server{
		network: rules.Network{Subnet: options.Subnet, Gateway: options.Gateway, Own: address},
		torn:    make(map[int]int64),
	}
	if err := s.network.Validate(); err != nil {
		return nil, err
	}
	raw, rawErr := openRaw()
	if s.pump, s.pumpErr = openPump(raw); s.pumpErr != nil && rawErr == nil {
		s.pumpErr = errors.Join(s.pumpErr, unix.Close(raw))
	}
	s.abilities = s.probe()
	if s.can(agent.NFT) == nil {
		way, _ := rules.ProbeQueue() // an error is in the abilities already
		if s.table, err = rules.Open(s.network, way); err != nil {
			return nil, errors.Join(err, s.close())
		}
	}
	return s, nil
}

// close heals everything.
func (s *server) close() error {
	var err error
	if s.pump != nil {
		for _, p := range s.parts {
			s.pump.lift(p.Ref)
		}
	}
	if s.table != nil {
		err = s.table.Close()
	}
	if s.pump != nil {
		err = errors.Join(err, s.pump.close())
	}
	return err
}

// can tells why one of the abilities is not there; nil: all are.
func (s *server) can(needs ...string) error {
	for _, a := range s.abilities {
		if slices.Contains(needs, a.Name) && !a.OK {
			return fmt.Errorf("it needs %s, which is not there: %s", a.Name, a.Why)
		}
	}
	return nil
}

// carryOut does what a valid request asks for, except Control, and fills the
// answer in.
func (s *server) carryOut(r agent.Request, a *agent.Answer) (err error) {
	if err := s.can(r.Needs()...); err != nil {
		return err
	}
	switch r.Op {
	case agent.Reset:
		a.Torn, err = s.tear(r.Peers)
	case agent.Lift:
		a.Counters, err = s.lift(r.Ref)
	case agent.Counters:
		a.Counters, err = s.counters()
	case agent.Probe:
		a.Abilities = s.probe()
	default:
		a.Torn, err = s.impose(r)
	}
	return err
}

// impose puts a part under its ref and returns how many connections it tore.
func (s *server) impose(r agent.Request) (torn int, err error) {
	part := rules.Part{Ref: r.Ref, Does: r.Op, Peers: r.Peers}
	if r.Op == agent.HalfOpen {
		if part.Connections, err = s.connections(r.Peers); err != nil {
			return 0, err
		}
	}
	before := s.parts
	if s.pump != nil {
		s.pump.lift(r.Ref)
	}
	if r.Op == agent.Shape {
		s.pump.impose(r.Ref, r.Peers, *r.Shaping) // before the rule that brings packets
	}
	if err = s.set(append(s.without(r.Ref), part)); err == nil {
		switch r.Op {
		case agent.HalfOpen:
			torn, err = sockets.Destroy(part.Connections)
		case agent.Refuse:
			torn, err = s.tear(r.Peers)
		}
		if err != nil {
			err = errors.Join(err, s.set(before))
		}
	}
	if err != nil {
		if r.Op == agent.Shape {
			s.pump.lift(r.Ref)
		}
		return 0, err
	}
	s.torn[r.Ref] = int64(torn)
	return torn, nil
}

func (s *server) lift(ref int) ([]agent.Hits, error) {
	all, err := s.counters()
	if err != nil {
		return nil, err
	}
	if s.pump != nil {
		s.pump.lift(ref) // before the rule goes: what is held goes on before what comes now
	}
	if err := s.set(s.without(ref)); err != nil {
		return nil, err
	}
	delete(s.torn, ref)
	return slices.DeleteFunc(all, func(h agent.Hits) bool { return h.Ref != ref }), nil
}

// set replaces the rules' parts.
func (s *server) set(parts []rules.Part) error {
	slices.SortFunc(parts, func(a, b rules.Part) int { return cmp.Compare(a.Ref, b.Ref) })
	if s.table != nil {
		if err := s.table.Set(parts); err != nil {
			return err
		}
	}
	s.parts = parts
	return nil
}

func (s *server) without(ref int) []rules.Part {
	return slices.DeleteFunc(slices.Clone(s.parts), func(p rules.Part) bool { return p.Ref == ref })
}

// counters returns what each ref has met, by ref.
func (s *server) counters() ([]agent.Hits, error) {
	if len(s.parts) == 0 {
		return nil, nil
	}
	ofRules, err := s.table.Hits()
	if err != nil {
		return nil, err
	}
	var ofShaper []agent.Hits
	if s.pump != nil {
		ofShaper = s.pump.hits()
	}
	all := make([]agent.Hits, len(s.parts))
	for i, p := range s.parts {
		h := ofRules[p.Ref]
		if j := slices.IndexFunc(ofShaper, func(h agent.Hits) bool { return h.Ref == p.Ref }); j >= 0 {
			h = ofShaper[j]
		}
		h.Ref, h.Torn = p.Ref, s.torn[p.Ref]
		all[i] = h
	}
	return all, nil
}

// tear ends every connection with the peers.
func (s *server) tear(peers []netip.Addr) (int, error) {
	connections, err := s.connections(peers)
	if err != nil {
		return 0, err
	}
	return sockets.Destroy(connections)
}

func (s *server) connections(peers []netip.Addr) ([]sockets.Connection, error) {
	return sockets.With(func(a netip.Addr) bool { return s.network.Covers(peers, a) })
}

// loseQueue notes that the pump has ended by itself: what it shaped is shaped no
// more.
func (s *server) loseQueue() error {
	err := fmt.Errorf("the shaper's queue ended: %w", s.pump.err)
	s.pumpErr = errors.Join(err, s.pump.close())
	s.pump = nil
	parts := slices.DeleteFunc(slices.Clone(s.parts), func(p rules.Part) bool { return p.Does == agent.Shape })
	err = errors.Join(s.pumpErr, s.set(parts))
	for i := range s.abilities {
		if s.abilities[i].Name == agent.NFQueue {
			s.abilities[i] = ability(agent.NFQueue, s.pumpErr)
		}
	}
	return err
}
