//det:ring0

package scenarios

import (
	"slices"
	"strings"

	"pestle/faults"
)

// faultsFitEveryNumber holds the mix to each number of brokers that a seed can
// draw.
func (s Scenario) faultsFitEveryNumber() error {
	for _, n := range s.nodes {
		if err := s.of(n).faultsFit(); err != nil {
			return err
		}
	}
	return nil
}

func (s Scenario) faultsFit() error {
	total := int64(0)
	for _, f := range s.faults {
		each := int64(1)
		if several(f.target) {
			each = int64(s.Target.nodes())
		}
		total += each * f.times.hi
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
		s.lengthFits(f, spec),
		s.parametersFit(f, spec),
		s.targetsFit(f, spec),
		s.shapeFits(f),
		s.atlasAllows(f, spec),
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

func (s Scenario) lengthFits(f faultLine, spec faults.Spec) error {
	path := f.path + ".for"
	given := s.gives(path)
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
	if s.gives(at+".count") && a.point == "" {
		return s.contradiction(at+".count", "is for point; acks and attempts are numbers themselves")
	}
	if err := s.passerFits(at+".process", a); err != nil {
		return err
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
		return s.besideFits(f, cause)
	}
	return s.contradiction(at, "is %q, but no line has that name%s", f.after.fault, didYouMean(f.after.fault, names))
}

// besideFits looks at whom f can hit while what it waits for is still on: that
// one holds its target, and may have taken as many brokers away as may be. What
// ends a broker while its disk is rotten hits that one.
func (s Scenario) besideFits(f, cause faultLine) error {
	held := s.candidates(cause.target)
	if faults.Together(faults.Kind(f.kind), faults.Kind(cause.kind)) && len(without(held, s.candidates(f.target)...)) == 0 {
		return nil
	}
	for _, target := range held {
		others := without(s.candidates(f.target), target)
		if several(cause.target) && slices.Contains(s.Target.brokers(), target) {
			others = without(s.candidates(f.target), s.Target.brokers()...)
		}
		if len(others) == 0 {
			return s.contradiction(f.path+".target", "is %s, but %s holds that process then; name another", f.target, cause.name)
		}
	}
	if n := s.Target.nodes(); s.takesAway(f) && s.takesAway(cause) && faults.Expendable(n) < 2 {
		return s.contradiction(f.path+".after.fault", "is %s, which takes a broker of %d away as this line does, and so many are not away at once; say target: %s in one line instead", cause.name, n, mostBrokers)
	}
	return nil
}

// takesAway tells whether a line takes brokers of a cluster away.
func (s Scenario) takesAway(f faultLine) bool {
	spec, _ := faults.Find(faults.Kind(f.kind))
	return s.Target.clustered() && spec.TakesAway && slices.ContainsFunc(s.candidates(f.target), func(target string) bool {
		role, _ := faults.TargetRole(target)
		return role == faults.Broker
	})
}

// passerFits looks at who has to pass a point.
func (s Scenario) passerFits(path string, a *afterLine) error {
	words := append(s.Target.brokers(), faults.AnyProcess)
	switch {
	case a.process == "":
	case a.point == "":
		return s.contradiction(path, "is for point")
	case !slices.Contains(words, a.process):
		return s.contradiction(path, "is %q%s allowed: %s", a.process, orSemicolon(didYouMean(a.process, words)), strings.Join(words, ", "))
	}
	return nil
}

// without returns the list without some of its members.
func without(list []string, members ...string) []string {
	var out []string
	for _, s := range list {
		if !slices.Contains(members, s) {
			out = append(out, s)
		}
	}
	return out
}
