package result

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"pestle/campaign/rate"
	"pestle/checker"
	"pestle/faults"
	"pestle/reports"
	"pestle/scenarios"
)

// About is what a campaign is beyond its records.
type About struct {
	Command     string
	Started     string
	Ended       Ended
	From, Seeds uint64
	Settings    []string
	Scenarios   []Asked
	Reproduce   func(scenario int, seed uint64) string // the line that repeats a run; scenario is an index of Scenarios
	Throughput  Throughput                             // its sums over runs are set here
	Environment reports.Environment
}

// Asked is one scenario that was asked for.
type Asked struct {
	Name, File, World string
	Required          []string // slugs that count; empty: all that apply
}

// Summarize computes the campaign of these records, which may be in any order.
// Records of scenarios or seeds that were not asked for are left out.
func Summarize(about About, records []Record) Campaign {
	s := summary{About: about, index: map[string]int{}}
	for i, asked := range about.Scenarios {
		s.index[asked.Name] = i
	}
	for i := range records {
		r := &records[i]
		if _, known := s.index[r.Scenario]; known && r.Seed >= about.From && r.Seed-about.From < about.Seeds {
			s.records = append(s.records, r)
		}
	}
	// By seed, so that a curve over runs has every scenario from its start.
	slices.SortFunc(s.records, func(a, b *Record) int {
		return cmp.Or(cmp.Compare(a.Seed, b.Seed), cmp.Compare(s.index[a.Scenario], s.index[b.Scenario]))
	})
	c := Campaign{
		Schema: Schema, Command: about.Command, Started: about.Started, Ended: about.Ended,
		From: about.From, Seeds: about.Seeds, Settings: orEmpty(about.Settings),
		Scenarios: s.scenarios(), Environment: about.Environment,
	}
	for _, scenario := range c.Scenarios {
		c.Runs.add(scenario.Runs)
	}
	c.Findings = s.findings()
	c.Inconclusive = s.reasons(func(r *Record) []string { return r.Missing })
	c.HarnessErrors = s.reasons(func(r *Record) []string {
		if r.Outcome != reports.HarnessError {
			return nil
		}
		return []string{r.Error}
	})
	simulated := s.runsIn(scenarios.Sim)
	c.Cover = cover(s.records, simulated)
	c.Recoveries = s.recoveries()
	c.NotExercised = s.notExercised(c.Cover)
	c.Bound = bound(c.Runs)
	c.Throughput = s.throughput()
	for _, r := range s.records {
		c.Determinism.add(r)
	}
	c.Status, c.Reason = status(&c)
	c.ExitCode = c.Status.ExitCode()
	return c
}

type summary struct {
	About
	index   map[string]int // of a scenario by its name
	records []*Record      // by seed, then scenario
}

func (s *summary) runsIn(world string) bool {
	return slices.ContainsFunc(s.Scenarios, func(a Asked) bool { return a.World == world })
}

func (s *summary) reproduce(r *Record) string { return s.Reproduce(s.index[r.Scenario], r.Seed) }

func (s *summary) scenarios() []Scenario {
	list := []Scenario{}
	for _, asked := range s.Scenarios {
		scenario := Scenario{Name: asked.Name, File: asked.File, World: asked.World}
		for _, entry := range checker.Catalog() {
			scenario.Properties = append(scenario.Properties, Property{
				Slug: entry.Slug, Class: entry.Class,
				Required: len(asked.Required) == 0 || slices.Contains(asked.Required, entry.Slug),
			})
		}
		list = append(list, scenario)
	}
	for _, r := range s.records {
		list[s.index[r.Scenario]].count(r)
	}
	return list
}

func (s *Scenario) count(r *Record) {
	s.Runs.add(one(r.Outcome))
	if !r.Judged || r.Outcome == reports.HarnessError {
		return
	}
	for i := range s.Properties {
		p := &s.Properties[i]
		switch r.NotPassed[p.Slug] {
		case checker.Fail:
			p.Failed++
		case checker.Inconclusive:
			p.Inconclusive++
		case checker.NotApplicable:
			p.NotApplicable++
		default:
			p.Passed++
		}
	}
}

