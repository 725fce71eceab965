package purity_test

import (
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis"

	"pestle/cmd/detlint/purity"
)

// TestFindings runs the analyzer over the packages of testdata, whose comments
// say what must be found where: // want "text" on the line itself, or
// // want-above "text" on the line after. The text is a part of the message.
// Nothing else may be found.
func TestFindings(t *testing.T) {
	rings := purity.Rings{
		{Path: "mixed", Drivers: []string{"open.go"}},
		{Path: "pure"},
	}
	load := &loader{fset: token.NewFileSet(), std: importer.Default(), done: map[string]*analysis.Pass{}}
	for _, path := range []string{"mixed", "driver", "pure"} {
		t.Run(path, func(t *testing.T) {
			pass, err := load.pass(path)
			if err != nil {
				t.Fatal(err)
			}
			var found []finding
			pass.Report = func(d analysis.Diagnostic) {
				found = append(found, finding{place(load.fset, d.Pos), d.Message})
			}
			if _, err := purity.New(rings).Run(pass); err != nil {
				t.Fatal(err)
			}
			for _, want := range wanted(load.fset, pass.Files) {
				i := slices.IndexFunc(found, func(f finding) bool {
					return f.place == want.place && strings.Contains(f.text, want.text)
				})
				if i < 0 {
					t.Errorf("%s: not found: %s", want.place, want.text)
					continue
				}
				found = slices.Delete(found, i, i+1)
			}
			for _, f := range found {
				t.Errorf("%s: unexpected: %s", f.place, f.text)
			}
		})
	}
}

// TestAssembly: ring 0 may not hide from the analyzer in another language.
func TestAssembly(t *testing.T) {
	load := &loader{fset: token.NewFileSet(), std: importer.Default(), done: map[string]*analysis.Pass{}}
	pass, err := load.pass("mixed")
	if err != nil {
		t.Fatal(err)
	}
	pass.OtherFiles = []string{"mixed/sum_amd64.s"}
	var found []string
	pass.Report = func(d analysis.Diagnostic) { found = append(found, d.Message) }
	checkedAsDriver := purity.Rings{{Path: "mixed", Drivers: []string{"open.go", "plan.go"}}}
	if _, err := purity.New(checkedAsDriver).Run(pass); err != nil {
		t.Fatal(err)
	}
	want := "sum_amd64.s is not Go: ring 0 is written in Go only"
	if !slices.Contains(found, want) {
		t.Errorf("found %q, want %q", found, want)
	}
}

type finding struct{ place, text string }

func place(fset *token.FileSet, pos token.Pos) string {
	p := fset.Position(pos)
	return fmt.Sprintf("%s:%d", filepath.Base(p.Filename), p.Line)
}

var (
	wantComment = regexp.MustCompile(`// (want|want-above)((?: "[^"]*")+)`)
	quoted      = regexp.MustCompile(`"([^"]*)"`)
)

func wanted(fset *token.FileSet, files []*ast.File) []finding {
	var all []finding
	for _, f := range files {
		for _, group := range f.Comments {
			for _, c := range group.List {
				for _, m := range wantComment.FindAllStringSubmatch(c.Text, -1) {
					p := fset.Position(c.Pos())
					if m[1] == "want-above" {
						p.Line--
					}
					for _, text := range quoted.FindAllStringSubmatch(m[2], -1) {
						all = append(all, finding{fmt.Sprintf("%s:%d", filepath.Base(p.Filename), p.Line), text[1]})
					}
				}
			}
		}
	}
	return all
}

// loader type-checks the packages of testdata; they may import one another.
type loader struct {
	fset *token.FileSet
	std  types.Importer
	done map[string]*analysis.Pass
}

// Import makes loader a types.Importer.
func (l *loader) Import(path string) (*types.Package, error) {
	if _, err := os.Stat(filepath.Join("testdata", path)); err != nil {
		return l.std.Import(path)
	}
	pass, err := l.pass(path)
	if err != nil {
		return nil, err
	}
	return pass.Pkg, nil
}

func (l *loader) pass(path string) (*analysis.Pass, error) {
	if pass, ok := l.done[path]; ok {
		return pass, nil
	}
	names, err := filepath.Glob(filepath.Join("testdata", path, "*.go"))
	if err != nil {
		return nil, err
	}
	var files []*ast.File
	for _, name := range names {
		f, err := parser.ParseFile(l.fset, name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	info := &types.Info{
		Types:      map[ast.Expr]types.TypeAndValue{},
		Defs:       map[*ast.Ident]types.Object{},
		Uses:       map[*ast.Ident]types.Object{},
		Selections: map[*ast.SelectorExpr]*types.Selection{},
	}
	config := types.Config{Importer: l}
	pkg, err := config.Check(path, l.fset, files, info)
	if err != nil {
		return nil, fmt.Errorf("type-check testdata/%s: %w", path, err)
	}
	pass := &analysis.Pass{Fset: l.fset, Files: files, Pkg: pkg, TypesInfo: info}
	l.done[path] = pass
	return pass, nil
}
