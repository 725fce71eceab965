package mixed

// Plan is pure.
type Plan struct{ N int }

// Bounds of a plan.
type Bounds struct{ Max int }

func (b *Bounds) Raise() { b.Max++ }

// Limits is exported, so that other packages could try to write it.
//
//det:table bounds of every plan
var Limits = Bounds{Max: 3}

func load(name string) ([]byte, error) {
	f := Open(name) // want "Open is declared in a driver file"
	return f.Read() // want "Read is declared in a driver file"
}
