package agent

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"time"
)

// Op names what a request asks for, and what an answer is about.
type Op string

// The operations: those of the first group impose a fault under Ref.
const (
	Block    Op = "block"     // what comes from Peers is dropped; connections stay and time out
	Silence  Op = "silence"   // nothing comes in or goes out, but by the loopback device
	Refuse   Op = "refuse"    // connections with Peers are torn, both ends are told; new ones are refused, either way
	HalfOpen Op = "half-open" // connections with Peers are torn here and now, and until it is lifted the peers hear nothing of it
	Shape    Op = "shape"     // what comes from Peers is late, lost, doubled or damaged, see Shaping

	Reset Op = "reset" // connections with Peers are torn, both ends are told; over at once, nothing to lift
	Lift  Op = "lift"  // the part of Ref is gone; fine if there is none

	Counters Op = "counters" // what each Ref has met so far
	Probe    Op = "probe"    // what this kernel can do, asked anew; what was missing at the start stays refused
	Control  Op = "control"  // one HTTP request to the process in the pod

	Report  Op = "report"  // of an answer: the first line
	Trouble Op = "trouble" // of an answer: unasked, something stopped working
)

// Limits of a line and what stands in it.
const (
	MaxLine  = 1 << 20   // bytes of a line
	MaxPeers = 256       // of a request
	MaxBody  = 256 << 10 // bytes of a relayed body, either way
	MaxDelay = time.Hour // of a packet, each of Shaping's times
)

// Request is one line to the agent.
type Request struct {
	ID    uint64       `json:"id"`              // the answer has it too; Client sets it, from 1
	Op    Op           `json:"op"`              //
	Ref   int          `json:"ref,omitempty"`   // the fault, from 1; 0 where there is none
	Peers []netip.Addr `json:"peers,omitempty"` // IPv4; none: every address of the test's network but the gateway's and the pod's

	Shaping *Shaping `json:"shaping,omitempty"` // of Shape
	Relay   *Relay   `json:"relay,omitempty"`   // of Control
}

// Shaping says what happens to packets on their way in. The zero value leaves
// them alone. Several shapings of one peer add up: a packet gets the delays of
// all, passes if none loses it, and the lowest BytesPerSecond counts.
type Shaping struct {
	// Seed of the decisions. The decisions about packet k from a peer depend on
	// Seed, the peer's address and k alone.
	Seed uint64 `json:"seed"`

	Loss      int `json:"loss,omitempty"`      // permille of packets that never arrive
	Duplicate int `json:"duplicate,omitempty"` // permille that arrive twice
	Corrupt   int `json:"corrupt,omitempty"`   // permille with one turned bit in what they carry, and a checksum that fits it
	Reorder   int `json:"reorder,omitempty"`   // permille that arrive ReorderBy later than they should, behind others

	ReorderBy time.Duration `json:"reorder_by,omitempty"` // ns
	Delay     time.Duration `json:"delay,omitempty"`      // ns, of every packet
	Jitter    time.Duration `json:"jitter,omitempty"`     // ns, up to so much more; the order is kept

	BytesPerSecond int64 `json:"bytes_per_second,omitempty"` // of each peer, IP headers included; 0: no limit
	Jam            bool  `json:"jam,omitempty"`              // nothing arrives until this is lifted, then all at once
}

// Relay is an HTTP request to the process that shares the pod: the harness has
// no other way to a port that listens on 127.0.0.1 only.
type Relay struct {
	Port   uint16 `json:"port"`
	Method string `json:"method"`
	Path   string `json:"path"` // with the query, begins with /
	Body   string `json:"body,omitempty"`
}

// Answer is one line from the agent.
type Answer struct {
	ID  uint64 `json:"id,omitempty"`  // of the request; 0: unasked
	Op  Op     `json:"op"`            //
	At  int64  `json:"at"`            // CLOCK_MONOTONIC ns: when the kernel had acknowledged it
	Err string `json:"err,omitempty"` // what failed; nothing has changed then

	Torn      int       `json:"torn,omitempty"`      // connections, of Reset, Refuse and HalfOpen
	Counters  []Hits    `json:"counters,omitempty"`  // of Lift: of that Ref; of Counters: of each, by Ref
	Abilities []Ability `json:"abilities,omitempty"` // of Report and Probe
	Reply     *Reply    `json:"reply,omitempty"`     // of Control
}

// Hits tells what a fault has met: the evidence that it took effect.
type Hits struct {
	Ref     int   `json:"ref"`
	Packets int64 `json:"packets"`        // dropped, rejected or shaped
	Bytes   int64 `json:"bytes"`          // of these, IP headers included
	Torn    int64 `json:"torn,omitempty"` // connections

	Lost       int64 `json:"lost,omitempty"`       // of the shaped packets
	Duplicated int64 `json:"duplicated,omitempty"` //
	Corrupted  int64 `json:"corrupted,omitempty"`  //
	Reordered  int64 `json:"reordered,omitempty"`  //
	Overflowed int64 `json:"overflowed,omitempty"` // lost because too many were held already
}

