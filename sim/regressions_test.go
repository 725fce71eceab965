package sim_test

import (
	"path/filepath"
	"strings"
	"testing"

	"pestle/broker/plant"
	"pestle/campaign/shrink"
)

// Every failure that was kept (pestle shrink RUN --save NAME) still fails as it
// did, unless its file says that it is fixed: then it must not fail any more. A
// plan for a planted bug needs a build that has it.
func TestRegressions(t *testing.T) {
	paths, err := filepath.Glob("testdata/regressions/*.json")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no regressions, error %v", err)
	}
	for _, path := range paths {
		r, err := shrink.ReadRegression(path)
		if err != nil {
			t.Error(err)
			continue
		}
		if r.Plan.Target.Plant != "" && !plant.Built {
			continue
		}
		t.Run(strings.TrimSuffix(filepath.Base(path), ".json"), func(t *testing.T) {
			if err := r.Check(t.Context(), shrink.Simulate); err != nil {
				t.Errorf("%s: %v\n%s", path, err, r.Plan.Timetable())
			}
		})
	}
}
