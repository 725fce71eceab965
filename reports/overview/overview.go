package overview

import (
	_ "embed" // the page's template
	"fmt"
	"path/filepath"
	"strings"

	"pestle/campaign/rate"
	"pestle/campaign/result"
	"pestle/reports"
	"pestle/reports/page"
)

// Bounds of the page; campaign.json has everything.
const (
	maxFindings = 100
	maxReasons  = 50
	maxSymptoms = 10 // other fingerprints told with one finding
)

//go:embed campaign.html.tmpl
var campaignText string

var campaignPage = page.Parse("campaign", campaignText)

// Write writes report.html into the campaign's directory. A reader sees the old
// page or the new one, never a part.
func Write(dir string, c result.Campaign) error {
	content, err := render(c)
	if err != nil {
		return fmt.Errorf("write the report of the campaign in %s: %w", dir, err)
	}
	return page.Replace(filepath.Join(dir, reports.ReportName), content)
}

// view is what the page shows.
type view struct {
	page.Look
	result.Campaign

	Outcome, Word, Glyph string
	Headline             string
	Which                string
	Tiles                []tile
	BoundWords           string
	Told                 []finding
	MoreFindings         int
	Doubts, Broken       reasons
	Curve                *curve // nil where no state was met
	ReachedShare         int64  // parts per million of the points
	Facts                []fact
}

type tile struct{ Number, Name string }

type fact struct{ Name, Text string }

// finding is one finding with what the page says of it in words.
type finding struct {
	result.Finding
	Anchor string
	Rate   string
	Where  []string // the rate in each scenario; empty when there is only one
	Also   []result.Symptom
	More   int // symptoms that are not told
	Shrunk string
	Runs   []example
}

// example is one run to look at.
type example struct {
	result.Example
	Name string
	Size string
}

// reasons are grouped endings of runs.
type reasons struct {
	Heading string
	List    []result.Reason
	More    int
}

func render(c result.Campaign) ([]byte, error) {
	outcome := string(c.Status)
	v := view{
		Look: page.NewLook(), Campaign: c,
		Outcome: outcome, Word: page.StatusWord(outcome), Glyph: page.Glyph(outcome),
		Headline: page.Clip(headline(c)), Which: page.Clip(which(c)), Tiles: tiles(c),
		BoundWords:   page.UpperFirst(c.Bound.Text),
		MoreFindings: max(0, len(c.Findings)-maxFindings),
		Doubts:       newReasons("Inconclusive, and why", c.Inconclusive),
		Broken:       newReasons("The harness failed", c.HarnessErrors),
		Curve:        newCurve(c.Cover.Curve),
		Facts:        facts(c),
	}
	for i, f := range c.Findings[:min(len(c.Findings), maxFindings)] {
		v.Told = append(v.Told, tell(i, f))
	}
	if n := int64(len(c.Cover.Points)); n > 0 {
		v.ReachedShare = c.Cover.Reached * 1_000_000 / n
	}
	return page.Render(campaignPage, v)
}

// asked is how many runs the campaign is to have.
func asked(c result.Campaign) int64 { return int64(c.Seeds) * int64(len(c.Scenarios)) }

// headline is the campaign in one sentence.
func headline(c result.Campaign) string {
	r := c.Runs
	if r.Done == 0 {
		return "No run was finished: " + endedWords(c) + "."
	}
	var parts []string
	if r.Failed > 0 {
		parts = append(parts, fmt.Sprintf("%s failed, in %s", page.Number(r.Failed), page.Counted(int64(len(c.Findings)), "finding")))
	} else {
		parts = append(parts, "none failed")
	}
	parts = append(parts, page.Number(r.Passed)+" passed")
	if r.Inconclusive > 0 {
		parts = append(parts, page.Number(r.Inconclusive)+" were inconclusive")
	}
	if r.HarnessError > 0 {
		parts = append(parts, "in "+page.Number(r.HarnessError)+" the harness itself failed")
	}
	done := page.Counted(r.Done, "run")
	if r.Done < asked(c) {
		done = fmt.Sprintf("%s of %s (%s)", page.Number(r.Done), page.Counted(asked(c), "run"), endedWords(c))
	}
	return "Of " + done + " " + strings.Join(parts, ", ") + "."
}

func endedWords(c result.Campaign) string {
	switch c.Ended {
	case result.EndedBudget:
		return "the time was up"
	case result.EndedFinding:
		return "stopped at the first finding"
	case result.EndedInterrupted:
		return "interrupted"
	}
	return "done"
}

