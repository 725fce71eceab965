package result

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pestle/checker"
	"pestle/reports"
)

// Symptoms of the tables below.
const (
	loss     = checker.NoDataLoss + "/acked and gone"
	requeued = checker.NoDataLoss + "/given back and gone"
	order    = checker.MessageOrdering + "/overtaken"
	corrupt  = checker.NoDataCorruption + "/other bytes"
	late     = checker.ConsumerProgress + "/late"
	unacked  = checker.ProducerProgress + "/no ack"
	again    = checker.DeliveryGuarantee + "/again" // safety, though it stands behind
)

// A finding is one bug, whatever else it breaks on its way.
func TestFindings(t *testing.T) {
	for _, c := range []struct {
		name string
		runs []string // what each shows, each on its own; "" passes
		want []string // findings: fingerprint runs [+ also seen runs (alone) …]
	}{
		{"nothing failed", repeat(3, ""), nil},
		{"one bug in every run", repeat(500, loss), []string{loss + " 500"}},
		{"one bug with an echo now and then", append(repeat(493, loss), repeat(7, late+","+loss)...),
			[]string{loss + " 500 + " + late + " 7"}},
		{"one bug whose echo stands first in the catalog", append(repeat(5, loss), repeat(2, order+","+loss)...),
			[]string{loss + " 7 + " + order + " 2"}},
		{"one bug with two echoes", append(repeat(5, loss), loss+","+late, loss+","+late+","+unacked, loss+","+unacked, loss+","+late),
			[]string{loss + " 9 + " + late + " 3 + " + unacked + " 2"}},
		{"two bugs, never in one run", append(repeat(30, loss), repeat(2, corrupt)...),
			[]string{loss + " 30", corrupt + " 2"}},
		{"two bugs, sometimes in one run", append(repeat(30, loss), corrupt, corrupt+","+loss),
			[]string{loss + " 31 + " + corrupt + " 1", corrupt + " 1"}},
		{"a second cause, mostly beside the first", append(repeat(90, loss), loss+","+requeued, loss+","+requeued, requeued, requeued),
			[]string{loss + " 94 + " + requeued + " 4 (2)"}},
		{"a second cause, mostly on its own", append(repeat(90, loss), loss+","+requeued, requeued, requeued),
			[]string{loss + " 91 + " + requeued + " 1", requeued + " 2"}},
		{"an echo that came alone once", append(repeat(9, loss), loss+","+late, late),
			[]string{loss + " 11 + " + late + " 2 (1)"}},
		{"an echo and another bug in one run", append(repeat(9, loss), loss+","+late, late+","+corrupt),
			[]string{loss + " 10 + " + late + " 1", corrupt + " 1 + " + late + " 1"}},
		{"another safety property, mostly beside it", append(repeat(9, loss), loss+","+corrupt, loss+","+corrupt, corrupt),
			[]string{loss + " 11 + " + corrupt + " 2", corrupt + " 1"}},
		{"two causes of one property, never in one run", append(repeat(3, loss), repeat(2, requeued)...),
			[]string{loss + " 3", requeued + " 2"}},
		{"two bugs of one echo", []string{loss + "," + late, loss + "," + late, corrupt + "," + late, corrupt, corrupt},
			[]string{corrupt + " 3 + " + late + " 1", loss + " 2 + " + late + " 2"}},
		{"always together: safety before liveness", repeat(4, late+","+loss), []string{loss + " 4 + " + late + " 4"}},
		{"always together: the first of the catalog", repeat(4, corrupt+","+loss), []string{corrupt + " 4 + " + loss + " 4"}},
		{"equally often: safety before liveness", []string{unacked, again}, []string{again + " 1", unacked + " 1"}},
	} {
		records := failing(c.runs)
		if diff := cmp.Diff(c.want, described(findingsOf(records))); diff != "" {
			t.Errorf("%s:\n%s", c.name, diff)
		}
	}
}

// The order in which runs were finished changes nothing.
func TestFindingsDoNotDependOnOrder(t *testing.T) {
	runs := append(repeat(40, loss), repeat(7, loss+","+late)...)
	runs = append(runs, repeat(3, unacked)...)
	runs = append(runs, corrupt, corrupt+","+unacked, "")
	records := failing(runs)
	want := Summarize(about(60), records)
	for seed := range uint64(20) {
		shuffled := slices.Clone(records)
		rand.New(rand.NewPCG(seed, 0)).Shuffle(len(shuffled), func(i, j int) {
			shuffled[i], shuffled[j] = shuffled[j], shuffled[i]
		})
		if diff := cmp.Diff(want, Summarize(about(60), shuffled)); diff != "" {
			t.Fatalf("shuffled with seed %d:\n%s", seed, diff)
		}
	}
}

// The first run of a finding is the one of the lowest seed, the shortest the
// one of the fewest events.
func TestExamples(t *testing.T) {
	records := failing([]string{late, loss, loss, late + "," + loss, loss})
	for i, n := range []uint64{50, 300, 100, 400, 200} {
		records[i].Events = n
	}
	f := findingsOf(records)[0]
	if f.Rate.K != 5 || f.First.Seed != 2 || f.Shortest.Seed != 3 {
		t.Errorf("%d runs, first seed %d, want 2; shortest %d, want 3: the others show an echo only", f.Rate.K, f.First.Seed, f.Shortest.Seed)
	}
	if f.First.Command != "run tiny 2" || f.First.Detail != "detail of "+loss {
		t.Errorf("the first: command %q, detail %q", f.First.Command, f.First.Detail)
	}
}

// A rate is over the runs that were judged, of all scenarios and of each.
func TestRates(t *testing.T) {
	a := about(10)
	a.Scenarios = append(a.Scenarios, Asked{Name: "other", World: "sim"})
	records := failing([]string{"", loss, "", ""})
	records[3].Outcome = reports.HarnessError
	other := failing([]string{"", loss, loss, "", ""})
	for i := range other {
		other[i].Scenario = "other"
	}
	f := Summarize(a, append(other, records...)).Findings[0]
	got := fmt.Sprint(f.Rate.K, " of ", f.Rate.N)
	for _, w := range f.PerWhere {
		got += fmt.Sprint(", ", w.Scenario, " ", w.Rate.K, " of ", w.Rate.N)
	}
	if want := "3 of 8, tiny 1 of 3, other 2 of 5"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if f.First.Scenario != "tiny" {
		t.Errorf("first in %s, want the scenario that was named first", f.First.Scenario)
	}
}

func repeat(n int, symptoms string) []string { return slices.Repeat([]string{symptoms}, n) }

func findingsOf(records []Record) []Finding {
	return Summarize(about(uint64(len(records))), records).Findings
}

// described is the short form of the tables.
func described(list []Finding) []string {
	var out []string
	for _, f := range list {
		text := fmt.Sprintf("%s/%s %d", f.Property, f.Cause, f.Rate.K)
		for _, s := range f.AlsoSeen {
			text += fmt.Sprintf(" + %s/%s %d", s.Property, s.Cause, s.Runs)
			if s.Alone > 0 {
				text += fmt.Sprintf(" (%d)", s.Alone)
			}
		}
		out = append(out, text)
	}
	return out
}
