package pure

import (
	"fmt"
	"strings"
	u "unsafe" // want "ring 0 must not import unsafe"
)

type printer struct{ lines []string }

func (p *printer) logf(format string, args ...any) {
	p.lines = append(p.lines, fmt.Sprintf(format, args...))
}

type link struct{ next *link }

type hidden struct{ by *by }

type by struct{}

func (*by) String() string { return "by" }

type ring []ring

type shown struct{ By *by }

func (shown) Error() string { return "shown" }

type numbers struct{ named struct{ n, m int } }

func (numbers) Format(fmt.State, rune) {}

func describe(p *printer, l *link, f func(), b *strings.Builder) string {
	p.logf("at %p", l)                              // want "%p in ring 0" "a *link prints as an address"
	p.logf("at %-8[1]p", 1)                         // want "%p in ring 0"
	p.logf("links %v", []*link{l})                  // want "a []*link prints as an address"
	p.logf("call %v", f)                            // want "a func() prints as an address"
	p.logf("number %v", &p.lines[0])                // want "a *string prints as an address"
	fmt.Fprint(b, map[string]*link{})               // want "a map[string]*link prints as an address"
	fmt.Fprint(b, [1]func(){f}, map[chan int]int{}) // want "a [1]func() prints as an address" "a map[chan int]int prints as an address" "channel in ring 0" "map key chan int in ring 0"
	fmt.Fprint(b, hidden{})                         // want "a hidden prints as an address"
	fmt.Fprint(b, ring{}, &by{}, 100, struct{ By *by }{}, []*shown{}, []*numbers{})
	fmt.Fprint(b, struct{ deep struct{ Out shown } }{}) // want "prints as an address"
	fmt.Fprint(b, u.Pointer(l))                         // want "a unsafe.Pointer prints as an address"
	fmt.Fprint(b, map[string]func(){})                  // want "a map[string]func() prints as an address"
	p.logf("100%% of %s, %[1]*[2]d%", "it", 1)
	fmt.Println("hello") // want "must not use fmt.Println: return the text as an effect"
	fmt.Print("hello")   // want "must not use fmt.Print: return"
	fmt.Printf("hello")  // want "must not use fmt.Printf: return"
	fmt.Scan(&p.lines)   // want "must not use fmt.Scan: take"
	fmt.Scanf("%s", 1)   // want "must not use fmt.Scanf: take"
	fmt.Scanln(&p.lines) // want "must not use fmt.Scanln: take"
	if l == nil {
		panic(l) // want "a *link prints as an address"
	}
	return fmt.Sprint("x", f) // want "a func() prints as an address"
}
