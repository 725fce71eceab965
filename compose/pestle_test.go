package compose

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pestle/compose/program"
	"pestle/faults"
	"pestle/scenarios"
)

// These tests have Pestle itself in their containers, built from this source
// tree.

// pestles returns a host with so many real brokers, which run and serve. Their
// disk is honest ("") or lying.
func pestles(t *testing.T, brokers int, disk string) *Host {
	t.Helper()
	e := engineFor(t)
	path, err := program.Find(t.Context(), program.Wanted{Arch: e.Facts().Architecture})
	if err != nil {
		t.Fatal(err)
	}
	l := layout(t, brokers)
	l.Plan.Target.Disk = disk
	h := New(Options{Program: path})
	t.Cleanup(func() {
		if t.Failed() {
			for n := 1; n <= brokers; n++ {
				t.Logf("the log of broker-%d ends: %s", n, h.LastWords(fmt.Sprintf("broker-%d", n)))
			}
		}
		if err := h.Close(); err != nil {
			t.Error(err)
		}
		nothingLeft(t, h.project.run)
	})
	began := time.Now()
	if err := h.Prepare(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= brokers; n++ {
		start(t, h, n)
	}
	eventually(t, "a publish is taken", func() bool { return publish(t.Context(), h, 1, "first") == nil })
	t.Logf("%d brokers took a message %v after the command", brokers, time.Since(began).Round(time.Millisecond))
	return h
}

func start(t *testing.T, h *Host, broker int) {
	t.Helper()
	if err := h.Start(fmt.Sprintf("broker-%d", broker)); err != nil {
		t.Fatal(err)
	}
}

// publish sends a message over HTTP; nil: it was acknowledged.
func publish(ctx context.Context, h *Host, broker int, text string) error {
	return call(ctx, h, broker, http.MethodPost, "/pub?topic=orders", text, nil)
}

// stored returns what a broker shows of its log, a message a line.
func stored(t *testing.T, h *Host, broker int) string {
	t.Helper()
	const page = 64
	var all strings.Builder
	for lines := 0; ; {
		var text string
		path := fmt.Sprintf("/log?topic=orders&count=%d&offset=%d&format=text", page, lines)
		eventually(t, "the broker shows its log", func() bool { return call(t.Context(), h, broker, http.MethodGet, path, "", &text) == nil })
		all.WriteString(text)
		n := strings.Count(text, "\n")
		if lines += n; n < page {
			return all.String()
		}
	}
}

func call(ctx context.Context, h *Host, broker int, method, path, body string, into *string) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, "http://"+h.Address(broker).Call+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d: %s", answer.StatusCode, text)
	}
	if into != nil {
		*into = string(text)
	}
	return nil
}

// inflict imposes a fault and waits until it is effective, or lifts it and
// waits until it has ended.
func inflict(t *testing.T, h *Host, do func(faults.Fault), f faults.Fault) string {
	t.Helper()
	if why := h.Can(f); why != "" {
		t.Skipf("not run: %s: %s", f.Kind, why)
	}
	do(f)
	a := actuationOn(t, h)
	if a.Err != nil || a.Done == 0 {
		t.Fatalf("%s: %+v", f.Kind, a)
	}
	return a.Evidence
}

func TestAcknowledgedMessagesOutliveAPowerLoss(t *testing.T) {
	// Under a disk that syncs nothing they do not: the power loss takes what it
	// should, which a kill alone would leave.
	for name, disk := range map[string]string{"honest": "", "lying": scenarios.DiskLying} {
		t.Run(name, func(t *testing.T) {
			h := pestles(t, 1, disk)
			lost := 0
			for try := 1; try <= 3 && lost == 0; try++ {
				sent := 0
				done := make(chan struct{})
				go func() {
					defer close(done)
					for publish(context.Background(), h, 1, fmt.Sprintf("message %d of try %d.", sent, try)) == nil {
						sent++
					}
				}()
				eventually(t, "some messages are acknowledged", func() bool { return strings.Count(stored(t, h, 1), fmt.Sprintf("of try %d.", try)) > 20 })
				evidence := inflict(t, h, h.Impose, faults.Fault{Ref: try, Kind: faults.PowerLoss, Target: "broker-1"})
				t.Log(evidence)
				<-done
				if e := exitOn(t, h); e.Signal != 9 {
					t.Fatalf("after the power loss: %+v", e)
				}
				start(t, h, 1)
				refuses := false // to start from what a lying disk has left
				eventually(t, "a publish is taken again", func() bool {
					select {
					case e := <-h.Exits():
						if refuses = disk == scenarios.DiskLying && e.Code == 2; !refuses {
							t.Fatalf("the broker does not come back: %+v", e)
						}
						return true
					default:
						return publish(t.Context(), h, 1, "afterwards") == nil
					}
				})
				if refuses {
					lost = sent
					t.Logf("the broker refuses to start, and %d acknowledged messages are lost", lost)
					continue
				}
				held := stored(t, h, 1)
				for n := range sent {
					if !strings.Contains(held, fmt.Sprintf("message %d of try %d.", n, try)) {
						lost++
					}
				}
				t.Logf("%d of %d acknowledged messages are lost", lost, sent)
			}
			if (lost > 0) != (disk == scenarios.DiskLying) {
				t.Errorf("%d acknowledged messages are lost", lost)
			}
		})
	}
}

