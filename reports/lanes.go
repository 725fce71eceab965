package reports

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"unicode"

	"pestle/history"
	"pestle/reports/page"
)

// lanes adds a lane for each target a fault or an exit of its own hit.
func (t *timeline) lanes(s scale, events []history.Event, list []fault) {
	byTarget := map[string][]mark{}
	kinds := map[string]bool{}
	drawn, left := 0, 0
	add := func(target string, m mark) {
		if drawn == maxMarks {
			left++
			return
		}
		drawn++
		byTarget[target] = append(byTarget[target], m)
	}
	end := s.origin + s.length()
	for _, f := range list {
		if !f.effective {
			continue
		}
		kinds[f.Kind] = true
		to := f.to
		if !f.ended {
			to = end
		}
		add(f.Target, mark{
			X: s.at(f.from), W: s.percent(to - f.from), Class: kindClass(f.Kind), Label: kindLetter(f.Kind) + strconv.Itoa(f.Ref),
			Title: page.Clip(fmt.Sprintf("%s %d of %s at %s, for %s", f.Kind, f.Ref, f.Target, page.Clock(f.from-s.origin), f.Length)),
			Href:  "#" + f.Anchor,
		})
	}
	for i := range events {
		if e := &events[i]; e.Ev == history.Note && e.What == history.NoteExited {
			kinds["exit"] = true
			add(e.Target, mark{
				X: s.at(e.T), W: "0", Class: kindClass("exit"), Label: kindLetter("exit"),
				Title: page.Clip(fmt.Sprintf("%s exited by itself at %s: %s", e.Target, page.Clock(e.T-s.origin), e.Text)),
			})
		}
	}
	targets := make([]string, 0, len(byTarget))
	for target := range byTarget {
		targets = append(targets, target)
	}
	slices.Sort(targets)
	for _, target := range targets {
		if len(t.Lanes) == maxLanes {
			left += len(byTarget[target])
			continue
		}
		t.Lanes = append(t.Lanes, lane{Name: page.Clip(target), Marks: byTarget[target]})
	}
	for kind := range kinds {
		t.Kinds = append(t.Kinds, key{Name: page.Clip(kind), Letter: kindLetter(kind), Class: kindClass(kind)})
	}
	slices.SortFunc(t.Kinds, func(a, b key) int { return cmp.Compare(a.Name, b.Name) })
	if left > 0 {
		t.Left = page.Counted(int64(left), "more fault mark") + " not drawn; faults.ndjson has them all"
	}
}

// kindClass names the style of a fault kind; kinds without one of their own
// share one.
func kindClass(kind string) string {
	switch kind {
	case "kill", "stop", "pause", "exit":
		return kind
	}
	return "other"
}

// kindLetter marks a fault kind in a lane, so that it is not told by colour
// alone. An exit nobody asked for is an X.
func kindLetter(kind string) string {
	if kind == "exit" {
		return "X"
	}
	for _, r := range kind {
		return string(unicode.ToUpper(r))
	}
	return ""
}
