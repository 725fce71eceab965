package campaign

import "pestle/reports"

// Environment is where this build runs, without a version of any target.
func Environment() reports.Environment { return environment("") }
