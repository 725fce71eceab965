package scenarios

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

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

// parse reads one YAML document. place gives the words for a position.
func parse(source []byte, place func(line, column int) string) (*node, error) {
	file, err := parser.ParseBytes(source, 0)
	if err != nil {
		return nil, syntaxError(err, place)
	}
	if len(file.Docs) > 1 {
		at := file.Docs[1].GetToken()
		return nil, fmt.Errorf("%s: a second YAML document; a scenario is one", spot(at, place))
	}
	if len(file.Docs) == 0 || file.Docs[0].Body == nil {
		return nil, fmt.Errorf("%s: nothing there", place(1, 1))
	}
	return convert(file.Docs[0].Body, place, maxDepth)
}

// syntaxError turns the parser's error, which is a picture of the source, into
// one line.
func syntaxError(err error, place func(line, column int) string) error {
	var y yaml.Error
	if errors.As(err, &y) {
		return fmt.Errorf("%s: no valid YAML: %s", spot(y.GetToken(), place), y.GetMessage())
	}
	first, _, _ := strings.Cut(err.Error(), "\n")
	return fmt.Errorf("%s: no valid YAML: %s", place(1, 1), first)
}

func spot(t *token.Token, place func(line, column int) string) string {
	if t == nil || t.Position == nil {
		return place(1, 1)
	}
	return place(t.Position.Line, t.Position.Column)
}

func convert(n ast.Node, place func(line, column int) string, depth int) (*node, error) {
	where := spot(n.GetToken(), place)
	if depth == 0 {
		return nil, fmt.Errorf("%s: nested deeper than any key", where)
	}
	switch n := n.(type) {
	case *ast.MappingNode:
		if len(n.Values) > 0 {
			where = spot(n.Values[0].Key.GetToken(), place)
		}
		return convertMapping(n.Values, where, place, depth)
	case *ast.MappingValueNode:
		return convertMapping([]*ast.MappingValueNode{n}, spot(n.Key.GetToken(), place), place, depth)
	case *ast.SequenceNode:
		out := &node{kind: sequence, where: where}
		for _, v := range n.Values {
			item, err := convert(v, place, depth-1)
			if err != nil {
				return nil, err
			}
			out.items = append(out.items, item)
		}
		return out, nil
	case *ast.StringNode:
		quoted := n.Token.Type == token.SingleQuoteType || n.Token.Type == token.DoubleQuoteType
		return &node{text: n.Value, quoted: quoted, where: where}, nil
	case *ast.LiteralNode:
		return &node{text: strings.TrimSuffix(n.Value.Value, "\n"), quoted: true, where: where}, nil
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return &node{text: n.GetToken().Value, number: true, where: where}, nil
	case *ast.NullNode:
		return nil, fmt.Errorf("%s: no value; leave the key out to get its default", where)
	}
	return nil, fmt.Errorf("%s: anchors, aliases, tags and merge keys are not for scenarios; write the value out", where)
}

func convertMapping(values []*ast.MappingValueNode, where string, place func(line, column int) string, depth int) (*node, error) {
	out := &node{kind: mapping, where: where}
	for _, v := range values {
		at := spot(v.Key.GetToken(), place)
		name, ok := v.Key.(*ast.StringNode)
		if !ok {
			return nil, fmt.Errorf("%s: a key has to be a plain word", at)
		}
		value, err := convert(v.Value, place, depth-1)
		if err != nil {
			return nil, err
		}
		out.keys = append(out.keys, entry{name: name.Value, where: at, value: value})
	}
	return out, nil
}
