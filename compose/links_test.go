package compose

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The image has the program by every name that somebody calls it by, in
// directories that are there first.
func TestTheImageHasTheLinks(t *testing.T) {
	program := filepath.Join(t.TempDir(), "pestle")
	if err := os.WriteFile(program, []byte("a program"), 0o700); err != nil {
		t.Fatal(err)
	}
	var image bytes.Buffer
	if err := writeImage(&image, program); err != nil {
		t.Fatal(err)
	}
	dirs, found := map[string]bool{".": true}, []string{}
	for archive := tar.NewReader(&image); ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if !dirs[filepath.Dir(strings.TrimSuffix(h.Name, "/"))] {
			t.Errorf("%s comes before its directory", h.Name)
		}
		switch h.Typeflag {
		case tar.TypeDir:
			dirs[strings.TrimSuffix(h.Name, "/")] = true
		case tar.TypeSymlink:
			found = append(found, "/"+h.Name)
			if h.Linkname != programPath {
				t.Errorf("%s leads to %s", h.Name, h.Linkname)
			}
		}
	}
	if !slices.Equal(found, links()) {
		t.Errorf("links %q, want %q", found, links())
	}
}

// The Dockerfile copies the same ones, from files of this repository.
func TestTheDockerfileHasTheLinks(t *testing.T) {
	var want, found []string
	for _, link := range links() {
		if strings.HasPrefix(link, templatePath) {
			want = append(want, link)
		}
	}
	entries, err := os.ReadDir(filepath.Join("image", templatePath))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		to, err := os.Readlink(filepath.Join("image", templatePath, e.Name()))
		if err != nil || to != programPath {
			t.Errorf("%s leads to %q, %v", e.Name(), to, err)
		}
		found = append(found, filepath.Join(templatePath, e.Name()))
	}
	slices.Sort(want)
	if !slices.Equal(found, want) {
		t.Errorf("links %q, want %q", found, want)
	}
	dockerfile, err := os.ReadFile(filepath.Join("..", "Dockerfile"))
	if line := "COPY compose/image/opt/ /opt/\n"; err != nil || strings.Count(string(dockerfile), line) != 2 {
		t.Errorf("the Dockerfile (%v) does not have the line %q in both images", err, line)
	}
}