func one(o reports.Outcome) Outcomes {
	c := Outcomes{Done: 1}
	switch o {
	case reports.Passed:
		c.Passed = 1
	case reports.Failed:
		c.Failed = 1
	case reports.Inconclusive:
		c.Inconclusive = 1
	default:
		c.HarnessError = 1
	}
	return c
}

func (o *Outcomes) add(b Outcomes) {
	o.Done += b.Done
	o.Passed += b.Passed
	o.Failed += b.Failed
	o.Inconclusive += b.Inconclusive
	o.HarnessError += b.HarnessError
}

// judged is how many runs had a verdict.
func (o Outcomes) judged() int64 { return o.Done - o.HarnessError }

func (s *summary) findings() []Finding {
	judged, each := int64(0), make([]int64, len(s.Scenarios))
	for _, r := range s.records {
		if r.Outcome != reports.HarnessError {
			judged++
			each[s.index[r.Scenario]]++
		}
	}
	list := []Finding{}
	for _, g := range filed(s.records) {
		// Of the first scenario the lowest seed: runs are ordered by seed.
		clear := g.clear()
		first := slices.MinFunc(clear, func(a, b *Record) int {
			return cmp.Compare(s.index[a.Scenario], s.index[b.Scenario])
		})
		f := Finding{
			Fingerprint: g.name(), Property: g.property, Class: classOf(g.property), Cause: g.cause,
			Rate: rate.Of(int64(len(g.runs)), judged), PerWhere: []Where{}, AlsoSeen: g.alsoSeen(),
			First: s.example(g, first), Shortest: s.example(g, shortest(clear)),
		}
		for i, asked := range s.Scenarios {
			k := int64(0)
			for _, r := range g.runs {
				if r.Scenario == asked.Name {
					k++
				}
			}
			if k > 0 {
				f.PerWhere = append(f.PerWhere, Where{Scenario: asked.Name, Rate: rate.Of(k, each[i])})
			}
		}
		list = append(list, f)
	}
	return list
}

func classOf(slug string) checker.Class {
	for _, entry := range checker.Catalog() {
		if entry.Slug == slug {
			return entry.Class
		}
	}
	return ""
}

func (s *summary) example(g group, r *Record) Example {
	v := g.violation(r)
	return Example{
		Scenario: r.Scenario, Seed: r.Seed, PlanHash: r.PlanHash, TraceHash: r.TraceHash,
		Events: r.Events, Elapsed: r.Elapsed, At: v.At, Detail: v.Detail,
		Command: s.reproduce(r), Dir: r.Dir,
	}
}

// reasons groups texts of runs by their words, whatever the numbers in them.
func (s *summary) reasons(of func(*Record) []string) []Reason {
	list := []Reason{}
	place := map[string]int{}
	for _, r := range s.records {
		var had []string
		for _, text := range of(r) {
			words := withoutNumbers(text)
			if slices.Contains(had, words) {
				continue
			}
			had = append(had, words)
			i, known := place[words]
			if !known {
				i = len(list)
				place[words] = i
				list = append(list, Reason{
					Reason: words, Example: text, Scenario: r.Scenario, Seed: r.Seed, Command: s.reproduce(r),
				})
			}
			list[i].Runs++
		}
	}
	slices.SortStableFunc(list, func(a, b Reason) int { return cmp.Compare(b.Runs, a.Runs) })
	return list
}

var digits = regexp.MustCompile(`[0-9]+`)

func withoutNumbers(text string) string { return digits.ReplaceAllString(text, "N") }

func (s *summary) recoveries() []Recovery {
	list := []Recovery{}
	for _, r := range s.records {
		if r.Recovery != nil {
			list = append(list, Recovery{
				Scenario: r.Scenario, Seed: r.Seed, Kind: r.Recovery.Kind, Took: r.Recovery.Took, Command: s.reproduce(r),
			})
		}
	}
	slices.SortStableFunc(list, func(a, b Recovery) int { return cmp.Compare(b.Took, a.Took) })
	return list[:min(len(list), MaxRecoveries)]
}

