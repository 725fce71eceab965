package composer

import "pestle/reports/sdk"

// What the commands assert beside the properties of the checker.
var (
	produced = sdk.Assertion{Message: "a producer did its work to the end", Kind: sdk.Sometimes, File: "workload/antithesis/composer/work.go"}
	consumed = sdk.Assertion{Message: "a consumer consumed", Kind: sdk.Sometimes, File: "workload/antithesis/composer/work.go"}
	drained  = sdk.Assertion{Message: "with faults stopped, everything acked is consumed within the bound", Kind: sdk.Always, File: "workload/antithesis/composer/drain.go"}
)

// catalog lists every assertion of every command, so that one that is never
// reached leaves a trace.
func catalog() []sdk.Assertion {
	all := []sdk.Assertion{produced, consumed, drained}
	for _, c := range checks() {
		all = append(all, c.assertion)
	}
	return all
}
