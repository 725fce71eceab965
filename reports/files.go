package reports

import (
	"fmt"
	"os"
	"path"
	"path/filepath"

	"pestle/reports/page"
)

// maxFiles bounds how many files of one folder the page lists.
const maxFiles = 60

// file is one file of the run directory.
type file struct {
	Path string // relative to the run directory, with slashes
	Size string
	What string
	More int // files of the same folder that are not listed; only on the last one listed
}

// listFiles returns the contract's files that are there, the ones a person
// opens first ahead.
func listFiles(dir string) ([]file, error) {
	var list []file
	for _, f := range []file{
		{Path: VerdictName, What: "this verdict, for machines"},
		{Path: "plan.json", What: "the plan: every choice of the run"},
		{Path: "faults.ndjson", What: "the faults: asked, effective, ended"},
	} {
		info, err := os.Stat(filepath.Join(dir, f.Path))
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("list the run directory: %w", err)
		}
		f.Size = bytesWords(info.Size())
		list = append(list, f)
	}
	for _, folder := range []struct{ name, what string }{
		{"history", "what it did, line by line"},
		{"state", "its state file"},
		{"logs", "what it printed"},
	} {
		entries, err := os.ReadDir(filepath.Join(dir, folder.name)) // sorted by name
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("list the run directory: %w", err)
		}
		listed := 0
		for _, entry := range entries {
			if listed == maxFiles {
				list[len(list)-1].More++
				continue
			}
			info, err := entry.Info()
			if os.IsNotExist(err) {
				continue // gone since it was listed
			}
			if err != nil {
				return nil, fmt.Errorf("list the run directory: %w", err)
			}
			listed++
			list = append(list, file{Path: path.Join(folder.name, entry.Name()), Size: bytesWords(info.Size()), What: folder.what})
		}
	}
	return list, nil
}

func bytesWords(n int64) string {
	switch {
	case n < 1_000:
		return page.Counted(n, "byte")
	case n < 1_000_000:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}
