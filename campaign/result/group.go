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
	left := make([]*Record, 0, len(records))
	for _, r := range records {
		if r.Outcome == reports.Failed {
			left = append(left, r)
		}
	}
	var groups []group
	for len(left) > 0 {
		main := mainFingerprint(left)
		g := group{fingerprint: main}
		left = slices.DeleteFunc(left, func(r *Record) bool {
			shows := slices.Contains(fingerprints(r), main)
			if shows {
				g.runs = append(g.runs, r)
			}
			return shows
		})
		groups = append(groups, g)
	}
	return groups
}

// mainFingerprint is the one that most of the runs show.
func mainFingerprint(runs []*Record) fingerprint {
	counts := map[fingerprint]int64{}
	for _, r := range runs {
		for _, f := range fingerprints(r) {
			counts[f]++
		}
	}
	return ranked(counts)[0]
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
	counts := map[fingerprint]int64{}
	first := map[fingerprint]*Record{}
	for _, r := range g.runs {
		for _, f := range fingerprints(r) {
			if f == g.fingerprint {
				continue
			}
			if counts[f]++; first[f] == nil {
				first[f] = r
			}
		}
	}
	list := []Symptom{}
	for _, f := range ranked(counts) {
		list = append(list, Symptom{
			Property: f.property, Cause: f.cause, Runs: counts[f],
			Scenario: first[f].Scenario, Seed: first[f].Seed,
		})
	}
	return list
}

// shortest is the run that is read fastest.
func (g group) shortest() *Record {
	return slices.MinFunc(g.runs, func(a, b *Record) int {
		return cmp.Or(cmp.Compare(a.Events, b.Events), cmp.Compare(a.Elapsed, b.Elapsed))
	})
}

// violation is the group's violation in one of its runs.
func (g group) violation(r *Record) Violation {
	i := slices.IndexFunc(r.Violations, func(v Violation) bool { return v.Property == g.property && v.Cause == g.cause })
	return r.Violations[i]
}
