// Package pagetest is what the tests of pages share: a reader as strict as
// XML, the rules that every page keeps, and a headless browser that tells what
// a page said and asked for.
//
// It owns no page and is imported by tests alone.
//
//	for _, e := range pagetest.Alone(t, content, func(link string) bool { return link == "plan.json" }) {
//		fmt.Println(e.Name, e.Attrs["id"])
//	}
//	seen := pagetest.Open(t, "runs/1/report.html")
//	fmt.Println(seen.Texts("td"))
package pagetest

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"pestle/reports/page"
)

// Element is one start tag of a page.
type Element struct {
	Name  string
	Attrs map[string]string
}

// Parse reads a page as strictly as XML would, but for attributes without a
// value: every element is closed where it was opened.
func Parse(t *testing.T, content []byte) []Element {
	t.Helper()
	for _, code := range []string{page.Style, page.Script} { // not markup
		content = bytes.Replace(content, []byte(code), nil, 1)
	}
	d := xml.NewDecoder(bytes.NewReader(content))
	d.Strict = false
	d.AutoClose = []string{"meta"}
	d.Entity = xml.HTMLEntity
	var elements []Element
	var open []string
	for {
		token, err := d.RawToken()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("the page does not parse: %v", err)
		}
		switch tok := token.(type) {
		case xml.StartElement:
			e := Element{Name: tok.Name.Local, Attrs: map[string]string{}}
			for _, a := range tok.Attr {
				e.Attrs[a.Name.Local] = a.Value
			}
			elements = append(elements, e)
			if e.Name != "meta" {
				open = append(open, e.Name)
			}
		case xml.EndElement:
			if len(open) == 0 || open[len(open)-1] != tok.Name.Local {
				t.Fatalf("</%s> closes %v", tok.Name.Local, open)
			}
			open = open[:len(open)-1]
		}
	}
	if len(open) > 0 {
		t.Fatalf("never closed: %v", open)
	}
	return elements
}

// Alone checks that a page is whole and needs nothing beside itself: ids are
// there once and links within the page lead somewhere; a link out of it is one
// that allowed accepts; no element or attribute could load or run anything. It
// returns the page's elements.
func Alone(t *testing.T, content []byte, allowed func(link string) bool) []Element {
	t.Helper()
	elements := Parse(t, content)
	ids, count := map[string]bool{}, map[string]int{}
	for _, e := range elements {
		count[e.Name]++
		if id := e.Attrs["id"]; id != "" {
			if ids[id] {
				t.Errorf("the id %s is there twice", id)
			}
			ids[id] = true
		}
	}
	for _, name := range []string{"html", "head", "body", "main", "h1", "style", "script"} {
		if count[name] != 1 {
			t.Errorf("%d elements <%s>, want 1", count[name], name)
		}
	}
	for _, name := range []string{"link", "img", "iframe", "object", "embed", "base", "form", "use", "image", "foreignObject"} {
		if count[name] != 0 {
			t.Errorf("%d elements <%s>, want none", count[name], name)
		}
	}
	for _, e := range elements {
		for attr, value := range e.Attrs {
			switch {
			case attr == "href" && strings.HasPrefix(value, "#"):
				if !ids[value[1:]] {
					t.Errorf("the link %s leads nowhere", value)
				}
			case attr == "href":
				if !allowed(value) {
					t.Errorf("a link leaves the directory: %s", value)
				}
			case attr == "aria-labelledby" || attr == "aria-describedby":
				if !ids[value] {
					t.Errorf("%s names %s, which is not there", attr, value)
				}
			case slices.Contains([]string{"src", "srcset", "data", "style"}, attr) || strings.HasPrefix(attr, "on"):
				t.Errorf("<%s> has an attribute %s", e.Name, attr)
			}
		}
	}
	return elements
}
