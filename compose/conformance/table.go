package conformance

import "pestle/faults"

// Row is one statement about a kind of fault.
type Row struct {
	Fault  faults.Fault   // with its target and parameters
	Says   string         // what it looks like from outside
	Beside []faults.Fault // faults that it takes to see it; Anchor.At counts from the start of Fault
	Rest   int64          // ns that the target has to itself afterwards; 0: usualRest

	// Seen says what is missing, or nil.
	Seen func(*Run, Window) error
}

// Table has at least one row for each kind of fault that both worlds have.
func Table() []Row {
	var rows []Row
	for _, g := range groups() {
		rows = append(rows, g.rows...)
	}
	return rows
}

// group is what can be seen in one run, one after the other.
type group struct {
	name string
	cast cast
	rows []Row
}

// groups are the runs. What ends a broker for good has a run of its own.
func groups() []group {
	return []group{
		{"process", together(), append(processRows(), clockRows()...)},
		{"disk", together(), diskRows()},
		{"network", together(), networkRows()},
		{"cluster", clustered(), clusterRows()},
		{"rotten", lonely(), []Row{bitRotRow()}},
		{"misdirected", harmed(), []Row{misdirectedRow()}},
		{"lost", harmed(), []Row{lostRow()}},
		{"lying", lying(), []Row{unsyncedRow()}},
	}
}
