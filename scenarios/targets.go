//det:ring0

package scenarios

import (
	"fmt"
	"slices"
	"strings"

	"pestle/faults"
)

// Words of a fault line's target that stand for several brokers at once.
const (
	allBrokers   = "brokers"  // every one
	mostBrokers  = "majority" // a bare majority, drawn
	anyFollower  = "follower"
	anyMetadata  = "metadata-follower"
	anyBroker    = string(faults.Broker)
	anyProducer  = string(faults.Producer)
	anyConsumer  = string(faults.Consumer)
	ofOneChannel = "consumer-"
)

// brokers is how many brokers the target has.
func (t Target) nodes() int { return max(1, t.Nodes) }

// brokers lists the names of the target's brokers.
func (t Target) brokers() []string {
	var names []string
	for n := 1; n <= t.nodes(); n++ {
		names = append(names, brokerName(n))
	}
	return names
}

// clustered tells whether the target has several brokers.
func (t Target) clustered() bool { return t.nodes() > 1 }

// selectors lists the words that stand for each of the brokers once, by who
// leads: the leader first. They are all of one family: of the metadata, or not.
func (t Target) selectors(metadata bool) []string {
	lead, follower := faults.Leader, faults.Follower
	if metadata {
		lead, follower = faults.MetadataLeader, faults.MetadataFollower
	}
	words := []string{lead}
	for n := 1; n < t.nodes(); n++ {
		words = append(words, follower(n))
	}
	return words
}

// family lists the words for all brokers that target, a broker, is one of: names
// or selectors.
func (t Target) family(target string) []string {
	for _, metadata := range []bool{false, true} {
		if words := t.selectors(metadata); slices.Contains(words, target) {
			return words
		}
	}
	return t.brokers()
}

// of returns the scenario for seeds whose target has so many brokers.
func (s Scenario) of(nodes int64) Scenario {
	s.Target.Nodes = 0 // one has one form
	if nodes > 1 {
		s.Target.Nodes = int(nodes)
	}
	return s
}

// candidates lists whom a fault line's target or peer can stand for, one of
// which is drawn: a process by its name; any of a role (producer) or of a
// channel's consumers (consumer-ordered); of a cluster, a selector by its name
// or any follower. For those words that mean several brokers at once it lists
// all brokers. Nothing fits when it is empty.
func (s Scenario) candidates(target string) []string {
	t := s.Target
	switch {
	case !t.clustered():
	case target == allBrokers || target == mostBrokers:
		return t.brokers()
	case target == anyFollower:
		return t.selectors(false)[1:]
	case target == anyMetadata:
		return t.selectors(true)[1:]
	case slices.Contains(t.selectors(false), target) || slices.Contains(t.selectors(true), target):
		return []string{target}
	}
	var out []string
	for _, name := range s.processes() {
		if name == target {
			return []string{name}
		}
		if roleOrChannel(name, s.workload.channels, target) {
			out = append(out, name)
		}
	}
	return out
}

func roleOrChannel(process string, channels []channel, target string) bool {
	switch target {
	case anyBroker, anyProducer, anyConsumer:
		return len(process) > len(target) && process[:len(target)+1] == target+"-"
	}
	for _, c := range channels {
		if target != ofOneChannel+c.name {
			continue
		}
		for n := 1; n <= c.consumers; n++ {
			if process == consumerName(c.name, n) {
				return true
			}
		}
	}
	return false
}

// several tells whether a target stands for several brokers at once.
func several(target string) bool { return target == allBrokers || target == mostBrokers }

// clusterWords lists what a target can be only where there are several brokers.
func clusterWords() []string {
	return []string{faults.Leader, anyFollower, faults.MetadataLeader, anyMetadata, allBrokers, mostBrokers}
}

// targetWords lists what a fault line's target can be.
func (s Scenario) targetWords() []string {
	words := []string{anyBroker, anyProducer, anyConsumer}
	for _, c := range s.workload.channels {
		words = append(words, ofOneChannel+c.name)
	}
	if s.Target.clustered() {
		words = append(words, clusterWords()...)
		words = append(words, s.Target.selectors(false)[1:]...)
	}
	return append(words, s.processes()...)
}

