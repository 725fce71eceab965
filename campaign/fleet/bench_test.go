package fleet

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// BenchmarkWorkers tells how many times as fast two workers are as one, at the
// same seeds of the swarm, and how many runs a second two make:
//
//	go test ./campaign/fleet -run '^$' -bench Workers -benchtime 3x
//
// It needs two CPUs that nobody else uses.
func BenchmarkWorkers(b *testing.B) {
	const file, seeds = "../../scenarios/swarm.yaml", 100
	text, err := os.ReadFile(file)
	if err != nil {
		b.Fatal(err)
	}
	var spent [2]time.Duration
	for b.Loop() {
		for i := range spent {
			o := campaignOf(string(text), seeds, filepath.Join(b.TempDir(), "campaign"))
			o.Scenarios[0].Name, o.Parallel = "swarm", i+1
			began := time.Now()
			if _, err := Run(b.Context(), o); err != nil {
				b.Fatal(err)
			}
			spent[i] += time.Since(began)
		}
	}
	b.ReportMetric(float64(spent[0])/float64(spent[1]), "×-one-worker")
	b.ReportMetric(float64(seeds*b.N)/spent[1].Seconds(), "runs/s")
}
