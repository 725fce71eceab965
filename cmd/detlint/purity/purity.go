// Package purity is the analyzer that keeps ring 0 pure: the same input gives
// the same bytes, on every machine, in every run. It owns the table of ring-0
// packages, the list of standard packages they may import and the rules below.
// It never changes code and never looks at _test.go files.
//
// In a ring-0 file it reports:
//
//	go, select, channel types and operations     the scheduler decides
//	imports that are neither on the allow-list   clocks, files, sockets, locks,
//	  nor ring 0                                   chance, addresses
//	range over a map; maps.Keys and the like     the order differs in each run
//	map keys that are or hold pointers, channels they cannot be sorted by meaning
//	  or interfaces
//	package-level variables                      two nodes in one process share them
//	writing, or taking the address of, one       the same
//	floating point                               fused multiply-add differs by CPU
//	uintptr, %p, printing an address             ASLR
//	init functions, print, fmt.Print…, iter.Pull hidden order, hidden output,
//	  io.Pipe, binary.NativeEndian                 coroutines, locks, host facts
//	anything declared in a driver file           see Package.Drivers
//
// A file outside ring 0 is checked for one thing only: it must not write a
// ring-0 package's variables.
//
// # Exceptions
//
// A comment on the line before excuses a line, and says why:
//
//	//det:orderfree summing is commutative
//	for _, n := range counts {
//		total += n
//	}
//
//	//det:table bit-reversed CRC table, never written
//	var castagnoli = crc32.MakeTable(crc32.Castagnoli)
//
//	//det:float shown to people, decides nothing
//	ratio := float64(done) / float64(all)
//
// Three things need no comment: error sentinels made by errors.New or
// fmt.Errorf, interface assertions (var _ I = T{}), and slices.Sorted around
// maps.Keys or maps.Values. A comment without a reason, with an unknown name,
// or that excuses nothing is itself reported.
//
// //det:ring0 in a file excuses nothing. It tells the reader of a package with
// driver files which files are pure, and is reported where that is not so.
//
// # What it cannot see
//
// A call through an interface or function value goes wherever the caller
// wired it. A table can be written through a copy of its slice, map or
// pointer. Whether a comparator given to a sort is a total order is not
// checked, nor that cap(), which belongs to the Go release, decides about
// memory only. Running the same seed twice and comparing the bytes finds what
// slips through here.
//
// # Example
//
//	analyzer := purity.New(purity.Rings{
//		{Path: "example/core"},
//		{Path: "example/files", Drivers: []string{"open.go"}},
//	})
//	unitchecker.Main(analyzer)
package purity

import (
	"go/ast"
	"go/token"
	"path/filepath"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/inspector"
)

// New returns the analyzer for the packages of rings.
func New(rings Rings) *analysis.Analyzer {
	return &analysis.Analyzer{
		Name: "purity",
		Doc:  "report what would make ring-0 code depend on anything but its input",
		Run: func(pass *analysis.Pass) (any, error) {
			checkPackage(pass, rings)
			return nil, nil
		},
	}
}

func checkPackage(pass *analysis.Pass, rings Rings) {
	row, inRing0 := rings.find(pass.Pkg.Path())
	for _, parsed := range pass.Files {
		name := pass.Fset.Position(parsed.FileStart).Filename
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f := &file{
			pass:  pass,
			rings: rings,
			pure:  inRing0 && !row.isDriver(filepath.ToSlash(name)),
			root:  inspector.New([]*ast.File{parsed}).Root(),
		}
		f.readDirectives(parsed)
		f.checkWrites()
		if f.pure {
			f.checkImports(parsed)
			f.checkVariables(parsed)
			f.checkSyntax()
			f.checkUses()
			f.checkTypes()
			f.checkPrinting()
		}
		f.checkDirectives()
	}
	if len(pass.OtherFiles) > 0 && inRing0 {
		pass.Reportf(pass.Files[0].Package, "%s is not Go: ring 0 is written in Go only", filepath.Base(pass.OtherFiles[0]))
	}
}

// file is one file under check.
type file struct {
	pass       *analysis.Pass
	rings      Rings
	pure       bool // the file is ring 0
	root       inspector.Cursor
	directives []*directive
}

func (f *file) report(pos token.Pos, format string, args ...any) {
	f.pass.Reportf(pos, format, args...)
}

// line returns the line of pos; a file knows only its own lines.
func (f *file) line(pos token.Pos) int { return f.pass.Fset.Position(pos).Line }
