package bench

import (
	"os"
	"strings"
	"testing"
	"time"
)

func TestANoisyMachineIsNamed(t *testing.T) {
	round := func(p50, late time.Duration) Round { return Round{Latency: Latency{P50: p50}, Late: late} }
	const ms = time.Millisecond
	for _, test := range []struct {
		name   string
		rounds []Round
		want   []string
	}{
		{"quiet", []Round{round(100*ms, ms), round(110*ms, 0), round(125*ms, 0)}, nil},
		{"rounds differ", []Round{round(100*ms, 0), round(80*ms, 0), round(106*ms, 0)}, []string{"lie 26 % apart"}},
		{"sent late", []Round{round(100*ms, 0), round(100*ms, 2*ms)}, []string{"was sent 2ms late"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			at := Place{Broker: Broker{TCP: "here"}, Rounds: test.rounds}
			got := at.noise()
			if len(got) != len(test.want) {
				t.Fatalf("got %q, want %d", got, len(test.want))
			}
			for i, want := range test.want {
				if !strings.HasPrefix(got[i], "here: ") || !strings.Contains(got[i], want) {
					t.Errorf("got %q, want it to say %q", got[i], want)
				}
			}
		})
	}
}

func TestTheDiskIsTimedAndLeftAsItWas(t *testing.T) {
	dir := t.TempDir()
	times, err := timeDisk(dir, 1024)
	if err != nil || times.TotalCount() != syncs {
		t.Errorf("%v, %v; want %d times", times, err, syncs)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
	if _, err := timeDisk(dir+"/none", 1024); err == nil {
		t.Error("a directory that is not there was timed")
	}
}
