package scenarios

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

// update writes what the key table says into schema.json and the handbook:
// go test ./scenarios -run Documented -update
var update = flag.Bool("update", false, "rewrite schema.json and the key tables of the handbook")

const handbook = "../docs/writing-a-scenario.md"

// TestDocumentedInSchema: editors check a scenario with the same keys, choices
// and forms as the loader.
func TestDocumentedInSchema(t *testing.T) {
	sameFile(t, "schema.json", func([]byte) []byte { return schema(t) })
}

// TestDocumentedInHandbook: the tables in the handbook are the loader's and the
// catalog's.
func TestDocumentedInHandbook(t *testing.T) {
	sameFile(t, handbook, func(old []byte) []byte {
		return fill(t, fill(t, old, "keys", keyTables()), "kinds", kindTable())
	})
}

// TestDocumentedInFaults: the pages about faults are the catalog's.
func TestDocumentedInFaults(t *testing.T) {
	sameFile(t, "../docs/faults.md", func(old []byte) []byte {
		old = fill(t, old, "kinds", kindSections())
		old = fill(t, old, "shapes", shapeTable())
		return fill(t, old, "points", pointTable())
	})
}

// fill replaces what stands between the marks of a part.
func fill(t *testing.T, text []byte, part string, want []byte) []byte {
	t.Helper()
	begin, end := []byte("<!-- "+part+": begin -->\n"), []byte("<!-- "+part+": end -->\n")
	before, rest, ok := bytes.Cut(text, begin)
	_, after, closed := bytes.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("no part between %q and %q", begin, end)
	}
	return bytes.Join([][]byte{before, begin, want, end, after}, nil)
}

func sameFile(t *testing.T, path string, want func(old []byte) []byte) {
	t.Helper()
	old, err := os.ReadFile(path)
	if err != nil && !*update {
		t.Fatal(err)
	}
	now := want(old)
	if bytes.Equal(old, now) {
		return
	}
	if !*update {
		t.Fatalf("%s does not say what the key table says; run: go test ./scenarios -run Documented -update", path)
	}
	if err := os.WriteFile(path, now, 0o644); err != nil {
		t.Fatal(err)
	}
}

// The forms of values as regular expressions, for editors.
const (
	numberForm   = `(0|[1-9][0-9]*)`
	durationForm = numberForm + `(us|ms|s|m|h)`
	sizeForm     = numberForm + `(KiB|MiB|GiB)?`
	rateForm     = numberForm + `/s`
	percentForm  = numberForm + `(\.[0-9])?%`
	ppmForm      = `-?` + numberForm + `ppm`
)

func rangeForm(form string) string { return "^" + form + `(\.\.` + form + ")?$" }

// object is a JSON object in the order it is written down.
type object []field

type field struct {
	name  string
	value any
}

