package reports

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // the page's three parts
	"encoding/base64"
	"fmt"
	"html/template"
	"path/filepath"
	"strconv"
	"strings"

	"pestle/checker"
	"pestle/history"
	"pestle/scenarios"
)

// ReportName is the report's file name in a run directory.
const ReportName = "report.html"

//go:embed page.html.tmpl
var pageText string

//go:embed style.css
var styleText string

//go:embed script.js
var scriptText string

var pageTemplate = template.Must(template.New("report").Parse(pageText))

// policy forbids the page every request and all code but its own two parts.
// A message id or error of the system under test that got past the escaping
// could still do nothing.
var policy = fmt.Sprintf("default-src 'none'; base-uri 'none'; form-action 'none'; style-src 'sha256-%s'; script-src 'sha256-%s'",
	digest(styleText), digest(scriptText))

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// WriteHTML writes report.html into the run directory. The events are the
// merged history, in order. The page lists the files it finds beside itself,
// so it is written last. A reader sees the old file or the new one, never a
// part.
func WriteHTML(dir string, run Run, plan scenarios.Plan, verdict checker.Verdict, events []history.Event) error {
	files, err := listFiles(dir)
	if err != nil {
		return fmt.Errorf("write the report of run %s: %w", run.ID, err)
	}
	page, err := render(run, plan, verdict, events, files)
	if err != nil {
		return fmt.Errorf("write the report of run %s: %w", run.ID, err)
	}
	return writeFile(filepath.Join(dir, ReportName), page)
}

// view is what the page shows.
type view struct {
	Style  template.CSS
	Script template.JS
	Policy string

	Run      Run
	Outcome  string
	Word     string
	Glyph    string
	Headline string
	Tiles    []tile

	Properties []propertyView
	Claims     []checker.Claim
	Timeline   *timeline // nil when the history is empty
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
		Style: template.CSS(styleText), Script: template.JS(scriptText), Policy: policy,
		Run: run, Outcome: outcome, Word: statusWord(outcome), Glyph: glyph(outcome), Headline: clip(headline(run, verdict)),
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
	}
	for _, p := range verdict.Properties {
		v.Properties = append(v.Properties, viewProperty(p, anchors[p.Slug]))
	}
	var buf bytes.Buffer
	if err := pageTemplate.Execute(&buf, v); err != nil {
		return nil, err
	}
	return bytes.Map(harmless, buf.Bytes()), nil
}

func viewProperty(p checker.Property, anchor string) propertyView {
	v := propertyView{
		Slug: p.Slug, Statement: statement(p.Slug), Class: string(p.Class), Required: p.Required,
		Status: string(p.Status), Word: statusWord(string(p.Status)), Glyph: glyph(string(p.Status)),
		Reason: clip(p.Reason), Violations: p.Total, Anchor: anchor,
	}
	for _, name := range exposureNames(p.Exposure) {
		v.Exposure = append(v.Exposure, exposed{Count: number(p.Exposure[name]), Name: name, Missing: p.Exposure[name] == 0 && p.Status == checker.Inconclusive})
	}
	return v
}

// glyph tells a status without colours.
func glyph(status string) string {
	switch status {
	case string(Passed):
		return "✓"
	case string(Failed):
		return "✕"
	case string(Inconclusive):
		return "?"
	case string(checker.NotApplicable):
		return "–"
	}
	return "!"
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
		{number(t.Acked), "messages acked"},
		{number(t.Consumes), "deliveries"},
		{number(t.Unknowns), "sends with unknown outcome"},
		{number(t.Fails), "sends refused"},
		{number(hit) + " of " + number(int64(len(rows))), "faults took effect"},
		{number(quietWindows(events)), "quiet windows"},
	}
}

func facts(run Run, plan scenarios.Plan) []fact {
	env := run.Environment
	list := []fact{
		{"run", run.ID},
		{"started", run.Started},
		{"took", span(run.Elapsed)},
		{"scenario", run.Scenario},
		{"seed", strconv.FormatUint(run.Seed, 10)},
		{"plan", run.PlanHash},
		{"trace", run.TraceHash},
		{"world", run.World},
		{"target", targetWords(plan, env)},
		{"producers", producerWords(plan)},
		{"consumers", consumerWords(plan)},
		{"pestle", env.Pestle},
		{"machine", machineWords(env)},
		{"go", env.Go},
	}
	shown := list[:0]
	for _, f := range list {
		if f.Text != "" {
			shown = append(shown, fact{f.Name, clip(f.Text)})
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
	mode := "at least once, up to " + counted(int64(plan.Workload.Tries), "try") + " a message"
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
		number((rates+500)/1_000), plan.Workload.Topic, mode)
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
	return fmt.Sprintf("%s/%s, %s", env.OS, env.Arch, counted(int64(env.CPUs), "CPU"))
}
