package purity

import (
	"go/ast"
	"go/types"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/ast/edge"
	"golang.org/x/tools/go/ast/inspector"
)

// allowedImports are the standard packages ring 0 may import: pure functions
// and plain data. Package time is not among them, not even for Duration: ring 0
// counts nanoseconds in int64, so that no clock is within reach.
var allowedImports = []string{
	"bytes",
	"cmp",
	"container/heap",
	"crypto/sha256",
	"encoding/binary",
	"encoding/hex",
	"encoding/json",
	"errors",
	"fmt",
	"hash/crc32",
	"io",
	"iter",
	"maps",
	"math",
	"math/bits",
	"slices",
	"sort",
	"strconv",
	"strings",
	"unicode",
	"unicode/utf8",
}

// raftImports are the one library ring 0 may use: consensus, as a state machine
// that is stepped. It has no clock, goroutine, file or map order that shows, and
// draws one thing, election timeouts, from crypto/rand.Reader, which package
// sim lends to one run at a time.
var raftImports = []string{
	"go.etcd.io/raft/v3",
	"go.etcd.io/raft/v3/raftpb",
	"go.etcd.io/raft/v3/tracker",
	"google.golang.org/protobuf/proto",
}

// refusedNames are the impure parts of allowed packages, each with what to do
// instead.
var refusedNames = map[string]string{
	"encoding/binary.NativeEndian": "name the byte order",
	"fmt.Print":                    "return the text as an effect",
	"fmt.Printf":                   "return the text as an effect",
	"fmt.Println":                  "return the text as an effect",
	"fmt.Scan":                     "take the bytes as input",
	"fmt.Scanf":                    "take the bytes as input",
	"fmt.Scanln":                   "take the bytes as input",
	"io.Pipe":                      "it waits for another goroutine: use a bytes.Buffer",
	"iter.Pull":                    "it runs a coroutine: range over the sequence",
	"iter.Pull2":                   "it runs a coroutine: range over the sequence",
}

// mapOrderNames walk a map in its random order.
var mapOrderNames = []string{"maps.All", "maps.DeleteFunc", "maps.EqualFunc", "maps.Keys", "maps.Values"}

// checkImports reports imports that are not on the allow-list.
func (f *file) checkImports(parsed *ast.File) {
	for _, spec := range parsed.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue // the compiler reports it
		}
		if _, ring0 := f.rings.find(path); ring0 || slices.Contains(allowedImports, path) || slices.Contains(raftImports, path) {
			continue
		}
		f.report(spec.Pos(), "ring 0 must not import %s: %s", path, insteadOf(path))
	}
}

// insteadOf says what to do without an import.
func insteadOf(path string) string {
	switch first, _, _ := strings.Cut(path, "/"); {
	case path == "time":
		return "take the time as an argument, in int64 nanoseconds"
	case strings.HasSuffix(path, "/rand") || path == "math/rand/v2":
		return "draw from a sim/random stream that the caller hands in"
	case first == "os" || first == "net" || first == "io" || first == "syscall" || first == "log":
		return "return an effect that a driver carries out"
	case first == "sync" || path == "context":
		return "ring 0 runs on one goroutine"
	default:
		return "it is neither on the allow-list of cmd/detlint/purity/imports.go nor ring 0"
	}
}

// checkUses reports names that ring 0 may not use although it may import their
// package.
func (f *file) checkUses() {
	for cursor := range f.root.Preorder((*ast.Ident)(nil)) {
		ident := cursor.Node().(*ast.Ident)
		obj := f.pass.TypesInfo.Uses[ident]
		if obj == nil || obj.Pkg() == nil {
			continue
		}
		if row, ok := f.rings.find(obj.Pkg().Path()); ok {
			declared := f.pass.Fset.Position(obj.Pos()).Filename
			if obj.Pos().IsValid() && row.isDriver(declared) {
				f.report(ident.Pos(), "%s is declared in a driver file: ring 0 must not use it", ident.Name)
			}
			continue
		}
		if obj.Parent() != obj.Pkg().Scope() {
			continue
		}
		name := obj.Pkg().Path() + "." + obj.Name()
		if instead, refused := refusedNames[name]; refused {
			f.report(ident.Pos(), "ring 0 must not use %s: %s", name, instead)
		}
		if slices.Contains(mapOrderNames, name) && !f.isSorted(cursor) && !f.excused(orderFree, ident.Pos()) {
			f.report(ident.Pos(), "%s follows the map's random order: put slices.Sorted around it, or say why order cannot matter with %sorderfree", name, directivePrefix)
		}
	}
}

// isSorted tells whether the cursor, at the name of a maps function, stands in
// slices.Sorted(maps.Keys(m)).
func (f *file) isSorted(cursor inspector.Cursor) bool {
	if kind, _ := cursor.ParentEdge(); kind == edge.SelectorExpr_Sel {
		cursor = cursor.Parent()
	}
	if kind, _ := cursor.ParentEdge(); kind != edge.CallExpr_Fun {
		return false
	}
	cursor = cursor.Parent()
	if kind, _ := cursor.ParentEdge(); kind != edge.CallExpr_Args {
		return false
	}
	return f.calls(cursor.Parent().Node().(*ast.CallExpr), "slices", "Sorted")
}

// calls tells whether call is of the package-level function name of the package at path.
func (f *file) calls(call *ast.CallExpr, path, name string) bool {
	obj := f.callee(call)
	return obj != nil && obj.Pkg() != nil && obj.Pkg().Path() == path && obj.Name() == name &&
		obj.Parent() == obj.Pkg().Scope()
}

// callee returns what call's function is called, or nil for a function value.
func (f *file) callee(call *ast.CallExpr) types.Object {
	switch fun := ast.Unparen(call.Fun).(type) {
	case *ast.Ident:
		return f.pass.TypesInfo.Uses[fun]
	case *ast.SelectorExpr:
		return f.pass.TypesInfo.Uses[fun.Sel]
	}
	return nil
}