func (s *summary) notExercised(c Cover) NotExercised {
	planned, effective, claims := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, r := range s.records {
		for _, f := range r.Faults {
			planned[f.Kind] = true
			effective[f.Kind] = effective[f.Kind] || f.Effective > 0
		}
		for _, name := range r.Claims {
			claims[name] = true
		}
	}
	n := NotExercised{FaultKinds: []string{}, Planned: []string{}, Claims: []string{}, Points: []string{}}
	for _, spec := range faults.Kinds() {
		kind := string(spec.Kind)
		possible := slices.ContainsFunc(s.Scenarios, func(a Asked) bool { return spec.In(a.World) })
		if !possible || effective[kind] {
			continue
		}
		n.FaultKinds = append(n.FaultKinds, kind)
		if planned[kind] {
			n.Planned = append(n.Planned, kind)
		}
	}
	for _, name := range checker.ClaimNames() {
		if !claims[name] {
			n.Claims = append(n.Claims, name)
		}
	}
	for _, p := range c.Points {
		if p.Runs == 0 {
			n.Points = append(n.Points, p.Name)
		}
	}
	return n
}

// bound is the rule of three.
func bound(runs Outcomes) Bound {
	switch n := runs.Passed; {
	case runs.Failed > 0:
		return Bound{Text: fmt.Sprintf("%d of %d judged runs failed: see the findings for their rates", runs.Failed, runs.judged())}
	case n < 3:
		return Bound{Runs: n, Text: fmt.Sprintf("%d passing runs are too few to bound the rate of failures", n)}
	default:
		return Bound{
			Runs: n, PerMillion: (3*rate.Million + n - 1) / n,
			Text: fmt.Sprintf("no failure in %d runs bounds the rate of failures below 3/%d (95 %% confidence), for these scenarios", n, n),
		}
	}
}

func (s *summary) throughput() Throughput {
	t := s.Throughput
	for _, r := range s.records {
		t.Worked += r.Worked
		if r.Events > 0 {
			t.Events += int64(r.Events)
			t.Simulated += r.Elapsed
		}
	}
	if t.Elapsed > 0 {
		const minute = 60_000_000_000
		t.PerMinute = int64(float64(t.Runs) * minute / float64(t.Elapsed))
	}
	return t
}

func (d *Determinism) add(r *Record) {
	if r.Repeated {
		d.Repeated++
	}
	if r.Diverged {
		d.Diverged++
	}
}

// status is the worst over the runs. An interrupted campaign can fail but not
// pass: the runs it still owes might have.
func status(c *Campaign) (reports.Outcome, string) {
	asked := c.Seeds * uint64(len(c.Scenarios))
	switch runs := c.Runs; {
	case runs.Failed > 0:
		var list []string
		for _, f := range c.Findings {
			list = append(list, fmt.Sprintf("%s in %d", f.Property, f.Rate.K))
		}
		return reports.Failed, fmt.Sprintf("%d of %d runs failed: %s", runs.Failed, runs.Done, strings.Join(list, ", "))
	case runs.HarnessError > 0:
		return reports.HarnessError, fmt.Sprintf("the harness failed in %d of %d runs: %s", runs.HarnessError, runs.Done, c.HarnessErrors[0].Example)
	case runs.Inconclusive > 0:
		reason := fmt.Sprintf("%d of %d runs were inconclusive", runs.Inconclusive, runs.Done)
		if len(c.Inconclusive) > 0 {
			reason += "; most often: " + c.Inconclusive[0].Reason
		}
		return reports.Inconclusive, reason
	case runs.Done == 0:
		return reports.Inconclusive, "no run was finished"
	case c.Ended == EndedInterrupted:
		return reports.Inconclusive, fmt.Sprintf("interrupted after %d of %d runs", runs.Done, asked)
	}
	return reports.Passed, ""
}

func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}
