// Package page is what every page of Pestle has in common: one style sheet, one
// script, the policy that forbids the page everything else, how numbers, times
// and foreign text are written, and how a file is replaced.
//
// It owns the look and the safety of pages. It never knows what a page is
// about: a run's is in package reports, a campaign's in reports/overview.
//
//	var text = page.Parse("run", source)
//	view := struct {
//		page.Look
//		Sent string
//	}{page.NewLook(), page.Number(12_345)}
//	content, err := page.Render(text, view)
//	if err != nil { … }
//	err = page.Replace("runs/1/report.html", content)
//
// A page is one file without any request to anywhere. Its
// content-security policy forbids them, and names its one script and its one
// style sheet by hash: text of the system under test that got past the
// escaping could still do nothing. Everything but the copy button works
// without JavaScript.
package page
