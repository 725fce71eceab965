package faults

import (
	"fmt"
	"slices"
	"strings"
)

// Role is what a process is in a run.
type Role string

// The roles. A process is named after its role: broker-1, producer-2,
// consumer-<channel>-1.
const (
	Broker   Role = "broker"
	Producer Role = "producer"
	Consumer Role = "consumer"
)

// RoleOf returns the role that the name of a process begins with. The name
// alone (broker) is no process.
func RoleOf(process string) (Role, bool) {
	for _, r := range []Role{Broker, Producer, Consumer} {
		if rest, ok := strings.CutPrefix(process, string(r)+"-"); ok && rest != "" {
			return r, true
		}
	}
	return "", false
}

// roleOf is RoleOf, "" for no process.
func roleOf(process string) Role {
	role, _ := RoleOf(process)
	return role
}

// Class is what a kind breaks.
type Class string

// The classes.
const (
	OfProcess Class = "process"
	OfDisk    Class = "disk"  // what a machine with one disk must survive
	OfMedia   Class = "media" // what is stored goes wrong or is gone: nothing with one copy can survive that
	OfNetwork Class = "network"
	OfClock   Class = "clock"
)

// Spec describes one kind of fault, for the scenario loader and for people.
type Spec struct {
	Kind     Kind
	Class    Class
	Does     string   // one sentence: what happens to the target
	Imitates string   // what it stands for in the real world
	Survives string   // what must hold all the same
	ForIs    string   // what the parameter For measures
	MinFor   int64    // shortest For, ns
	MaxFor   int64    // longest For, ns; 0: over at once, For is always 0
	Params   []Param  // parameters it takes beside For
	Worlds   []string // worlds that can carry it out
	Roles    []Role   // processes it applies to

	// TakesAway tells that a broker may do no work while it lasts: its process
	// or its disk is not there, or it may have ended itself.
	TakesAway bool
	// Cluster tells that the target has to have other brokers beside it.
	Cluster bool
	// Among tells that it is only on what processes of this role send each
	// other, so that a peer has the role too; "": whoever the peer is.
	Among Role
}

// Kinds is the catalog. A new kind is one line here and one file.
func Kinds() []Spec {
	return []Spec{
		kill(), stop(), pause(), powerLoss(), outOfMemory(), cpuSlow(), wipe(), replace(),
		diskFull(), diskSlow(), diskStuck(), diskReadError(), diskWriteShort(), fsyncError(),
		bitRot(), misdirectedWrite(), lostWrite(),
		partition(), cut(), clog(), jam(), latency(), loss(), reorder(), duplicate(), corrupt(),
		refuse(), reset(), halfOpen(), silence(),
		clockJump(), clockDrift(), clockFreeze(),
	}
}

// Find returns the description of a kind.
func Find(k Kind) (Spec, bool) {
	for _, s := range Kinds() {
		if s.Kind == k {
			return s, true
		}
	}
	return Spec{}, false
}

// check says what is wrong with f as a fault of this kind.
func (s Spec) check(f Fault) error {
	if f.For < s.MinFor || f.For > s.MaxFor {
		return fmt.Errorf("for is %d ns; a %s takes %d..%d ns", f.For, s.Kind, s.MinFor, s.MaxFor)
	}
	if err := s.checkParams(f); err != nil {
		return err
	}
	role, ok := TargetRole(f.Target)
	switch {
	case !ok:
		return fmt.Errorf("target %q is no process; processes are named broker-<n>, producer-<n>, consumer-<channel>-<n>", f.Target)
	case !slices.Contains(s.Roles, role):
		return fmt.Errorf("a %s does not apply to a %s", s.Kind, role)
	case f.Away < 0 || f.Away > 0 && !(s.TakesAway && role == Broker):
		return fmt.Errorf("away is %d; it is a number of brokers, for faults that take one away", f.Away)
	}
	return nil
}

// In tells whether a world can carry the kind out.
func (s Spec) In(world string) bool { return slices.Contains(s.Worlds, world) }

const (
	microsecond = int64(1_000)
	millisecond = 1000 * microsecond
	second      = 1000 * millisecond
	minute      = 60 * second
)

func everyRole() []Role      { return []Role{Broker, Producer, Consumer} }
func brokersOnly() []Role    { return []Role{Broker} }
func everyWorld() []string   { return []string{"sim", "process", "docker"} }
func simAndDocker() []string { return []string{"sim", "docker"} }
