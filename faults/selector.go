package faults

import (
	"slices"
	"strconv"
	"strings"
)

// The selectors: words that stand, as the target of a fault, for a broker of a
// cluster that is known only when the fault begins. A plan keeps the word;
// the Scheduler finds the process.
const (
	Leader         = "leader"          // leads the partition of the workload's topic
	MetadataLeader = "metadata-leader" // leads the metadata
)

const metadataPrefix = "metadata-"

// Follower is the selector of the n-th broker, from 1 in the order of their
// numbers, that does not lead the partition of the workload's topic.
func Follower(n int) string { return "follower-" + strconv.Itoa(n) }

// MetadataFollower is the selector of the n-th broker that does not lead the
// metadata.
func MetadataFollower(n int) string { return metadataPrefix + Follower(n) }

// selector is what a word selects.
type selector struct {
	metadata bool
	follower int // number among those that do not lead, from 1; 0 is who leads
}

func parseSelector(word string) (selector, bool) {
	of, metadata := strings.CutPrefix(word, metadataPrefix)
	if of == Leader {
		return selector{metadata: metadata}, true
	}
	number, ok := strings.CutPrefix(of, "follower-")
	n, err := strconv.Atoi(number)
	if !ok || err != nil || n < 1 || strconv.Itoa(n) != number {
		return selector{}, false
	}
	return selector{metadata: metadata, follower: n}, true
}

// IsSelector tells whether a target is a selector, and not a process.
func IsSelector(target string) bool {
	_, ok := parseSelector(target)
	return ok
}

// TargetRole is the role of a process or of whom a selector stands for; ok is
// false for a word that is neither.
func TargetRole(target string) (role Role, ok bool) {
	if IsSelector(target) {
		return Broker, true
	}
	return RoleOf(target)
}

// MayMeet tells whether the targets of two faults can be the same process: they
// are one word, or at least one is a selector and the other a broker. So can a
// leader and a follower: the faults may begin under different leaders.
func MayMeet(a, b string) bool {
	if a == b {
		return true
	}
	if !IsSelector(a) && !IsSelector(b) {
		return false
	}
	roleA, _ := TargetRole(a)
	roleB, _ := TargetRole(b)
	return roleA == Broker && roleB == Broker
}

// Apart tells whether two targets are two processes at every moment: two
// names, or selectors by one leader.
func Apart(a, b string) bool {
	x, selectsA := parseSelector(a)
	y, selectsB := parseSelector(b)
	switch {
	case a == b:
		return false
	case selectsA && selectsB:
		return x.metadata == y.metadata
	}
	return !MayMeet(a, b)
}

// Cluster is what a world knows of the target when faults begin.
type Cluster struct {
	Leader   string   // process that leads the partition of the workload's topic; "": none is known to
	Metadata string   // process that leads the metadata; likewise
	Brokers  []string // processes of the cluster's members, in the order of their numbers
}

// find returns the process that a target stands for now.
func (c Cluster) find(target string) (process string, ok bool) {
	of, isSelector := parseSelector(target)
	if !isSelector {
		return target, true
	}
	lead := c.Leader
	if of.metadata {
		lead = c.Metadata
	}
	if !slices.Contains(c.Brokers, lead) {
		return "", false
	}
	if of.follower == 0 {
		return lead, true
	}
	for _, b := range c.Brokers {
		if b == lead {
			continue
		}
		if of.follower--; of.follower == 0 {
			return b, true
		}
	}
	return "", false
}

// Resolve puts processes in the place of a fault's selectors: its target, its
// peer and its side. It reports false when the cluster has no such process now.
func Resolve(f Fault, c Cluster) (Fault, bool) {
	var ok bool
	if f.Target, ok = c.find(f.Target); !ok {
		return f, false
	}
	if f.Peer, ok = c.find(f.Peer); !ok || f.Peer == f.Target {
		return f, false
	}
	side := f.Side
	f.Side = nil
	for _, word := range side {
		// A member that left since the plan was made stands nowhere.
		if process, ok := c.find(word); ok {
			f.Side = append(f.Side, process)
		}
	}
	return f, true
}

// selects tells whether some selector of f has to be resolved.
func (f Fault) selects() bool { return IsSelector(f.Target) || IsSelector(f.Peer) }