// The abilities of a report, by name.
const (
	NFT     = "nft"     // Block, Silence: nftables
	Rejects = "reject"  // Refuse: nftables rejects with an RST
	Destroy = "destroy" // Reset, HalfOpen, Refuse: the kernel ends a connection when asked
	NFQueue = "nfqueue" // Shape: packets come to the agent before they go on
	RawSock = "rawsock" // Shaping.Duplicate: the agent may send packets as they are
	TBF     = "tbf"     // not needed: the kernel's own limit of bytes
	Netem   = "netem"   // not needed: the kernel's own delays
	Numgen  = "numgen"  // not needed: the kernel's own losses
)

// Ability is one thing that this kernel can do, or why it cannot.
type Ability struct {
	Name string `json:"name"`
	OK   bool   `json:"ok"`
	Why  string `json:"why,omitempty"` // if not OK, the reason and what would help; else which way it is done
}

// Needs returns the names of the abilities that a request rests on, so that it
// is known before it is sent that it cannot be carried out.
func (r Request) Needs() []string {
	switch r.Op {
	case Block, Silence:
		return []string{NFT}
	case Refuse:
		return []string{NFT, Rejects, Destroy}
	case Reset:
		return []string{Destroy}
	case HalfOpen:
		return []string{NFT, Destroy}
	case Shape:
		if r.Shaping != nil && r.Shaping.Duplicate > 0 {
			return []string{NFT, NFQueue, RawSock}
		}
		return []string{NFT, NFQueue}
	}
	return nil
}

// Reply is what the process answered to a Relay, whatever its status.
type Reply struct {
	Status int    `json:"status"`
	Body   string `json:"body,omitempty"`
}

// Imposes tells whether the operation puts a part under its Ref.
func (o Op) Imposes() bool {
	switch o {
	case Block, Silence, Refuse, HalfOpen, Shape:
		return true
	}
	return false
}

// Validate tells what is wrong with a request, or nil.
func (r Request) Validate() error {
	switch r.Op {
	case Block, Silence, Refuse, HalfOpen, Shape, Lift:
		if r.Ref < 1 {
			return fmt.Errorf("%s: ref %d: it must be the number of a fault, from 1", r.Op, r.Ref)
		}
	case Reset, Counters, Probe, Control:
	default:
		return fmt.Errorf("there is no operation %q", r.Op)
	}
	if len(r.Peers) > MaxPeers {
		return fmt.Errorf("%s: %d peers are more than %d", r.Op, len(r.Peers), MaxPeers)
	}
	for _, p := range r.Peers {
		if !p.Is4() {
			return fmt.Errorf("%s: peer %s is no IPv4 address", r.Op, p)
		}
	}
	if r.Op == Shape {
		if r.Shaping == nil {
			return errors.New("shape: there is no shaping")
		}
		return r.Shaping.validate()
	}
	if r.Op == Control {
		if r.Relay == nil {
			return errors.New("control: there is no relay")
		}
		return r.Relay.validate()
	}
	return nil
}

func (s *Shaping) validate() error {
	for _, rate := range []struct {
		name string
		is   int
	}{{"loss", s.Loss}, {"duplicate", s.Duplicate}, {"corrupt", s.Corrupt}, {"reorder", s.Reorder}} {
		if rate.is < 0 || rate.is > 1000 {
			return fmt.Errorf("shape: %s of %d permille is not from 0 to 1000", rate.name, rate.is)
		}
	}
	for _, length := range []struct {
		name string
		is   time.Duration
	}{{"delay", s.Delay}, {"jitter", s.Jitter}, {"reorder_by", s.ReorderBy}} {
		if length.is < 0 || length.is > MaxDelay {
			return fmt.Errorf("shape: %s of %s is not from 0 to %s", length.name, length.is, MaxDelay)
		}
	}
	if s.BytesPerSecond < 0 {
		return fmt.Errorf("shape: %d bytes per second", s.BytesPerSecond)
	}
	return nil
}

func (r *Relay) validate() error {
	switch {
	case r.Port == 0:
		return errors.New("control: there is no port")
	case r.Method != http.MethodGet && r.Method != http.MethodPost && r.Method != http.MethodPut && r.Method != http.MethodDelete:
		return fmt.Errorf("control: there is no method %q", r.Method)
	case r.Path == "" || r.Path[0] != '/':
		return fmt.Errorf("control: path %q does not begin with /", r.Path)
	case len(r.Body) > MaxBody:
		return fmt.Errorf("control: a body of %d bytes is longer than %d", len(r.Body), MaxBody)
	}
	return nil
}
