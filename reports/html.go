package reports

import (
	"bytes"
	"fmt"
	"html/template"
	"path/filepath"

	"pestle/checker"
	"pestle/history"
	"pestle/scenarios"
)

// ReportName is the report's file name in a run directory.
const ReportName = "report.html"

var page = template.Must(template.New("report").Parse(`<!doctype html><title>{{.}}</title><h1>{{.}}</h1>`))

// WriteHTML writes report.html into the run directory. The events are the
// merged history, in order. A reader sees the old file or the new one, never
// a part.
func WriteHTML(dir string, run Run, plan scenarios.Plan, verdict checker.Verdict, events []history.Event) error {
	var buf bytes.Buffer
	if err := page.Execute(&buf, headline(run, verdict)); err != nil {
		return fmt.Errorf("write the report of run %s: %w", run.ID, err)
	}
	return writeFile(filepath.Join(dir, ReportName), buf.Bytes())
}
