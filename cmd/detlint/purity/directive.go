package purity

import (
	"go/ast"
	"go/token"
	"strings"
)

const directivePrefix = "//det:"

// Names of the exceptions.
const (
	orderFree  = "orderfree" // a walk over a map whose order cannot be seen
	table      = "table"     // a package-level variable that nobody writes
	floatingOK = "float"     // floating point that decides nothing
)

// ring0 is the directive that claims a file for ring 0.
const ring0 = "ring0"

// directive is one //det: comment.
type directive struct {
	pos    token.Pos
	name   string
	reason string
	line   int  // the line it excuses
	used   bool // it excused something
}

// readDirectives collects the file's directives. One excuses the line after
// it; of several in a row each excuses the line after the last.
func (f *file) readDirectives(parsed *ast.File) {
	for _, group := range parsed.Comments {
		target := 0
		for i := len(group.List) - 1; i >= 0; i-- {
			comment := group.List[i]
			text, ok := strings.CutPrefix(comment.Text, directivePrefix)
			if !ok {
				target = 0
				continue
			}
			if target == 0 {
				target = f.line(comment.Pos()) + 1
			}
			name, reason, _ := strings.Cut(text, " ")
			f.directives = append(f.directives, &directive{
				pos: comment.Pos(), name: name, reason: strings.TrimSpace(reason), line: target,
			})
		}
	}
}

// excused tells whether a directive called name covers the line of pos, and
// notes that it was needed.
func (f *file) excused(name string, pos token.Pos) bool {
	line := f.line(pos)
	for _, d := range f.directives {
		if d.name == name && d.line == line && d.reason != "" {
			d.used = true
			return true
		}
	}
	return false
}

// checkDirectives reports directives that are wrong or idle. It comes last.
func (f *file) checkDirectives() {
	for _, d := range f.directives {
		switch {
		case d.name == ring0:
			if !f.pure {
				f.report(d.pos, "%s%s, but the table in cmd/detlint/purity/rings.go says otherwise: correct one of them", directivePrefix, ring0)
			}
		case !f.pure:
			f.report(d.pos, "%s%s means nothing outside ring 0: remove it", directivePrefix, d.name)
		case d.name != orderFree && d.name != table && d.name != floatingOK:
			f.report(d.pos, "unknown directive %s%s: there are orderfree, table and float", directivePrefix, d.name)
		case d.reason == "":
			f.report(d.pos, "%s%s needs a reason behind it", directivePrefix, d.name)
		case !d.used:
			f.report(d.pos, "%s%s excuses nothing on line %d: remove it", directivePrefix, d.name, d.line)
		}
	}
}
