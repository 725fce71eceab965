// Package overview writes a campaign's page: report.html beside its
// campaign.json, for a person who comes back in the morning.
//
// It owns how a campaign is told to people, findings first. It never counts or
// groups: every number on the page is one of campaign.json, from package
// result. The page keeps the rules of package page.
//
//	c, err := fleet.Run(ctx, options)
//	if err != nil { … }
//	if err := overview.Write(dir, c); err != nil { … }
//	fmt.Println("open", filepath.Join(dir, reports.ReportName))
package overview
