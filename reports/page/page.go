package page

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // the style sheet and the script
	"encoding/base64"
	"fmt"
	"html/template"
	"os"
	"path/filepath"
)

// Style is the style sheet of every page.
//
//go:embed style.css
var Style string

// Script is the script of every page.
//
//go:embed script.js
var Script string

// Look is what a page's head and end are made of. A template's data embeds it.
type Look struct {
	Style  template.CSS
	Script template.JS
	Policy string // content of the Content-Security-Policy
}

// NewLook returns the look of every page.
func NewLook() Look {
	return Look{
		Style: template.CSS(Style), Script: template.JS(Script),
		Policy: fmt.Sprintf("default-src 'none'; base-uri 'none'; form-action 'none'; style-src 'sha256-%s'; script-src 'sha256-%s'",
			Digest(Style), Digest(Script)),
	}
}

// Digest is the hash by which the policy names a script or a style sheet.
func Digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// Parse returns a page's template, in which number, share, span and clip write
// as Number, Share, Span and Clip do. It panics on an error in the text, which
// is part of the program.
func Parse(name, text string) *template.Template {
	functions := template.FuncMap{"number": Number, "share": Share, "span": Span, "clip": Clip}
	return template.Must(template.New(name).Funcs(functions).Parse(text))
}

// Render fills in a page.
func Render(text *template.Template, view any) ([]byte, error) {
	var b bytes.Buffer
	if err := text.Execute(&b, view); err != nil {
		return nil, err
	}
	return bytes.Map(harmless, b.Bytes()), nil
}

// Replace writes a file in one step: the bytes are on disk under another name
// before the rename, so that a reader sees the old file or the new one, never a
// part.
func Replace(path string, content []byte) (err error) {
	temp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer func() {
		if err != nil {
			_ = temp.Close() // already closed on some paths; the first error is the one to tell
			_ = os.Remove(temp.Name())
			err = fmt.Errorf("write %s: %w", path, err)
		}
	}()
	if _, err = temp.Write(content); err != nil {
		return err
	}
	if err = temp.Chmod(0o644); err != nil {
		return err
	}
	if err = temp.Sync(); err != nil {
		return err
	}
	if err = temp.Close(); err != nil {
		return err
	}
	return os.Rename(temp.Name(), path)
}
