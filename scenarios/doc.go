// Package scenarios turns a scenario file and a seed into a plan: the fully
// expanded run as data. Nothing that matters is drawn later.
//
// It owns the scenario's keys and their checks, the expansion, and the plan
// with its canonical bytes and hash. It never starts anything and never looks
// at a clock; the only files it touches are the scenario and plan.json, in
// load.go. Everything else in it is pure: the same scenario and seed give the
// same bytes on every machine.
//
//	s, err := scenarios.Load("first-light", []string{"target.durability=memory"})
//	if err != nil {
//		return err // scenarios/first-light.yaml:12:9: … did you mean "timeout"?
//	}
//	plan, err := scenarios.Expand(s, 1)
//	if err != nil {
//		return err
//	}
//	fmt.Println(plan.ShortHash())
//	err = scenarios.WritePlan("plan.json", plan)
//
// A scenario is YAML; its keys stand in keys.go, in schema.json for editors and
// in docs/writing-a-scenario.md for people, all from one table. A plan is JSON
// on one line:
//
//	{"claims":[…],"faults":[…],"phases":{…},"properties":[…],"scenario":"…",
//	 "schema":1,"seed":…,"target":{…},"workload":{…}}
package scenarios