// targetsFit finds processes for the line's target and peer.
func (s Scenario) targetsFit(f faultLine, spec faults.Spec) error {
	path := f.path + ".target"
	if spec.Cluster && !s.Target.clustered() {
		return s.contradiction(f.path+".kind", "is %s, which needs other brokers beside the target: set target.nodes", f.kind)
	}
	if err := s.processFits(path, f.target); err != nil {
		return err
	}
	for _, target := range s.candidates(f.target) {
		if role, _ := faults.TargetRole(target); !slices.Contains(spec.Roles, role) {
			return s.contradiction(path, "is %s, but a %s does not apply to a %s", f.target, f.kind, role)
		}
	}
	if several(f.target) && (f.peer != "" || f.shape != "") {
		return s.contradiction(path, "is %s; a fault between processes has one target", f.target)
	}
	if f.peer == "" {
		return nil
	}
	return s.peerFits(f, spec)
}

func (s Scenario) peerFits(f faultLine, spec faults.Spec) error {
	path := f.path + ".peer"
	if err := s.processFits(path, f.peer); err != nil {
		return err
	}
	if several(f.peer) {
		return s.contradiction(path, "is %s; leave it out for every other process", f.peer)
	}
	for _, peer := range s.candidates(f.peer) {
		if role, _ := faults.TargetRole(peer); spec.Among != "" && role != spec.Among {
			return s.contradiction(path, "is %s, but a %s is among %ss only", f.peer, f.kind, spec.Among)
		}
	}
	for _, target := range s.candidates(f.target) {
		switch peers := without(s.candidates(f.peer), target); {
		case len(peers) == 0:
			return s.contradiction(path, "is %s, the target itself; name another", target)
		case len(apart(peers, target)) == 0:
			return s.contradiction(path, "is %s, and the target %s, which can be one broker; name two that are always apart, such as %s and %s", f.peer, f.target, faults.Leader, anyFollower)
		}
	}
	return nil
}

// apart lists the peers that are never the target itself.
func apart(peers []string, target string) []string {
	return slices.DeleteFunc(without(peers), func(peer string) bool { return !faults.Apart(peer, target) })
}

// processFits tells whether a word stands for processes that run during chaos.
func (s Scenario) processFits(path, word string) error {
	if !s.Target.clustered() && slices.Contains(clusterWords(), word) || faults.IsSelector(word) && !s.Target.clustered() {
		return s.contradiction(path, "is %s, but the target has one broker: set target.nodes", word)
	}
	if len(s.candidates(word)) == 0 {
		words := s.targetWords()
		of := ""
		if role, _ := faults.TargetRole(word); role == faults.Broker && len(s.nodes) > 1 {
			of = fmt.Sprintf(" with %d brokers", s.Target.nodes())
		}
		return s.contradiction(path, "is %q%s%s allowed: %s", word, of, orSemicolon(didYouMean(word, words)), strings.Join(words, ", "))
	}
	if s.workload.consumeAfterChaos && strings.HasPrefix(word, anyConsumer) {
		return s.contradiction(path, "is %s, but with workload.consume: after-chaos no consumer runs while faults are active", word)
	}
	return nil
}

// shapeFits finds shapes that split nobody.
func (s Scenario) shapeFits(f faultLine) error {
	if f.shape == "" {
		return nil
	}
	form, _ := faults.FindShape(faults.Shape(f.shape)) // the key table has no other shapes
	path := f.path + ".shape"
	for _, target := range s.candidates(f.target) {
		among := s.among(form.Shape, target)
		switch {
		case form.Brokers && !s.Target.clustered():
			return s.contradiction(path, "is %s, but the target has one broker: set target.nodes", f.shape)
		case form.Brokers && among == "":
			return s.contradiction(path, "is %s, which is about brokers; the target is %s", f.shape, f.target)
		case form.Shape == faults.Ring && among != "" && s.Target.nodes() < fewestInRing:
			return s.contradiction(path, "is %s, but of %d brokers each is beside all others; it needs %d", f.shape, s.Target.nodes(), fewestInRing)
		}
	}
	return nil
}

// fewestInRing is how many have to stand in a circle for some to be apart.
const fewestInRing = 4
