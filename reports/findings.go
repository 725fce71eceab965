package reports

import (
	"fmt"
	"regexp"
	"slices"

	"pestle/checker"
	"pestle/history"
	"pestle/reports/page"
	"pestle/scenarios"
)

// Bounds of the part of the page that tells violations.
const (
	maxFindings = 50
	openOnes    = 2 // of each property, unfolded from the start
	maxRelated  = 3 // other messages told beside the violating one
)

// finding is one violation with the life of its message.
type finding struct {
	Anchor  string
	Slug    string
	ID      string
	Cause   string
	Detail  string
	Open    bool
	Several bool // the life tells more than one message
	Life    []moment
	Left    int // moments left out of the middle, after the first Half
	Half    int

	t   int64    // when it was proven
	ids []string // the messages it is about, the violating one first
}

// group is the findings of one property.
type group struct {
	Slug     string
	Total    int64
	Findings []finding
	More     int64
}

// idPattern finds message ids in a violation's sentence: the other half of a
// wrong order is named only there.
var idPattern = regexp.MustCompile(`producer-[0-9]+-[0-9]+`)

// newFindings picks the violations to tell, the same number of each property
// as far as there are that many, and tells their lives.
func newFindings(plan scenarios.Plan, verdict checker.Verdict, events []history.Event, list []fault) []group {
	room := maxFindings
	take := make([]int, len(verdict.Properties))
	for progress := true; room > 0 && progress; {
		progress = false
		for i, p := range verdict.Properties {
			if room > 0 && take[i] < len(p.Violations) {
				take[i]++
				room--
				progress = true
			}
		}
	}
	var groups []group
	told := 0
	for i, p := range verdict.Properties {
		if p.Total == 0 && len(p.Violations) == 0 {
			continue
		}
		g := group{Slug: p.Slug, Total: max(p.Total, int64(len(p.Violations)))}
		for _, v := range p.Violations[:take[i]] {
			told++
			f := finding{
				Anchor: fmt.Sprintf("violation-%d", told), Slug: p.Slug, ID: page.Clip(v.ID),
				Cause: page.Clip(v.Cause), Detail: page.Clip(v.Detail), Open: len(g.Findings) < openOnes, t: v.T,
			}
			f.ids = messagesOf(v)
			f.Several = len(f.ids) > 1
			g.Findings = append(g.Findings, f)
		}
		g.More = g.Total - int64(len(g.Findings))
		groups = append(groups, g)
	}
	tellLives(groups, plan, events, list)
	return groups
}

// messagesOf returns the ids a violation is about, its own first.
func messagesOf(v checker.Violation) []string {
	var ids []string
	if v.ID != "" {
		ids = append(ids, v.ID)
	}
	for _, id := range idPattern.FindAllString(v.Detail, -1) {
		if len(ids) <= maxRelated && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// tellLives reads the history once for all findings.
func tellLives(groups []group, plan scenarios.Plan, events []history.Event, list []fault) {
	wanted := map[string][]int{} // id → its lines' indexes
	for _, g := range groups {
		for _, f := range g.Findings {
			for _, id := range f.ids {
				wanted[id] = nil
			}
		}
	}
	if len(wanted) > 0 {
		for i := range events {
			if lines, ok := wanted[events[i].ID]; ok {
				wanted[events[i].ID] = append(lines, i)
			}
		}
	}
	for gi := range groups {
		for fi := range groups[gi].Findings {
			groups[gi].Findings[fi].tell(plan, events, list, wanted)
		}
	}
}
