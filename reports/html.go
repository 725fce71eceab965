package reports

import (
	_ "embed" // the page's template
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"pestle/checker"
	"pestle/history"
	"pestle/reports/page"
	"pestle/scenarios"
)

// ReportName is the report's file name in a run directory.
const ReportName = "report.html"

//go:embed run.html.tmpl
var runText string

var runPage = page.Parse("run", runText)

// WriteHTML writes report.html into the run directory. The events are the
// merged history, in order. The page lists the files it finds beside itself,
// so it is written last. A reader sees the old file or the new one, never a
// part.
func WriteHTML(dir string, run Run, plan scenarios.Plan, verdict checker.Verdict, events []history.Event) error {
	files, err := listFiles(dir)
	if err != nil {
		return fmt.Errorf("write the report of run %s: %w", run.ID, err)
	}
	content, err := render(run, plan, verdict, events, files)
	if err != nil {
		return fmt.Errorf("write the report of run %s: %w", run.ID, err)
	}
	return page.Replace(filepath.Join(dir, ReportName), content)
}

// view is what the page shows.
type view struct {
	page.Look

	Run      Run
	Outcome  string
	Word     string
	Glyph    string
	Headline string
	Tiles    []tile

	Properties []propertyView
	Claims     []checker.Claim
	Timeline   *timeline // nil when the history is empty
	Sequence   *sequence // nil when there is no violation or no story of it
	Groups     []group
	Faults     []fault
	MoreFaults int
	Facts      []fact
	Files      []file
}

type tile struct{ Number, Name string }

type fact struct{ Name, Text string }

type propertyView struct {
	Slug, Statement, Class string
	Required               bool
	Status, Word, Glyph    string
	Reason                 string
	Exposure               []exposed
	Violations             int64
	Anchor                 string // of its first violation told; empty for none
}

type exposed struct {
	Count   string
	Name    string
	Missing bool // nothing of it was seen, which may be what the verdict lacks
}

func render(run Run, plan scenarios.Plan, verdict checker.Verdict, events []history.Event, files []file) ([]byte, error) {
	outcome := string(run.Outcome(verdict))
	rows := faultRows(plan, run.FaultLog, events)
	v := view{
		Look: page.NewLook(),
		Run:  run, Outcome: outcome, Word: page.StatusWord(outcome), Glyph: page.Glyph(outcome), Headline: page.Clip(headline(run, verdict)),
		Tiles:  tiles(events, rows),
		Claims: verdict.Claims,
		Groups: newFindings(plan, verdict, events, rows),
		Faults: rows[:min(len(rows), maxFaultRows)], MoreFaults: max(0, len(rows)-maxFaultRows),
		Facts: facts(run, plan),
		Files: files,
	}
	anchors := map[string]string{}
	var found []finding
	for _, g := range v.Groups {
		found = append(found, g.Findings...)
		if len(g.Findings) > 0 {
			anchors[g.Slug] = g.Findings[0].Anchor
		}
	}
	if len(events) > 0 {
		t := newTimeline(events, rows, found)
		v.Timeline = &t
		v.Sequence = newSequence(plan, verdict, run.Story, events[0].T)
	}
	for _, p := range verdict.Properties {
		v.Properties = append(v.Properties, viewProperty(p, anchors[p.Slug]))
	}
	return page.Render(runPage, v)
}

func viewProperty(p checker.Property, anchor string) propertyView {
	v := propertyView{
		Slug: p.Slug, Statement: statement(p.Slug), Class: string(p.Class), Required: p.Required,
		Status: string(p.Status), Word: page.StatusWord(string(p.Status)), Glyph: page.Glyph(string(p.Status)),
		Reason: page.Clip(p.Reason), Violations: p.Total, Anchor: anchor,
	}
	for _, name := range exposureNames(p.Exposure) {
		v.Exposure = append(v.Exposure, exposed{Count: page.Number(p.Exposure[name]), Name: name, Missing: p.Exposure[name] == 0 && p.Status == checker.Inconclusive})
	}
	return v
}

// statement is what a property of the catalog promises, for those who do not
// know its slug; it is empty for a property that the catalog does not hold.
func statement(slug string) string {
	for _, entry := range checker.Catalog() {
		if entry.Slug == slug {
			return entry.Statement
		}
	}
	return ""
}

func tiles(events []history.Event, rows []fault) []tile {
	t := count(events)
	hit := int64(0)
	for _, f := range rows {
		if f.effective {
			hit++
		}
	}
	return []tile{
		{page.Number(t.Acked), "messages acked"},
		{page.Number(t.Consumes), "deliveries"},
		{page.Number(t.Unknowns), "sends with unknown outcome"},
		{page.Number(t.Fails), "sends refused"},
		{page.Number(hit) + " of " + page.Number(int64(len(rows))), "faults took effect"},
		{page.Number(quietWindows(events)), "quiet windows"},
	}
}

func facts(run Run, plan scenarios.Plan) []fact {
	env := run.Environment
	list := []fact{
		{"run", run.ID},
		{"started", run.Started},
		{"took", page.Span(run.Elapsed)},
		{"scenario", run.Scenario},
		{"seed", strconv.FormatUint(run.Seed, 10)},
		{"plan", run.PlanHash},
		{"trace", run.TraceHash},
		{"world", run.World},
		{"target", targetWords(plan, env)},
		{"producers", producerWords(plan)},
		{"consumers", consumerWords(plan)},
		{"first ack after", FailoverWords(run.Failovers)},
		{"pestle", env.Pestle},
		{"machine", machineWords(env)},
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

func targetWords(plan scenarios.Plan, env Environment) string {
	var words []string
	for _, part := range []struct{ name, text string }{
		{"", plan.Target.Kind},
		{"version ", env.Target},
		{"durability ", plan.Target.Durability},
		{"flags ", strings.Join(plan.Target.Flags, " ")},
		{"already running at ", plan.Target.Address},
	} {
		if part.text != "" {
			words = append(words, part.name+part.text)
		}
	}
	return strings.Join(words, ", ")
}

func producerWords(plan scenarios.Plan) string {
	if len(plan.Workload.Producers) == 0 {
		return ""
	}
	mode := "at least once, up to " + page.Counted(int64(plan.Workload.Tries), "try") + " a message"
	if plan.Workload.AtMostOnce {
		mode = "at most once"
	}
	var rates int64 // messages per 1,000 s
	for _, p := range plan.Workload.Producers {
		if p.Interval > 0 {
			rates += 1_000 * second / p.Interval
		}
	}
	return fmt.Sprintf("%d, %s messages/s together, to topic %s, %s", len(plan.Workload.Producers),
		page.Number((rates+500)/1_000), plan.Workload.Topic, mode)
}

func consumerWords(plan scenarios.Plan) string {
	var channels []string
	n := map[string]int{}
	for _, c := range plan.Workload.Consumers {
		if n[c.Channel] == 0 {
			channels = append(channels, c.Channel)
		}
		n[c.Channel]++
	}
	for i, channel := range channels {
		channels[i] = fmt.Sprintf("%d on channel %s", n[channel], channel)
	}
	return strings.Join(channels, ", ")
}

func machineWords(env Environment) string {
	if env.OS == "" && env.Arch == "" && env.CPUs == 0 {
		return ""
	}
	return fmt.Sprintf("%s/%s, %s", env.OS, env.Arch, page.Counted(int64(env.CPUs), "CPU"))
}
