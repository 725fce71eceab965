//det:ring0

package scenarios

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// value is one checked value of the file, in the terms of its shape.
type value struct {
	span  span     // numbers: in ns, permille, bytes …
	text  string   // text, names and choices
	list  []string // lists of texts
	set   []int64  // numbers of a set
	count int      // lists of mappings: how many
}

// values holds what the file says by full path (faults.3.kind), and where.
type values struct {
	keys  keyTable
	of    map[string]value
	where map[string]string
}

// check walks the tree along the key table. It returns the first mistake in
// the order of the file.
func check(root *node) (values, error) {
	v := values{keys: keys(), of: map[string]value{}, where: map[string]string{}}
	if root.kind != mapping {
		return v, fmt.Errorf("%s: a scenario is a mapping of keys such as name, workload and faults", root.where)
	}
	v.where[""] = root.where
	return v, v.mapping(root, "", "")
}

// mapping checks the keys of n. path is where n stands in this file, pattern
// the same with [] for each position in a list.
func (v values) mapping(n *node, path, pattern string) error {
	for i, e := range n.keys {
		k, ok := v.keys.at(join(pattern, e.name))
		if !ok {
			allowed := v.keys.children(pattern)
			return fmt.Errorf("%s: unknown key %q in %s%s allowed: %s", e.where, e.name, called(path), orSemicolon(didYouMean(e.name, allowed)), strings.Join(allowed, ", "))
		}
		for _, before := range n.keys[:i] {
			if before.name == e.name {
				return fmt.Errorf("%s: key %q stands twice in %s, first at %s", e.where, e.name, called(path), before.where)
			}
		}
		if err := v.key(e.value, join(path, e.name), k); err != nil {
			return err
		}
	}
	for _, name := range v.keys.children(pattern) {
		k := v.keys.must(join(pattern, name))
		if k.required && !slices.ContainsFunc(n.keys, func(e entry) bool { return e.name == name }) {
			return fmt.Errorf("%s: key %q is missing in %s; write %s", n.where, name, called(path), k.wanted())
		}
	}
	return nil
}

// key checks the value of one key and notes it.
func (v values) key(n *node, path string, k key) error {
	v.where[path] = n.where
	switch k.shape {
	case aMap:
		if n.kind != mapping {
			return wrong(n, path, k)
		}
		v.of[path] = value{}
		return v.mapping(n, path, k.path)
	case aList:
		if n.kind != sequence {
			return wrong(n, path, k)
		}
		if got := int64(len(n.items)); got < k.lo || got > k.hi {
			return fmt.Errorf("%s: %s has %d items; allowed: %d..%d", n.where, path, got, k.lo, k.hi)
		}
		for i, item := range n.items {
			if err := v.key(item, join(path, strconv.Itoa(i)), key{path: k.path + "[]", shape: aMap}); err != nil {
				return err
			}
		}
		v.of[path] = value{count: len(n.items)}
		return nil
	case choices, flags:
		list, err := texts(n, path, k)
		v.of[path] = value{list: list}
		return err
	}
	if k.shape == oneOfSet {
		set, err := numbersOf(n, path, k)
		v.of[path] = value{set: set}
		return err
	}
	if n.kind != scalar {
		return wrong(n, path, k)
	}
	got, err := single(n, path, k)
	v.of[path] = got
	return err
}

// texts checks a list of texts.
func texts(n *node, path string, k key) ([]string, error) {
	if n.kind != sequence {
		return nil, wrong(n, path, k)
	}
	most := k.hi
	if k.shape == choices {
		most = int64(len(k.choices))
	}
	if got := int64(len(n.items)); got < k.lo || got > most {
		return nil, fmt.Errorf("%s: %s has %d items; allowed: %d..%d", n.where, path, got, k.lo, most)
	}
	var list []string
	for _, item := range n.items {
		switch {
		case item.kind != scalar || item.number:
			return nil, wrong(item, path, k)
		case k.shape == choices && !slices.Contains(k.choices, item.text):
			return nil, fmt.Errorf("%s: %s: unknown %q%s allowed: %s", item.where, path, item.text, orSemicolon(didYouMean(item.text, k.choices)), strings.Join(k.choices, ", "))
		case k.shape == choices && slices.Contains(list, item.text):
			return nil, fmt.Errorf("%s: %s: %q stands there twice", item.where, path, item.text)
		case k.shape == flags && !validFlag(item.text):
			return nil, wrong(item, path, k)
		}
		list = append(list, item.text)
	}
	return list, nil
}

