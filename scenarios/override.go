//det:ring0

package scenarios

import (
	"fmt"
	"strings"
)

// override replaces or adds one value of the tree. Words of the path are keys,
// or positions in lists, counted from 0. The value is checked later, with the
// rest of the file.
func override(root *node, path string, value *node) error {
	where, at := value.where, root
	words := strings.Split(path, ".")
	if len(words) > maxDepth {
		return fmt.Errorf("%s: the path is longer than any key", where)
	}
	for i, word := range words {
		done := strings.Join(words[:i], ".")
		last := i == len(words)-1
		switch at.kind {
		case mapping:
			at = at.child(word, where, last, value)
		case sequence:
			n, ok := parseInt(word)
			if !ok || n >= int64(len(at.items)) {
				return fmt.Errorf("%s: %s is a list with %d items; %q is none of 0..%d", where, done, len(at.items), word, len(at.items)-1)
			}
			if last {
				at.items[n] = value
			}
			at = at.items[n]
		default:
			return fmt.Errorf("%s: %s is a value and has no key %q", where, done, word)
		}
	}
	return nil
}

// child returns the value of a key, set to value when it is the last of its
// path, and otherwise made when it is missing.
func (n *node) child(name, where string, last bool, value *node) *node {
	for i := range n.keys {
		if n.keys[i].name != name {
			continue
		}
		if last {
			n.keys[i] = entry{name: name, where: where, value: value}
		}
		return n.keys[i].value
	}
	if !last {
		value = &node{kind: mapping, where: where}
	}
	n.keys = append(n.keys, entry{name: name, where: where, value: value})
	return value
}