func TestDiskAndClockFaultsReachABroker(t *testing.T) {
	h := pestles(t, 1, "")
	slow := faults.Fault{Ref: 1, Kind: faults.DiskStuck, Target: "broker-1"}
	inflict(t, h, h.Impose, slow)
	if err := publish(t.Context(), h, 1, "stuck"); err == nil {
		t.Error("a publish was acknowledged while the disk is stuck")
	}
	inflict(t, h, h.Lift, slow)
	eventually(t, "a publish is taken after the disk goes on", func() bool { return publish(t.Context(), h, 1, "goes on") == nil })

	// A fault of the clock goes on in the next process.
	jump := faults.Fault{Ref: 2, Kind: faults.ClockJump, Target: "broker-1", Offset: int64(5 * time.Hour)}
	inflict(t, h, h.Impose, jump)
	for range 2 {
		eventually(t, "the clock is five hours ahead", func() bool {
			s, err := h.byName["broker-1"].control().Status(t.Context())
			return err == nil && s.Clock.Offset == jump.Offset
		})
		if err := h.Signal("broker-1", 9); err != nil {
			t.Fatal(err)
		}
		exitOn(t, h)
		start(t, h, 1)
	}
	eventually(t, "it serves", func() bool { return answers(h.Address(1).Call) })
	inflict(t, h, h.Lift, jump)
	if s, err := h.byName["broker-1"].control().Status(t.Context()); err != nil || s.Clock.Offset != 0 || len(s.Faults) != 0 {
		t.Errorf("after all is lifted the broker is under %+v, %v", s, err)
	}
}

func TestRottenBitsTurnBackWhileTheBrokerIsDown(t *testing.T) {
	h := pestles(t, 1, "")
	journal := func() string {
		files, err := filepath.Glob(filepath.Join(h.layout.Dir, "data", "broker-1", "journal-*"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no journal: %v", err)
		}
		text, err := os.ReadFile(files[0])
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for range 10 { // pages whose bytes are durable: only such rot
		if err := publish(t.Context(), h, 1, strings.Repeat("x", 4000)); err != nil {
			t.Fatal(err)
		}
	}
	whole := strings.TrimRight(journal(), "\x00")
	whole = whole[:len(whole)-4096] // the journal goes on behind it
	rot := faults.Fault{Ref: 3, Kind: faults.BitRot, Target: "broker-1", Count: 3}
	inflict(t, h, h.Impose, rot)
	if err := h.Signal("broker-1", 9); err != nil {
		t.Fatal(err)
	}
	exitOn(t, h)
	var turned []int
	for i, c := range []byte(journal()[:len(whole)]) {
		if c != whole[i] {
			turned = append(turned, i)
		}
	}
	if len(turned) == 0 || len(turned) > int(rot.Count) {
		t.Fatalf("bytes %v have rotted, want up to %d", turned, rot.Count)
	}
	if evidence := inflict(t, h, h.Lift, rot); !strings.Contains(evidence, "gone") {
		t.Errorf("evidence %q", evidence)
	}
	start(t, h, 1)
	eventually(t, "the bits turn back for the broker that runs again", func() bool {
		after := journal()
		return !slices.ContainsFunc(turned, func(at int) bool { return after[at] != whole[at] })
	})
	if !strings.Contains(stored(t, h, 1), "first") {
		t.Error("the message is gone")
	}
}

func TestAClusterGoesOnWithoutWhoIsCutOff(t *testing.T) {
	h := pestles(t, 3, "")
	cut := faults.Fault{Ref: 1, Kind: faults.Partition, Target: "broker-1", Shape: faults.Minority, Side: []string{"broker-1"}, Among: faults.Broker}
	inflict(t, h, h.Impose, cut)
	eventually(t, "the majority takes messages", func() bool { return publish(t.Context(), h, 2, "majority") == nil })
	eventually(t, "the minority refuses", func() bool { return publish(t.Context(), h, 1, "minority") != nil })
	if evidence := inflict(t, h, h.Lift, cut); strings.Contains(evidence, " 0 packets") {
		t.Errorf("the partition has met no packet: %s", evidence)
	}
	eventually(t, "all is well again", func() bool { return publish(t.Context(), h, 1, "together") == nil })
	if !strings.Contains(stored(t, h, 1), "majority") {
		t.Error("the broker that was cut off has not caught up")
	}

	// The kernel kills the real program, too.
	inflict(t, h, h.Impose, faults.Fault{Ref: 2, Kind: faults.OutOfMemory, Target: "broker-2"})
	if e := exitOn(t, h); e.Process != "broker-2" || !strings.Contains(e.How, "out of memory") {
		t.Errorf("%+v", e)
	}
}
