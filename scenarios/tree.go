//det:ring0

package scenarios

// MaxScenario is the largest scenario file that is read, in bytes.
const MaxScenario = 1 << 20

// maxDepth is deeper than any key, and shallow enough for the recursion.
const maxDepth = 16

// node is the part of YAML a scenario is made of: scalars as they are written,
// lists, and mappings with their keys in order.
type node struct {
	kind   nodeKind
	text   string // scalar
	quoted bool   // scalar: surely a text, never a number
	number bool   // scalar: YAML reads a number or another non-text in it
	keys   []entry
	items  []*node
	where  string // file:line:column, or the --set it comes from
}

type nodeKind uint8

const (
	scalar nodeKind = iota
	mapping
	sequence
)

// entry is one key of a mapping.
type entry struct {
	name  string
	where string
	value *node
}
