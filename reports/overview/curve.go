package overview

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"pestle/campaign/rate"
	"pestle/campaign/result"
	"pestle/reports/page"
)

// Size of the curve's own coordinates.
const (
	curveWidth  = 1000
	curveHeight = 1000
)

// curve is the picture of distinct states over runs. Runs are on a logarithmic
// scale: the first ten bring as much as the next hundred.
type curve struct {
	Path   string
	Dots   []dot
	Ticks  []dot
	Width  int
	Height int
	Top    string // states at the upper line
	Label  string // the picture in one sentence
	Rise   string // how much the second half of the runs brought
}

// dot is a place in the picture, in percents of it.
type dot struct{ X, Y, Text string }

// newCurve returns nil when no state was met.
func newCurve(steps []result.Step) *curve {
	if len(steps) == 0 || steps[len(steps)-1].States == 0 {
		return nil
	}
	last := steps[len(steps)-1]
	c := &curve{
		Width: curveWidth, Height: curveHeight, Top: page.Counted(last.States, "state"),
		Label: fmt.Sprintf("Distinct states over runs: %s after the first, %s after %s", page.Number(steps[0].States), page.Number(last.States), page.Counted(last.Runs, "run")),
	}
	var path strings.Builder
	for i, s := range steps {
		x, y := place(s, last)
		fmt.Fprintf(&path, "%c%.1f %.1f", "ML"[min(i, 1)], x*curveWidth, y*curveHeight)
		d := dot{X: percent(x), Y: percent(y), Text: fmt.Sprintf("%s after %s", page.Counted(s.States, "state"), page.Counted(s.Runs, "run"))}
		c.Dots = append(c.Dots, d)
		if i == len(steps)-1 || isPowerOfTen(s.Runs) && 10*s.Runs <= 5*last.Runs {
			c.Ticks = append(c.Ticks, dot{X: d.X, Text: page.Number(s.Runs)})
		}
	}
	c.Path = path.String()
	c.Rise = rise(steps)
	return c
}

// place is where a step stands, from the upper left corner, in parts of the
// picture.
func place(s, last result.Step) (x, y float64) {
	x = 1
	if last.Runs > 1 {
		x = math.Log(float64(s.Runs)) / math.Log(float64(last.Runs))
	}
	return x, 1 - float64(s.States)/float64(last.States)
}

func percent(part float64) string { return strconv.FormatFloat(100*part, 'f', 2, 64) }

func isPowerOfTen(n int64) bool {
	for n > 1 && n%10 == 0 {
		n /= 10
	}
	return n == 1
}

// rise says what the later runs brought. A curve that still rises asks for more
// seeds, a flat one for a scenario that does more.
func rise(steps []result.Step) string {
	last := steps[len(steps)-1]
	for i := len(steps) - 1; i >= 0; i-- {
		if s := steps[i]; 2*s.Runs <= last.Runs {
			share := (last.States - s.States) * rate.Million / last.States
			return fmt.Sprintf("%s of the states were met only after run %s.", page.Share(share), page.Number(s.Runs))
		}
	}
	return ""
}
