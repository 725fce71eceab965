//det:ring0

package scenarios

import (
	"fmt"
	"slices"
	"strings"

	"pestle/checker"
	"pestle/faults"
)

func (s Scenario) faultsFit() error {
	total := int64(0)
	for _, f := range s.faults {
		total += f.times.hi
	}
	if total > faults.MaxFaults {
		return s.contradiction("faults", "happen up to %d times together; a plan holds %d", total, faults.MaxFaults)
	}
	for i, f := range s.faults {
		if err := s.faultFits(i, f); err != nil {
			return err
		}
	}
	return nil
}

func (s Scenario) faultFits(i int, f faultLine) error {
	spec, _ := faults.Find(faults.Kind(f.kind)) // the key table has no other kinds
	err := firstError(
		s.atlasAllows(f, spec),
		s.lengthFits(f, spec),
		s.parametersFit(f, spec),
		s.targetsFit(f, spec),
	)
	if err != nil {
		return err
	}
	if f.name != "" {
		for _, o := range s.faults[:i] {
			if o.name == f.name {
				return s.contradiction(f.path+".name", "is %s like that of %s", f.name, o.path)
			}
		}
	}
	if f.after == nil {
		return nil
	}
	return s.afterFits(f)
}

// atlasAllows refuses what the target cannot survive, where surviving it is
// required.
func (s Scenario) atlasAllows(f faultLine, spec faults.Spec) error {
	copies := int64(len(s.candidates(string(faults.Broker))))
	if spec.Survivable(copies) || onlyCorruption(s.properties) {
		return nil
	}
	return s.contradiction(f.path+".kind", "is %s, and %s: require properties: [%s], which a clean refusal meets, or leave the line out", f.kind, tooFewCopies(copies), checker.NoDataCorruption)
}

// onlyCorruption tells whether no more is required than that nothing is
// delivered corrupted.
func onlyCorruption(properties []string) bool {
	return !slices.ContainsFunc(properties, func(p string) bool { return p != checker.NoDataCorruption })
}

func tooFewCopies(n int64) string {
	return fmt.Sprintf("%d broker holds %d copy of a message: what the medium loses is lost, and that is no fault of the broker", n, n)
}

func (s Scenario) lengthFits(f faultLine, spec faults.Spec) error {
	path := f.path + ".for"
	_, given := s.where[path]
	switch {
	case spec.MaxFor == 0 && given:
		return s.contradiction(path, "is not for a %s: it is over at once", f.kind)
	case spec.MaxFor == 0:
		return nil
	case !given:
		return s.contradiction(path, "is missing: %s; allowed for a %s: %s", spec.ForIs, f.kind, forBounds(spec))
	case f.length.lo < spec.MinFor || f.length.hi > spec.MaxFor:
		return s.contradiction(path, "is %s; allowed for a %s: %s", formatSpan(f.length, formatDuration), f.kind, forBounds(spec))
	}
	return nil
}

// forBounds writes the bounds of a kind's length.
func forBounds(spec faults.Spec) string {
	return formatSpan(span{spec.MinFor, spec.MaxFor}, formatDuration)
}

// parametersFit holds the parameters of a line to those of its kind.
func (s Scenario) parametersFit(f faultLine, spec faults.Spec) error {
	given := map[string]span{}
	for _, p := range f.params {
		given[p.name] = p.span
	}
	for _, name := range faults.Numbers() {
		p, takes := spec.Param(name)
		got, has := given[name]
		path := f.path + "." + name
		switch {
		case has && !takes:
			return s.contradiction(path, "is not for a %s", f.kind)
		case takes && !has && !p.Optional:
			return s.contradiction(path, "is missing: %s; allowed for a %s: %s", p.Is, f.kind, paramBounds(p))
		case has && (got.lo < p.Min || got.hi > p.Max):
			return s.contradiction(path, "is %s; allowed for a %s: %s", formatSpan(got, shapeOf(p).format()), f.kind, paramBounds(p))
		}
	}
	for _, word := range []struct{ name, value string }{{"shape", f.shape}, {"peer", f.peer}} {
		p, takes := spec.Param(word.name)
		path := f.path + "." + word.name
		switch {
		case word.value != "" && !takes:
			return s.contradiction(path, "is not for a %s", f.kind)
		case word.value == "" && takes && !p.Optional:
			return s.contradiction(path, "is missing in a %s: %s", f.kind, p.Is)
		}
	}
	return nil
}

