package pure

import (
	"errors"
	"io"
)

var counter int // want "package-level variable counter in ring 0"

var (
	ErrGone  = errors.New("gone")
	lazy     error                     // want "package-level variable lazy in ring 0"
	one, two = errors.New("1"), any(2) // want "package-level variable one in ring 0"
)

// Table is exported, so that a driver could try to write it.
//
//det:table names of the tests
var Table = []string{"a", "b"}

//det:table sizes of the tests
var sizes = [4]int{1, 2, 3, 4}

//det:table names by number
var names = map[int]string{1: "one"}

//det:table rows with parts
var rows = []row{{cells: []int{1}}}

//det:table the first size
var first = new(int)

type row struct {
	cells []int
	n     int
}

func (r *row) grow()    { r.n++ }
func (r row) size() int { return r.n }

func write() {
	counter++                  // want "assigns to the package-level variable counter"
	ErrGone = nil              // want "assigns to the package-level variable ErrGone"
	io.EOF = nil               // want "assigns to the package-level variable EOF"
	*first = 2                 // want "assigns to the package-level variable first"
	Table[0] = "c"             // want "assigns to the package-level variable Table"
	_ = append(Table[:1], "d") // want "append writes the package-level variable Table"
	copy(Table, Table)         // want "copy writes the package-level variable Table"
	delete(names, 1)           // want "delete writes the package-level variable names"
	clear(names)               // want "clear writes the package-level variable names"
	names[2] = "two"           // want "assigns to the package-level variable names"
	p := &sizes[1]             // want "takes the address of the package-level variable sizes"
	*p = 3
	s := sizes[:] // want "takes the address of the package-level variable sizes"
	s[0] = 2
	rows[0].n, s[1] = 4, 5  // want "assigns to the package-level variable rows"
	(rows[0]).cells[0] = 1  // want "assigns to the package-level variable rows"
	rows[0].grow()          // want "calls a pointer method of the package-level variable rows"
	for counter = range s { // want "assigns to the package-level variable counter"
	}
}
