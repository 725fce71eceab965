//det:ring0

package scenarios

import (
	"fmt"
	"slices"

	"pestle/checker"
	"pestle/faults"
)

// atlasAllows refuses what the target cannot survive, where surviving it is
// required: that more brokers lose what they held than others can make up for,
// over the whole run.
func (s Scenario) atlasAllows(f faultLine, spec faults.Spec) error {
	if !spec.Loses() || onlyCorruption(s.properties) {
		return nil
	}
	lost, brokers := s.lost(), s.Target.nodes()
	if lost <= faults.Expendable(brokers) {
		return nil
	}
	return s.contradiction(f.path+".kind", "is %s, and %s: require properties: [%s], which a clean refusal meets, or leave the line out", f.kind, tooManyLost(lost, brokers), checker.NoDataCorruption)
}

// onlyCorruption tells whether no more is required than that nothing is
// delivered corrupted.
func onlyCorruption(properties []string) bool {
	return !slices.ContainsFunc(properties, func(p string) bool { return p != checker.NoDataCorruption })
}

func tooManyLost(lost, brokers int) string {
	if brokers == 1 {
		return "1 broker holds 1 copy of a message: what the medium loses is lost, and that is no fault of the broker"
	}
	return fmt.Sprintf("%d of %d brokers may lose what they held: more than %d, and what a majority loses is lost", lost, brokers, faults.Expendable(brokers))
}

// lost is how many brokers lose what they held, at most: those that the lines
// name, one more for each time of a line with a selector, and at least one where
// a broker is drawn.
func (s Scenario) lost() int {
	named, selected, drawn := s.losing()
	n := len(named) + selected
	if drawn && n == selected {
		n++
	}
	return n
}

// losing looks through the lines whose faults lose what a broker held: brokers
// they name, how often they hit a selector, and whether one draws its broker.
func (s Scenario) losing() (named []string, selected int, drawn bool) {
	for _, f := range s.faults {
		if spec, _ := faults.Find(faults.Kind(f.kind)); !spec.Loses() {
			continue
		}
		for _, target := range s.candidates(f.target) {
			switch {
			case f.target == anyBroker:
				drawn = true
			case faults.IsSelector(target):
				selected += int(f.times.hi)
			case !slices.Contains(named, target):
				named = append(named, target)
			}
			if faults.IsSelector(target) {
				break // the others are further words for one
			}
		}
	}
	return named, selected, drawn
}

// targets lists whom a fault of the line can hit. Lines that draw a broker that
// loses what it held all draw from the same few, so that over the whole run no
// more lose it than others can make up for.
func (s Scenario) targets(seed uint64, f faultLine) []string {
	all := s.candidates(f.target)
	spec, _ := faults.Find(faults.Kind(f.kind))
	if f.target != anyBroker || !spec.Loses() || onlyCorruption(s.properties) {
		return all
	}
	named, selected, _ := s.losing()
	others := without(all, named...)
	shuffle(stream(seed, []string{"target"}, "losing"), others)
	few := append(named, others...)[:faults.Expendable(len(all))-selected]
	slices.Sort(few)
	return few
}
