package result

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"pestle/checker"
	"pestle/reports"
)

// fingerprint is what one finding has in common.
type fingerprint struct{ property, cause string }

// name is its short form, for file names and tables.
func (f fingerprint) name() string {
	sum := sha256.Sum256([]byte(f.property + "\n" + f.cause))
	return hex.EncodeToString(sum[:4])
}

// fingerprints are those that a run shows.
func fingerprints(r *Record) []fingerprint {
	var list []fingerprint
	for _, v := range r.Violations {
		if f := (fingerprint{v.Property, v.Cause}); !slices.Contains(list, f) {
			list = append(list, f)
		}
	}
	return list
}

// group is one finding in the making: the failing runs filed under it.
type group struct {
	fingerprint
	runs []*Record
}

// filed groups failing runs by the rule of the package comment. The runs stay
// in their order.
func filed(records []*Record) []group {
	failing := make([]*Record, 0, len(records))
	for _, r := range records {
		if r.Outcome == reports.Failed {
			failing = append(failing, r)
		}
	}
	var groups []group
	for left := failing; len(left) > 0; {
		main := ranked(counted(left))[0]
		family := append(echoes(main, failing), main)
		g := group{fingerprint: main}
		var rest []*Record
		for _, r := range left {
			if shows(r, main) || within(r, family) {
				g.runs = append(g.runs, r)
			} else {
				rest = append(rest, r)
			}
		}
		groups, left = append(groups, g), rest
	}
	return groups
}

// echoes are the fingerprints that are no findings beside this one, also in a
// run that does not show it.
func echoes(main fingerprint, failing []*Record) []fingerprint {
	total, beside := counted(failing), map[fingerprint]int64{}
	for _, r := range failing {
		if shows(r, main) {
			for _, f := range fingerprints(r) {
				beside[f]++
			}
		}
	}
	var list []fingerprint
	for _, f := range ranked(beside) {
		kin := f.property == main.property || classOf(f.property) == checker.Liveness
		if f != main && kin && 2*beside[f] >= total[f] {
			list = append(list, f)
		}
	}
	return list
}

func shows(r *Record, f fingerprint) bool { return slices.Contains(fingerprints(r), f) }

// within tells whether a run shows nothing but these.
func within(r *Record, family []fingerprint) bool {
	return !slices.ContainsFunc(fingerprints(r), func(f fingerprint) bool { return !slices.Contains(family, f) })
}

// counted is how many of the runs show each fingerprint.
func counted(runs []*Record) map[fingerprint]int64 {
	counts := map[fingerprint]int64{}
	for _, r := range runs {
		for _, f := range fingerprints(r) {
			counts[f]++
		}
	}
	return counts
}

// ranked lists fingerprints by their counts, the highest first; of equals a
// safety property before a liveness one, then in catalog order, then by cause.
func ranked(counts map[fingerprint]int64) []fingerprint {
	list := make([]fingerprint, 0, len(counts))
	for f := range counts {
		list = append(list, f)
	}
	place := catalogPlaces()
	slices.SortFunc(list, func(a, b fingerprint) int {
		return cmp.Or(
			cmp.Compare(counts[b], counts[a]),
			cmp.Compare(place[a.property], place[b.property]),
			cmp.Compare(a.property, b.property),
			cmp.Compare(a.cause, b.cause),
		)
	})
	return list
}

// catalogPlaces orders properties: safety first, then as in the catalog.
func catalogPlaces() map[string]int {
	places := map[string]int{}
	catalog := checker.Catalog()
	for i, entry := range catalog {
		places[entry.Slug] = i
		if entry.Class == checker.Liveness {
			places[entry.Slug] += len(catalog)
		}
	}
	return places
}

// alsoSeen counts what else the runs of a group show.
func (g group) alsoSeen() []Symptom {
	list := []Symptom{}
	for _, f := range ranked(counted(g.runs)) {
		if f == g.fingerprint {
			continue
		}
		s := Symptom{Property: f.property, Cause: f.cause}
		for _, r := range g.runs {
			if !shows(r, f) {
				continue
			}
			if s.Runs++; s.Runs == 1 {
				s.Scenario, s.Seed = r.Scenario, r.Seed
			}
			if !shows(r, g.fingerprint) {
				s.Alone++
			}
		}
		list = append(list, s)
	}
	return list
}

// clear are the runs that show the fingerprint itself.
func (g group) clear() []*Record {
	return slices.DeleteFunc(slices.Clone(g.runs), func(r *Record) bool { return !shows(r, g.fingerprint) })
}

// shortest is the run that is read fastest.
func shortest(runs []*Record) *Record {
	return slices.MinFunc(runs, func(a, b *Record) int {
		return cmp.Or(cmp.Compare(a.Events, b.Events), cmp.Compare(a.Elapsed, b.Elapsed))
	})
}

// violation is the group's violation in a run that shows it.
func (g group) violation(r *Record) Violation {
	i := slices.IndexFunc(r.Violations, func(v Violation) bool { return v.Property == g.property && v.Cause == g.cause })
	return r.Violations[i]
}
