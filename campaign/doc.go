// Package campaign carries a plan through: run directory, world, verdict and
// reports, and judges saved runs again.
//
//	result, err := campaign.Run(ctx, plan, campaign.Options{Dir: "runs/first-light-1", Program: os.Args[0]})
//	fmt.Println(result.Outcome)
//
// A run directory holds everything about its run:
//
//	plan.json              the plan, canonical JSON
//	history/<process>.ndjson   what clients and faults did
//	state/<process>.state  the workload's crash-safe state files
//	faults.ndjson          what became of each planned fault
//	logs/<process>.log     what each process printed
//	data/                  the broker's files; removed after a pass
//	verdict.json           the judgement, for machines
//	report.html            the same, for people
package campaign