func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, f := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := json.Marshal(f.name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(f.value)
		if err != nil {
			return nil, err
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

func schema(t *testing.T) []byte {
	top := object{
		{"$schema", "https://json-schema.org/draft/2020-12/schema"},
		{"title", "Pestle scenario"},
		{"description", "Bounds of durations, rates and percentages stand in the descriptions; pestle plan checks them all."},
	}
	compact, err := json.Marshal(append(top, mappingSchema("")...))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := json.Indent(&out, compact, "", "  "); err != nil {
		t.Fatal(err)
	}
	out.WriteByte('\n')
	return out.Bytes()
}

// mappingSchema describes the keys below a pattern.
func mappingSchema(pattern string) object {
	var properties object
	var required []string
	for _, name := range keys().children(pattern) {
		k := keys().must(join(pattern, name))
		properties = append(properties, field{name, append(object{{"description", k.about + limits(k)}}, valueSchema(k)...)})
		if k.required {
			required = append(required, name)
		}
	}
	out := object{{"type", "object"}, {"additionalProperties", false}}
	if required != nil {
		out = append(out, field{"required", required})
	}
	return append(out, field{"properties", properties})
}

func limits(k key) string {
	var out string
	if b := k.bounds(); b != "" {
		out += "; " + b
	}
	if k.byDef != "" {
		out += "; default " + k.byDef
	}
	return out
}

func valueSchema(k key) object {
	text := func(form string) object { return object{{"type", "string"}, {"pattern", form}} }
	whole := object{{"type", "integer"}, {"minimum", k.lo}, {"maximum", k.hi}}
	switch k.shape {
	case aMap:
		return mappingSchema(k.path)
	case aList:
		return object{{"type", "array"}, {"minItems", k.lo}, {"maxItems", k.hi}, {"items", mappingSchema(k.path + "[]")}}
	case aText:
		return object{{"type", "string"}, {"minLength", 1}, {"maxLength", k.hi}}
	case aName:
		return text("^[A-Za-z0-9._-]{1,64}$")
	case aSlug:
		return text("^[a-z][a-z0-9-]{0,63}$")
	case aChoice:
		return object{{"enum", k.choices}}
	case choices:
		return object{{"type", "array"}, {"minItems", k.lo}, {"uniqueItems", true}, {"items", object{{"enum", k.choices}}}}
	case flags:
		return object{{"type", "array"}, {"maxItems", k.hi}, {"items", text("^-.{1,255}$")}}
	case anAddress:
		return text("^[^ /@?#]+:[0-9]+$")
	case aNumber:
		return whole
	case oneOfSet:
		return object{{"anyOf", []object{{{"enum", k.set}}, {{"type", "array"}, {"minItems", 1}, {"uniqueItems", true}, {"items", object{{"enum", k.set}}}}}}}
	case numbers:
		return object{{"anyOf", []object{whole, text(rangeForm(numberForm))}}}
	case byteSizes:
		return object{{"anyOf", []object{whole, text(rangeForm(sizeForm))}}}
	case aDuration:
		return text("^" + durationForm + "$")
	case durations:
		return text(rangeForm(durationForm))
	case offsets:
		return text(rangeForm("-?" + durationForm))
	case rates:
		return text(rangeForm(rateForm))
	case aPercent:
		return text("^" + percentForm + "$")
	case percents:
		return text(rangeForm(percentForm))
	case millionth:
		return text(rangeForm(ppmForm))
	}
	panic("shape without schema")
}

// TestFormsAgree: what an editor accepts as a form, the loader reads, and the
// other way round.
func TestFormsAgree(t *testing.T) {
	texts := []string{
		"0", "5", "05", "-5", "+5", "2..5", "2..", "..5", "1..2..3", "1.5", "1_000", "5 ", "",
		"300ms", "300ms..2s", "300..2s", "2s", "2us", "2m", "2h", "2d", "2", "02s", "1.5s", "1m30s", "s",
		"80/s", "80/m", "20/s..80/s", "20..80/s", "1%..5.5%", "1..5%", "64KiB", "64KiB..1MiB", "0..1MiB", "1GiB", "1KB", "1 KiB", "KiB",
		"-2s", "-2s..2s", "2s..-2s", "--2s", "-s", "500ppm", "-500ppm..500ppm", "500", "-ppm", "1.5ppm", "/s", "1%", "0.5%", "0.25%", ".5%", "1.%", "%", "01%",
	}
	for _, k := range keys() {
		read, isNumber := reader(k.shape)
		if !isNumber || k.shape == aNumber {
			continue // YAML itself tells whole numbers
		}
		form := formOf(t, valueSchema(k))
		for _, text := range texts {
			_, reads := read(text)
			if matches := form.MatchString(text); matches != reads {
				t.Errorf("%s: %q: the schema says %v, the loader %v", k.path, text, matches, reads)
			}
		}
	}
}

func formOf(t *testing.T, o object) *regexp.Regexp {
	t.Helper()
	data, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	var s struct {
		Pattern string
		AnyOf   []struct{ Pattern string }
	}
	if err := json.Unmarshal(data, &s); err != nil {
		t.Fatal(err)
	}
	for _, a := range s.AnyOf {
		s.Pattern += a.Pattern
	}
	return regexp.MustCompile(s.Pattern)
}

// TestKeyTable: every key has a place, words and a default that its own bounds
// allow.
func TestKeyTable(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range keys() {
		if seen[k.path] {
			t.Errorf("%s stands in the table twice", k.path)
		}
		seen[k.path] = true
		if i := strings.LastIndexByte(k.path, '.'); i > 0 {
			above := strings.TrimSuffix(k.path[:i], "[]")
			if !seen[above] {
				t.Errorf("%s stands before %s", k.path, above)
			}
		}
		if k.about == "" || k.wanted() == "" {
			t.Errorf("%s has no words", k.path)
		}
		if k.required && k.byDef != "" {
			t.Errorf("%s is required and has a default", k.path)
		}
		if read, isNumber := reader(k.shape); isNumber && k.byDef != "" {
			s, ok := read(k.byDef)
			if !ok || s.lo > s.hi || s.lo < k.lo || s.hi > k.hi {
				t.Errorf("%s: default %s is not allowed", k.path, k.byDef)
			}
		}
	}
}

// keyTables writes the key table for the handbook: one table for the top and
// one for each mapping.
func keyTables() []byte {
	var b bytes.Buffer
	b.WriteString("\n### At the top\n")
	writeKeys(&b, "")
	for _, k := range keys() {
		switch k.shape {
		case aMap:
			fmt.Fprintf(&b, "\n### `%s`\n", k.path)
			writeKeys(&b, k.path)
		case aList:
			fmt.Fprintf(&b, "\n### `%s`: each item\n", k.path)
			writeKeys(&b, k.path+"[]")
		}
	}
	b.WriteByte('\n')
	return b.Bytes()
}

func writeKeys(b *bytes.Buffer, pattern string) {
	b.WriteString("\n| key | value | default | meaning |\n|---|---|---|---|\n")
	for _, name := range keys().children(pattern) {
		k := keys().must(join(pattern, name))
		byDefault := ""
		switch {
		case k.required:
			byDefault = "**required**"
		case k.byDef != "":
			byDefault = "`" + k.byDef + "`"
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", name, briefly(k), byDefault, strings.ReplaceAll(k.about, "<", "&lt;"))
	}
}

// briefly is key.wanted for readers who know how values are written.
func briefly(k key) string {
	switch k.shape {
	case aMap:
		return "mapping, see below"
	case aList:
		return fmt.Sprintf("list of %d..%d mappings, see below", k.lo, k.hi)
	case aChoice:
		return "`" + strings.Join(k.choices, "`, `") + "`"
	case choices:
		return "list of `" + strings.Join(k.choices, "`, `") + "`"
	case aDuration:
		return "duration, " + k.bounds()
	case durations, offsets:
		return "duration or range, " + k.bounds()
	case aNumber:
		return "number, " + k.bounds()
	case oneOfSet:
		return "`" + strings.ReplaceAll(joinNumbers(k.set), ", ", "`, `") + "`, or list of them"
	case numbers:
		return "number or range, " + k.bounds()
	case byteSizes:
		return "bytes or range, " + k.bounds()
	case rates:
		return "rate or range, " + k.bounds()
	case aPercent:
		return "percentage, " + k.bounds()
	case percents:
		return "percentage or range, " + k.bounds()
	case millionth:
		return "parts per million or range, " + k.bounds()
	}
	return k.wanted()
}

// TestHandbookExamples: what the handbook shows works.
func TestHandbookExamples(t *testing.T) {
	text, err := os.ReadFile(handbook)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "```yaml\n")
	example, _, ok := strings.Cut(rest, "```\n")
	if !ok {
		t.Fatal("no example")
	}
	s, err := Parse("example", []byte(example), nil)
	if err != nil {
		t.Fatal(err)
	}
	for seed := uint64(1); seed <= 100; seed++ {
		for _, wrong := range brokenRules(s, expand(t, s, seed)) {
			t.Errorf("seed %d: %s", seed, wrong)
		}
	}

	commands := 0
	for _, line := range strings.Split(string(text), "\n") {
		if !strings.HasPrefix(line, "pestle run first-light --set ") {
			continue
		}
		commands++
		var settings []string
		for _, part := range strings.Split(line, " --set ")[1:] {
			settings = append(settings, strings.Trim(part, "'"))
		}
		if _, err := Load("first-light.yaml", settings); err != nil {
			t.Errorf("%s\n%v", line, err)
		}
	}
	if commands == 0 {
		t.Error("no command with --set")
	}
}
