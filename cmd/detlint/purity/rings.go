package purity

import "path"

// Package is one ring-0 package.
type Package struct {
	Path string // import path

	// Drivers names the files of the package that belong to ring 1, such as
	// the one that opens files. Every other file is ring 0: a new file is pure
	// until somebody writes its name here. Ring-0 code, in this package or
	// another, must not use what a driver file declares.
	Drivers []string
}

// Rings is the table of ring-0 packages, in import-path order.
type Rings []Package

// Pestle is the table for this module. Packages that are not listed belong to
// ring 1 or 2.
var Pestle = Rings{
	{Path: "pestle/broker/core"},
	{Path: "pestle/broker/journal"},
	{Path: "pestle/broker/nsq"},
	{Path: "pestle/broker/plant"},
	{Path: "pestle/broker/replica"},
	{Path: "pestle/checker"},
	{Path: "pestle/faults"},
	{Path: "pestle/history"},
	{Path: "pestle/scenarios", Drivers: []string{"load.go"}},
	{Path: "pestle/sim", Drivers: []string{"run.go"}}, // lends a run the chance of the process, see pestle/sim/chance
	{Path: "pestle/sim/clock"},
	{Path: "pestle/sim/disk"},
	{Path: "pestle/sim/lot"},
	{Path: "pestle/sim/invariant"},
	{Path: "pestle/sim/network"},
	{Path: "pestle/sim/random"},
	{Path: "pestle/sim/schedule"},
	{Path: "pestle/workload"},
}

// find returns the table's row for the package at path.
func (r Rings) find(path string) (Package, bool) {
	for _, p := range r {
		if p.Path == path {
			return p, true
		}
	}
	return Package{}, false
}

// isDriver tells whether file, with or without its folder, is one of p's
// driver files.
func (p Package) isDriver(file string) bool {
	for _, name := range p.Drivers {
		if path.Base(file) == name {
			return true
		}
	}
	return false
}