// paramBounds writes the bounds of a numeric parameter.
func paramBounds(p faults.Param) string {
	return formatSpan(span{p.Min, p.Max}, shapeOf(p).format())
}

// targetsFit finds processes for the line's target and peer.
func (s Scenario) targetsFit(f faultLine, spec faults.Spec) error {
	if err := s.processFits(f.path+".target", f.target); err != nil {
		return err
	}
	for _, process := range s.candidates(f.target) {
		if role, _ := faults.RoleOf(process); !slices.Contains(spec.Roles, role) {
			return s.contradiction(f.path+".target", "is %s, but a %s does not apply to a %s", f.target, f.kind, role)
		}
	}
	if f.peer == "" {
		return nil
	}
	if err := s.processFits(f.path+".peer", f.peer); err != nil {
		return err
	}
	for _, process := range s.candidates(f.target) {
		if len(without(s.candidates(f.peer), process)) == 0 {
			return s.contradiction(f.path+".peer", "is %s, the target itself; name another", process)
		}
	}
	return nil
}

// processFits tells whether a word stands for processes that run during chaos.
func (s Scenario) processFits(path, word string) error {
	if len(s.candidates(word)) == 0 {
		words := s.targetWords()
		return s.contradiction(path, "is %q%s allowed: %s", word, orSemicolon(didYouMean(word, words)), strings.Join(words, ", "))
	}
	if s.workload.consumeAfterChaos && strings.HasPrefix(word, "consumer") {
		return s.contradiction(path, "is %s, but with workload.consume: after-chaos no consumer runs while faults are active", word)
	}
	return nil
}

func (s Scenario) afterFits(f faultLine) error {
	at, a := f.path+".after", f.after
	set := 0
	for _, on := range []bool{a.acks.hi > 0, a.attempts.hi > 0, a.fault != "", a.point != ""} {
		if on {
			set++
		}
	}
	if set != 1 {
		return s.contradiction(at, "has %d of acks, attempts, fault and point; write exactly one", set)
	}
	if _, counted := s.where[at+".count"]; counted && a.point == "" {
		return s.contradiction(at+".count", "is for point; acks and attempts are numbers themselves")
	}
	if a.fault != "" {
		return s.causeFits(f)
	}
	can := s.workload.acksWithin(s.phases.chaos, s.workload.rate.hi)
	if a.acks.hi > can {
		return s.contradiction(at+".acks", "is up to %d, but chaos of %s sees %d acks at most", a.acks.hi, formatDuration(s.phases.chaos), can)
	}
	// Every message may be tried again and again.
	if can *= int64(s.workload.tries); a.attempts.hi > can {
		return s.contradiction(at+".attempts", "is up to %d, but chaos of %s sees %d attempts at most", a.attempts.hi, formatDuration(s.phases.chaos), can)
	}
	return nil
}

// causeFits checks the line that f waits for.
func (s Scenario) causeFits(f faultLine) error {
	at := f.path + ".after.fault"
	var names []string
	for _, cause := range s.faults {
		if cause.name != "" {
			names = append(names, cause.name)
		}
		if cause.name != f.after.fault {
			continue
		}
		switch {
		case cause.path == f.path:
			return s.contradiction(at, "is the line itself")
		case cause.after != nil && cause.after.fault != "":
			return s.contradiction(at, "is %s, which waits for a fault itself; chains are not allowed", cause.name)
		case f.times.hi > cause.times.lo:
			return s.contradiction(f.path+".times", "is up to %d, but %s happens only %d times for sure", f.times.hi, cause.name, cause.times.lo)
		}
		// The cause still holds its target.
		for _, target := range s.candidates(cause.target) {
			if others := without(s.candidates(f.target), target); len(others) == 0 {
				return s.contradiction(f.path+".target", "is %s, but %s holds that process then; name another", target, cause.name)
			}
		}
		return nil
	}
	return s.contradiction(at, "is %q, but no line has that name%s", f.after.fault, didYouMean(f.after.fault, names))
}

// without returns the list without one of its members.
func without(list []string, member string) []string {
	var out []string
	for _, s := range list {
		if s != member {
			out = append(out, s)
		}
	}
	return out
}
