package scenarios

import (
	"bytes"
	"fmt"
	"strings"

	"pestle/faults"
)

// kindTable writes the catalog of faults for the handbook: one line each.
func kindTable() []byte {
	var b bytes.Buffer
	b.WriteString("\n| kind | what happens | beside `for` |\n|---|---|---|\n")
	for _, k := range faults.Kinds() {
		fmt.Fprintf(&b, "| [`%s`](faults.md#%s) | %s | %s |\n", k.Kind, k.Kind, k.Does, paramNames(k))
	}
	b.WriteByte('\n')
	return b.Bytes()
}

func paramNames(k faults.Spec) string {
	var names []string
	for _, p := range k.Params {
		switch {
		case noKey(p):
		case p.Optional:
			names = append(names, "(`"+p.Name+"`)")
		default:
			names = append(names, "`"+p.Name+"`")
		}
	}
	return strings.Join(names, ", ")
}

// kindSections writes the catalog of faults in full.
func kindSections() []byte {
	var b bytes.Buffer
	for _, k := range faults.Kinds() {
		fmt.Fprintf(&b, "\n### `%s`\n\n%s.\n\n", k.Kind, sentence(k.Does))
		fmt.Fprintf(&b, "- **Imitates** %s.\n- **Must hold all the same:** %s.\n", k.Imitates, k.Survives)
		switch {
		case k.Cluster && !k.Loses():
			b.WriteString("- **Atlas:** for clusters; it stays among the brokers.\n")
		case k.Cluster:
			b.WriteString("- **Atlas:** for clusters; over a run it may hit a minority of the brokers.\n")
		case k.Loses():
			b.WriteString("- **Atlas:** one copy of a message cannot survive it: with one broker only `no-data-corruption` can be required; of a cluster it may hit a minority over a run.\n")
		case k.TakesAway:
			b.WriteString("- **Atlas:** of a cluster it takes a broker away: a minority at a time.\n")
		}
		fmt.Fprintf(&b, "- **Worlds:** %s. **Targets:** %s.\n", strings.Join(k.Worlds, ", "), roleList(k.Roles))
		b.WriteString("\n| parameter | value | meaning |\n|---|---|---|\n")
		if k.MaxFor > 0 {
			fmt.Fprintf(&b, "| `for` | duration or range, %s | %s |\n", forBounds(k), k.ForIs)
		} else {
			fmt.Fprintf(&b, "| `for` | none | %s |\n", k.ForIs)
		}
		for _, p := range k.Params {
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", p.Name, paramValue(p), p.Is)
		}
	}
	b.WriteByte('\n')
	return b.Bytes()
}

func sentence(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

func roleList(roles []faults.Role) string {
	var out []string
	for _, r := range roles {
		out = append(out, string(r))
	}
	return strings.Join(out, ", ")
}

// noKey tells of a parameter that follows from others or is drawn.
func noKey(p faults.Param) bool { return p.Name == "side" || p.Name == "among" }

func paramValue(p faults.Param) string {
	var value string
	switch {
	case noKey(p):
		return "not a key; the plan shows it"
	case p.Name == "shape":
		value = "see the [shapes](#shapes-of-a-partition)"
	case p.Name == "peer":
		value = "written like `target`"
	default:
		value = briefly(key{shape: shapeOf(p), lo: p.Min, hi: p.Max})
	}
	if p.Optional {
		value += "; may be left out"
	}
	return value
}

func shapeTable() []byte {
	var b bytes.Buffer
	b.WriteString("\n| shape | what happens | `side` in the plan |\n|---|---|---|\n")
	for _, f := range faults.Shapes() {
		side := f.SideIs
		if side == "" {
			side = "none"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", f.Shape, f.Does, side)
	}
	b.WriteByte('\n')
	return b.Bytes()
}

func pointTable() []byte {
	var b bytes.Buffer
	b.WriteString("\n| point | passed when |\n|---|---|\n")
	for _, p := range faults.Points() {
		fmt.Fprintf(&b, "| `%s` | %s |\n", p.Name, p.When)
	}
	b.WriteByte('\n')
	return b.Bytes()
}
