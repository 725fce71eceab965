package reports

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pestle/reports/page"
	"pestle/reports/page/pagetest"
)

// A browser shows verdict.json's numbers, writes nothing to its console and
// asks for nothing.
func TestNumbersInABrowser(t *testing.T) {
	drawn := small()
	drawn.plan, drawn.verdict, drawn.run.Story = lostPlan(), lostVerdict(), lostStory
	for name, s := range map[string]*synthetic{"fail": failing(), "with a story": drawn, "hostile": hostile()} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := WriteVerdict(dir, NewVerdictFile(s.run, s.verdict, s.events)); err != nil {
				t.Fatal(err)
			}
			if err := WriteHTML(dir, s.run, s.plan, s.verdict, s.events); err != nil {
				t.Fatal(err)
			}
			file, err := ReadVerdict(dir)
			if err != nil {
				t.Fatal(err)
			}
			seen := pagetest.Open(t, filepath.Join(dir, ReportName))
			if name == "hostile" {
				return // its words are no words; that it asked for nothing is the point
			}
			items := seen.Texts("li")
			for _, want := range []string{page.Number(file.Totals.Acked) + " messages acked", page.Number(file.Totals.Consumes) + " deliveries"} {
				if !slices.Contains(items, want) {
					t.Errorf("no tile reads %q", want)
				}
			}
			rows := seen.Texts("tr")[1:]
			for i, p := range file.Properties {
				want := []string{page.StatusWord(string(p.Status)) + " " + p.Slug}
				if p.Total > 0 {
					want = append(want, fmt.Sprintf("%d violated", p.Total))
				}
				want = append(want, exposureWords(p.Exposure)...)
				for _, text := range want {
					if !strings.Contains(rows[i], text) {
						t.Errorf("row %d is %q, without %q", i, rows[i], text)
					}
				}
			}
		})
	}
}
