package compose

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/docker/docker/api/types/image"
)

// Where things are in a container.
const (
	programPath = "/pestle"
	runPath     = "/run/pestle" // the run directory, as far as the container has it
)

// importImage makes the run's image: the program, and the places where the run
// directory's parts appear. It returns the image's name.
func (e *Engine) importImage(ctx context.Context, program, run string, labels map[string]string) (string, error) {
	sum, err := hashFile(program)
	if err != nil {
		return "", fmt.Errorf("make the image: %w", err)
	}
	name := fmt.Sprintf("pestle-%s:%x", run, sum[:6])
	content, w := io.Pipe()
	go func() { w.CloseWithError(writeImage(w, program)) }()
	changes := []string{fmt.Sprintf("ENTRYPOINT [%q]", programPath)}
	for key, value := range labels {
		changes = append(changes, fmt.Sprintf("LABEL %s=%q", key, value))
	}
	answer, err := e.api.ImageImport(ctx, image.ImportSource{Source: content, SourceName: "-"}, name, image.ImportOptions{Changes: changes})
	if err == nil {
		err = errors.Join(imported(answer), answer.Close())
	}
	_ = content.Close() // the writer is to end in any case; a pipe's Close cannot fail
	if err != nil {
		return "", fmt.Errorf("make the image %s: %w", name, err)
	}
	return name, nil
}

// imported reads the engine's answer: an error comes as one of its lines.
func imported(answer io.Reader) error {
	lines := json.NewDecoder(answer)
	for {
		var line struct {
			Error string `json:"error"`
		}
		switch err := lines.Decode(&line); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("read the engine's answer: %w", err)
		case line.Error != "":
			return errors.New(strings.TrimSpace(line.Error))
		}
	}
}

// writeImage writes the files of the image as a tar archive. No time is in it:
// images of one program share their layer.
func writeImage(w io.Writer, program string) error {
	file, err := os.Open(program)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	archive := tar.NewWriter(w)
	if err := archive.WriteHeader(&tar.Header{
		Name: strings.TrimPrefix(programPath, "/"), Typeflag: tar.TypeReg, Mode: 0o755, Size: info.Size(),
	}); err != nil {
		return err
	}
	if _, err := io.Copy(archive, file); err != nil {
		return err
	}
	for _, dir := range []string{"run/", "run/pestle/"} {
		if err := archive.WriteHeader(&tar.Header{Name: dir, Typeflag: tar.TypeDir, Mode: 0o755}); err != nil {
			return err
		}
	}
	if err := writeLinks(archive); err != nil {
		return err
	}
	return archive.Close()
}

func hashFile(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, file); err != nil {
		return nil, err
	}
	return hash.Sum(nil), nil
}
