package campaign

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// release is the version of this source tree; CHANGELOG.md tells what is in it.
const release = "0.1.0-dev"

// Version returns one line that names the build: release, commit (where the
// build recorded it), Go release and platform.
func Version() string {
	commit := "unknown commit"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, setting := range info.Settings {
			if setting.Key == "vcs.revision" {
				commit = "commit " + setting.Value
			}
		}
	}
	return fmt.Sprintf("pestle %s (%s, %s %s/%s)", release, commit, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