// which names the seeds.
func which(c result.Campaign) string {
	switch {
	case c.Seeds == 0:
		return "no seed"
	case len(c.Scenarios) > 1:
		return fmt.Sprintf("seeds %d to %d of each", c.From, c.From+c.Seeds-1)
	}
	return fmt.Sprintf("seeds %d to %d", c.From, c.From+c.Seeds-1)
}

func tiles(c result.Campaign) []tile {
	return []tile{
		{page.Number(c.Runs.Done), "of " + page.Counted(asked(c), "run") + " done"},
		{page.Number(c.Runs.Passed), "passed"},
		{page.Number(c.Runs.Failed), "failed"},
		{page.Number(c.Runs.Inconclusive), "inconclusive"},
		{page.Number(c.Runs.HarnessError), "failed of the harness"},
		{page.Number(int64(len(c.Findings))), "distinct findings"},
	}
}

func tell(i int, f result.Finding) finding {
	told := finding{
		Finding: f, Anchor: fmt.Sprintf("finding-%d", i+1),
		Rate: rateWords(f.Rate),
		Also: f.AlsoSeen[:min(len(f.AlsoSeen), maxSymptoms)], More: max(0, len(f.AlsoSeen)-maxSymptoms),
		Shrunk: shrunkWords(f.Story),
		Runs:   []example{{Example: f.First, Name: "First", Size: sizeWords(f.First)}},
	}
	if len(f.PerWhere) > 1 {
		for _, w := range f.PerWhere {
			told.Where = append(told.Where, page.Clip(w.Scenario)+": "+rateWords(w.Rate))
		}
	}
	if f.Shortest.Scenario != f.First.Scenario || f.Shortest.Seed != f.First.Seed {
		told.Runs = append(told.Runs, example{Example: f.Shortest, Name: "Shortest", Size: sizeWords(f.Shortest)})
	} else {
		told.Runs[0].Name = "First and shortest"
	}
	return told
}

func sizeWords(e result.Example) string {
	if e.Events == 0 {
		return page.Span(e.Elapsed)
	}
	return page.Counted(int64(e.Events), "event") + ", " + page.Span(e.Elapsed)
}

// shrunkWords is what became of the attempt to find a smaller run.
func shrunkWords(s *result.Story) string {
	switch {
	case s == nil:
		return ""
	case s.Error != "":
		return "It could not be shrunk: " + page.Clip(s.Error)
	}
	return fmt.Sprintf("Shrunk from %s and %s to %s and %s",
		page.Counted(int64(s.WasFaults), "fault"), page.Counted(int64(s.WasMessages), "message"),
		page.Counted(int64(s.Faults), "fault"), page.Counted(int64(s.Messages), "message"))
}

func newReasons(heading string, list []result.Reason) reasons {
	return reasons{Heading: heading, List: list[:min(len(list), maxReasons)], More: max(0, len(list)-maxReasons)}
}

func facts(c result.Campaign) []fact {
	env, t := c.Environment, c.Throughput
	list := []fact{
		{"started", c.Started},
		{"ended", endedWords(c)},
		{"settings", strings.Join(c.Settings, ", ")},
		{"workers", page.Number(int64(t.Workers))},
		{"speed", fmt.Sprintf("%s in %s, %s a minute", page.Counted(t.Runs, "run"), page.Span(t.Elapsed), page.Number(t.PerMinute))},
		{"work", page.Span(t.Worked) + " of the workers, over all runs"},
		{"simulated", simulatedWords(c)},
		{"repeated", repeatedWords(c)},
		{"pestle", env.Pestle},
		{"machine", fmt.Sprintf("%s/%s, %s", env.OS, env.Arch, page.Counted(int64(env.CPUs), "CPU"))},
		{"go", env.Go},
	}
	shown := list[:0]
	for _, f := range list {
		if f.Text != "" {
			shown = append(shown, fact{f.Name, page.Clip(f.Text)})
		}
	}
	return shown
}

func simulatedWords(c result.Campaign) string {
	if c.Throughput.Events == 0 {
		return ""
	}
	return page.Span(c.Throughput.Simulated) + " of virtual time, " + page.Counted(c.Throughput.Events, "event")
}

func repeatedWords(c result.Campaign) string {
	if c.Determinism.Repeated == 0 {
		return ""
	}
	return fmt.Sprintf("%s run twice, of which %s went differently", page.Number(c.Determinism.Repeated), page.Number(c.Determinism.Diverged))
}

// rateWords writes a rate with its interval.
func rateWords(r rate.Rate) string {
	return fmt.Sprintf("%s of %s, %s; 95 %% interval %s to %s", page.Number(r.K), page.Counted(r.N, "run"), page.Share(r.Share()), page.Share(r.Low), page.Share(r.High))
}
