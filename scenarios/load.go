package scenarios

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Load reads a scenario, applies the settings (path=value, as after --set) in
// order and checks the whole. The scenario is a file, or the bare name of one in
// the folder scenarios. A mistake is one error that says where it stands
// (file:line:column, or the setting), what was found and what is allowed.
func Load(scenario string, settings []string) (Scenario, error) {
	path, source, err := Read(scenario)
	if err != nil {
		return Scenario{}, err
	}
	return Parse(path, source, settings)
}

// Read returns what Load parses, for those who parse it elsewhere or again: the
// file that is meant, and its content.
func Read(scenario string) (file string, source []byte, err error) {
	file = locate(scenario)
	if source, err = readBounded(file, MaxScenario); err != nil {
		return file, nil, fmt.Errorf("read scenario: %w", err)
	}
	return file, source, nil
}

// locate returns the file that the user's word means.
func locate(scenario string) string {
	if _, err := os.Stat(scenario); err == nil || filepath.Ext(scenario) != "" {
		return scenario
	}
	named := filepath.Join("scenarios", scenario+".yaml")
	if _, err := os.Stat(named); err == nil {
		return named
	}
	return scenario
}

// Parse is Load for a source in memory; file is its name in errors.
func Parse(file string, source []byte, settings []string) (Scenario, error) {
	root, err := parse(source, func(line, column int) string {
		return fmt.Sprintf("%s:%d:%d", file, line, column)
	})
	if err != nil {
		return Scenario{}, err
	}
	for _, setting := range settings {
		where := "--set " + setting
		path, text, ok := strings.Cut(setting, "=")
		if !ok || path == "" {
			return Scenario{}, fmt.Errorf("%s: write --set path=value, such as --set target.durability=memory", where)
		}
		value, err := parse([]byte(text), func(int, int) string { return where })
		if err != nil {
			return Scenario{}, err
		}
		if err := override(root, path, value); err != nil {
			return Scenario{}, err
		}
	}
	v, err := check(root)
	if err != nil {
		return Scenario{}, err
	}
	s := bind(v)
	return s, s.consistent()
}

// ReadPlan reads and checks a plan file. Errors name the file.
func ReadPlan(path string) (Plan, error) {
	data, err := readBounded(path, MaxPlan)
	if err != nil {
		return Plan{}, fmt.Errorf("read plan: %w", err)
	}
	p, err := ParsePlan(data)
	if err != nil {
		return Plan{}, fmt.Errorf("%s: %w", path, err)
	}
	return p, nil
}

// WritePlan writes the canonical bytes of p to a new or emptied file.
func WritePlan(path string, p Plan) error {
	if err := os.WriteFile(path, p.Canonical(), 0o644); err != nil {
		return fmt.Errorf("write plan: %w", err)
	}
	return nil
}

// readBounded reads a file of at most limit bytes; it never holds more.
func readBounded(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("%s has more than %d bytes", path, limit)
	}
	return data, nil
}

// parse reads one YAML document. place gives the words for a position.
func parse(source []byte, place func(line, column int) string) (*node, error) {
	file, err := parser.ParseBytes(source, 0, parser.AllowDuplicateMapKey())
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
		return nil, fmt.Errorf("%s: no value", where)
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
		if _, empty := v.Value.(*ast.NullNode); empty {
			return nil, fmt.Errorf("%s: key %q has no value; leave it out to get its default", at, name.Value)
		}
		value, err := convert(v.Value, place, depth-1)
		if err != nil {
			return nil, err
		}
		out.keys = append(out.keys, entry{name: name.Value, where: at, value: value})
	}
	return out, nil
}
