package pure

import (
	"fmt"
	"strings"
)

type printer struct{ lines []string }

func (p *printer) logf(format string, args ...any) {
	p.lines = append(p.lines, fmt.Sprintf(format, args...))
}

type link struct{ next *link }

func describe(p *printer, l *link, f func(), b *strings.Builder) string {
	p.logf("at %p", l)                // want "%p in ring 0" "a *link prints as an address"
	p.logf("at %-8[1]p", 1)           // want "%p in ring 0"
	p.logf("links %v", []*link{l})    // want "a []*link prints as an address"
	p.logf("call %v", f)              // want "a func() prints as an address"
	p.logf("number %v", &p.lines[0])  // want "a *string prints as an address"
	fmt.Fprint(b, map[string]*link{}) // want "a map[string]*link prints as an address"
	fmt.Println("hello")              // want "must not use fmt.Println: return the text as an effect"
	if l == nil {
		panic(l) // want "a *link prints as an address"
	}
	return fmt.Sprint("x", f) // want "a func() prints as an address"
}