// numbersOf checks a number of a set, or a list of such.
func numbersOf(n *node, path string, k key) ([]int64, error) {
	items := n.items
	if n.kind == scalar {
		items = []*node{n}
	}
	if len(items) == 0 {
		return nil, wrong(n, path, k)
	}
	var set []int64
	for _, item := range items {
		number, ok := parseInt(item.text)
		switch {
		case item.kind != scalar || item.quoted || !ok || !slices.Contains(k.set, number):
			return nil, wrong(item, path, k)
		case slices.Contains(set, number):
			return nil, fmt.Errorf("%s: %s: %d stands there twice", item.where, path, number)
		}
		set = append(set, number)
	}
	return set, nil
}

// single checks one scalar.
func single(n *node, path string, k key) (value, error) {
	parse, isNumber := reader(k.shape)
	if isNumber {
		// A quoted number is a text; a quoted 300ms is what it is unquoted.
		if n.quoted && (k.shape == aNumber) {
			return value{}, fmt.Errorf("%s: %s is a text; write the number without quotes", n.where, path)
		}
		s, ok := parse(n.text)
		if !ok {
			return value{}, wrong(n, path, k)
		}
		if s.lo > s.hi {
			return value{}, fmt.Errorf("%s: %s is %s, a range that ends before it begins", n.where, path, n.text)
		}
		if s.lo < k.lo || s.hi > k.hi {
			return value{}, fmt.Errorf("%s: %s is %s; allowed: %s", n.where, path, n.text, k.bounds())
		}
		return value{span: s}, nil
	}
	if n.number {
		return value{}, fmt.Errorf("%s: %s is %s, which YAML takes for a number or truth value; write it in quotes", n.where, path, n.text)
	}
	ok := true
	switch k.shape {
	case aText:
		ok = n.text != "" && int64(len(n.text)) <= k.hi && !strings.ContainsAny(n.text, "\x00\n\r\x1b")
	case aName:
		ok = validTopic(n.text)
	case aSlug:
		ok = validSlug(n.text)
	case anAddress:
		ok = validAddress(n.text)
	case aChoice:
		if !slices.Contains(k.choices, n.text) {
			return value{}, fmt.Errorf("%s: %s is %q%s allowed: %s", n.where, path, n.text, orSemicolon(didYouMean(n.text, k.choices)), strings.Join(k.choices, ", "))
		}
	}
	if !ok {
		return value{}, wrong(n, path, k)
	}
	return value{text: n.text}, nil
}

// reader returns how values of a shape with numbers in it are read.
func reader(s shape) (func(string) (span, bool), bool) {
	one := func(parse func(string) (int64, bool)) func(string) (span, bool) {
		return func(s string) (span, bool) {
			n, ok := parse(s)
			return span{n, n}, ok
		}
	}
	both := func(parse func(string) (int64, bool)) func(string) (span, bool) {
		return func(s string) (span, bool) { return parseSpan(s, parse) }
	}
	switch s {
	case aNumber:
		return one(parseInt), true
	case numbers:
		return both(parseInt), true
	case byteSizes:
		return both(parseSize), true
	case aDuration:
		return one(parseDuration), true
	case durations:
		return both(parseDuration), true
	case offsets:
		return both(signed(parseDuration)), true
	case rates:
		return both(parseRate), true
	case aPercent:
		return one(parsePercent), true
	case percents:
		return both(parsePercent), true
	case millionth:
		return both(signed(parsePPM)), true
	}
	return nil, false
}

// wrong is the error for a value of another type or form than the key's.
func wrong(n *node, path string, k key) error {
	found := fmt.Sprintf("%q", n.text)
	switch n.kind {
	case mapping:
		found = "a mapping"
	case sequence:
		found = "a list"
	case scalar:
		if len(n.text) > maxName {
			found = fmt.Sprintf("%q…", n.text[:maxName])
		}
	}
	return fmt.Errorf("%s: %s is %s; write %s", n.where, path, found, k.wanted())
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// called is how errors name the mapping at a path.
func called(path string) string {
	if path == "" {
		return "the scenario"
	}
	return path
}

// orSemicolon puts a semicolon where no suggestion stands between two parts.
func orSemicolon(suggestion string) string {
	if suggestion == "" {
		return ";"
	}
	return suggestion
}
