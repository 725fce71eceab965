// Package sdk writes assertions as Antithesis' SDKs do, so that what reads
// their sdk.jsonl reads ours: the platform's report, and any script.
//
// It owns the line format, the declarations and what of a run becomes an
// assertion. It never judges: whether a property holds is the checker's word,
// and how often something happened is counted there, not here.
//
//	log, err := sdk.Open(sdk.Version{Pestle: "0.1.0", Go: "go1.26"}, catalog, "run/sdk.jsonl")
//	err = log.Hit(drained, true, map[string]any{"channels": 2})
//	err = log.Close()
//
//	err = sdk.Write(dir, plan, verdictFile, events) // that of a whole run
//
// # sdk.jsonl
//
// One JSON object a line, each with one key:
//
//	antithesis_setup    status "complete", details: the system is up
//	antithesis_sdk      language, sdk_version (Pestle's own), protocol_version: before the first assertion
//	antithesis_assert   a declaration (hit false, condition without meaning) or an evaluation (hit true)
//
// Every assertion is declared once a file, met or not, so that one that was
// never reached leaves a trace. Its id is its message:
//
//	message                       display_type          met when
//	<property>                    Always                required: judged, and never broken
//	<property>                    AlwaysOrUnreachable   not required: never broken
//	<property>: enough was tested Sometimes             its exposure backs a judgement
//	claim: <claim>                Sometimes             the situation was met
//	fault: <kind> took effect     Sometimes             of each kind of the plan
//	point: <point>                Reachable             the point that a fault of the plan waits for
//	phase: <phase>                Reachable             of the run
//
// A property that is inconclusive has no evaluation: it was not reached. One
// that the target does not promise is not declared.
package sdk
