//go:build chaos

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nsqio/go-nsq"

	"pestle/faults"
	"pestle/faults/control"
)

// patience bounds a wait for something that must happen.
const patience = 30 * time.Second

// failing is a broker process that takes orders to fail.
type failing struct {
	t         *testing.T
	cmd       *exec.Cmd
	tcp, http string
	control   *control.Client
	said      bytes.Buffer // on standard error; read it after the end
	heard     sync.WaitGroup
}

var chaosAddress = regexp.MustCompile(`chaos=(\S+)`)

func startFailing(t *testing.T, dir string, args ...string) *failing {
	t.Helper()
	b := &failing{t: t, cmd: exec.Command("pestle", append([]string{
		"broker", "--data-path", dir, "--tcp-address=127.0.0.1:0", "--http-address=127.0.0.1:0", "--chaos-address=127.0.0.1:0",
	}, args...)...)}
	out, err := b.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	words, err := b.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := b.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.kill)
	address := make(chan string, 1)
	b.heard.Go(func() {
		for lines := bufio.NewScanner(words); lines.Scan(); {
			fmt.Fprintln(&b.said, lines.Text())
			if m := chaosAddress.FindStringSubmatch(lines.Text()); m != nil {
				address <- m[1]
			}
		}
		close(address)
	})
	b.control = control.NewClient(<-address)
	if _, err := fmt.Fscanf(out, "listening tcp=%s http=%s", &b.tcp, &b.http); err != nil {
		b.kill()
		t.Fatalf("the broker does not get ready: %v\n%s", err, &b.said)
	}
	return b
}

// kill ends the process by SIGKILL; a second call does nothing.
func (b *failing) kill() {
	_ = b.cmd.Process.Kill()
	b.heard.Wait()
	_ = b.cmd.Wait()
}

// exit waits for the end of the process.
func (b *failing) exit() int {
	b.t.Helper()
	timer := time.AfterFunc(patience, func() { _ = b.cmd.Process.Signal(syscall.SIGABRT) })
	defer timer.Stop()
	b.heard.Wait()
	_ = b.cmd.Wait() // the code tells
	return b.cmd.ProcessState.ExitCode()
}

func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

func (b *failing) impose(f faults.Fault) {
	b.t.Helper()
	if err := b.control.Impose(within(b.t), f, 11); err != nil {
		b.t.Fatal(err)
	}
}

func (b *failing) lift(ref int) (bites int64) {
	b.t.Helper()
	bites, err := b.control.Lift(within(b.t), ref)
	if err != nil {
		b.t.Fatal(err)
	}
	return bites
}

// publish returns nil when the message is acknowledged.
func (b *failing) publish(ctx context.Context, query, body string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+b.http+"/pub?topic=t"+query, strings.NewReader(body))
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d: %s", resp.StatusCode, answer)
	}
	return err
}

// publishing publishes without end on a few connections until ctx is done, and
// then returns what was acknowledged. enough is closed after so many.
func (b *failing) publishing(ctx context.Context, round int) (acked func() []string, enough <-chan struct{}) {
	const want, lanes = 300, 8
	reached := make(chan struct{})
	var mu sync.Mutex
	var bodies []string
	var all sync.WaitGroup
	for lane := range lanes {
		all.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				body := fmt.Sprintf("round %d lane %d message %d", round, lane, i)
				if b.publish(ctx, "", body) != nil {
					return
				}
				mu.Lock()
				bodies = append(bodies, body)
				if len(bodies) == want {
					close(reached)
				}
				mu.Unlock()
			}
		})
	}
	return func() []string { all.Wait(); return bodies }, reached
}

// wait waits until enough is acknowledged.
func wait(ctx context.Context, t *testing.T, enough <-chan struct{}) {
	t.Helper()
	select {
	case <-enough:
	case <-ctx.Done():
		t.Fatal("too little is acknowledged")
	}
}

// loseAmidPublishing publishes, takes the power away and kills the process. It
// returns what was acknowledged.
func (b *failing) loseAmidPublishing(round int) []string {
	b.t.Helper()
	ctx, stop := context.WithCancel(within(b.t))
	defer stop()
	acked, enough := b.publishing(ctx, round)
	wait(ctx, b.t, enough)
	if _, err := b.control.PowerLoss(ctx, uint64(round)); err != nil {
		b.t.Fatal(err)
	}
	stop() // nothing is answered any more
	b.kill()
	return acked()
}

// consume returns what a consumer of the topic is sent, and finishes.
func (b *failing) consume() <-chan string {
	b.t.Helper()
	cfg := nsq.NewConfig()
	cfg.MaxInFlight = 100
	consumer, err := nsq.NewConsumer("t", "ch", cfg)
	if err != nil {
		b.t.Fatal(err)
	}
	consumer.SetLogger(log.New(io.Discard, "", 0), nsq.LogLevelError)
	bodies, over := make(chan string), within(b.t)
	consumer.AddHandler(nsq.HandlerFunc(func(m *nsq.Message) error {
		select {
		case bodies <- string(m.Body):
			return nil
		case <-over.Done(): // the test does not listen any more
			return over.Err()
		}
	}))
	if err := consumer.ConnectToNSQD(b.tcp); err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(consumer.Stop)
	return bodies
}

// next is the next message of a consumer.
func (b *failing) next(bodies <-chan string) string {
	b.t.Helper()
	select {
	case body := <-bodies:
		return body
	case <-time.After(patience):
		b.t.Fatal("no message is delivered")
		return ""
	}
}

// lost consumes everything there is, up to a message that is sent now, and
// returns which messages are not there.
func (b *failing) lost(want []string) (missing map[string]bool) {
	b.t.Helper()
	if err := b.publish(within(b.t), "", "end"); err != nil {
		b.t.Fatal(err)
	}
	missing = map[string]bool{}
	for _, body := range want {
		missing[body] = true
	}
	bodies := b.consume()
	for {
		body := b.next(bodies)
		if body == "end" { // in order: nothing comes behind it
			return missing
		}
		delete(missing, body)
	}
}

// TestChaosPowerLoss: what was acknowledged survives, unless the broker or its
// disk lies about it: then the loss must show.
func TestChaosPowerLoss(t *testing.T) {
	for _, c := range []struct {
		name   string
		args   []string
		rounds int
		loses  bool
	}{
		{"honest", nil, 4, false},
		{"memory", []string{"--durability=memory"}, 12, true},
		{"lying disk", []string{"--chaos-disk=lying"}, 12, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			for round := range c.rounds {
				dir := t.TempDir()
				acked := startFailing(t, dir, c.args...).loseAmidPublishing(round)
				b := startFailing(t, dir, c.args...)
				missing := b.lost(acked)
				b.kill()
				if len(missing) > 0 && c.loses {
					t.Logf("round %d lost %d of %d", round, len(missing), len(acked))
					return
				}
				if len(missing) > 0 {
					t.Fatalf("round %d lost %d of %d acknowledged messages", round, len(missing), len(acked))
				}
			}
			if c.loses {
				t.Errorf("%d losses of power took nothing that was acknowledged", c.rounds)
			}
		})
	}
}

// TestChaosPowerLossAgain: one after another in the same directory.
func TestChaosPowerLossAgain(t *testing.T) {
	dir := t.TempDir()
	var acked []string
	for round := range 3 {
		acked = append(acked, startFailing(t, dir).loseAmidPublishing(round)...)
	}
	if missing := startFailing(t, dir).lost(acked); len(missing) > 0 {
		t.Errorf("%d of %d acknowledged messages are lost", len(missing), len(acked))
	}
}

// TestChaosPowerLossAfterKill: what a killed process had made durable and what
// it had not is known to the next one.
func TestChaosPowerLossAfterKill(t *testing.T) {
	dir := t.TempDir()
	var acked []string
	for round := range 4 {
		b := startFailing(t, dir)
		ctx, stop := context.WithCancel(within(t))
		bodies, enough := b.publishing(ctx, round)
		wait(ctx, t, enough)
		b.kill()
		stop()
		acked = append(acked, bodies()...)
		next := startFailing(t, dir)
		if _, err := next.control.PowerLoss(within(t), uint64(round)); err != nil {
			t.Fatal(err)
		}
		next.kill()
	}
	if missing := startFailing(t, dir).lost(acked); len(missing) > 0 {
		t.Errorf("%d of %d acknowledged messages are lost", len(missing), len(acked))
	}
}

// TestChaosFsyncError: the broker ends itself, and what it acknowledged before
// survives even the power.
func TestChaosFsyncError(t *testing.T) {
	dir := t.TempDir()
	b := startFailing(t, dir)
	ctx, stop := context.WithCancel(within(t))
	defer stop()
	acked, enough := b.publishing(ctx, 0)
	wait(ctx, t, enough)
	b.impose(faults.Fault{Ref: 1, Kind: faults.FsyncError, Count: 1})
	if code := b.exit(); code != exitViolation || !strings.Contains(b.said.String(), "input/output error") {
		t.Errorf("exit code %d\n%s", code, &b.said)
	}
	bodies := acked()
	again := startFailing(t, dir)
	if _, err := again.control.PowerLoss(within(t), 5); err != nil {
		t.Fatal(err)
	}
	again.kill()
	if missing := startFailing(t, dir).lost(bodies); len(missing) > 0 {
		t.Errorf("%d of %d acknowledged messages are lost", len(missing), len(bodies))
	}
}

// TestChaosDiskFull: publishes are refused, and taken when there is room again.
func TestChaosDiskFull(t *testing.T) {
	b := startFailing(t, t.TempDir())
	b.impose(faults.Fault{Ref: 1, Kind: faults.DiskFull})
	var acked []string
	var err error
	for i := 0; err == nil && i < 200; i++ {
		body := fmt.Sprint(i, " ", strings.Repeat("x", 1_000_000))
		if err = b.publish(within(t), "", body); err == nil {
			acked = append(acked, body)
		}
	}
	if err == nil || !strings.Contains(err.Error(), "no space left on device") {
		t.Fatalf("after %d messages of 1 MB on a full disk: %v", len(acked), err)
	}
	t.Logf("after %d messages: %v", len(acked), err)
	if bites := b.lift(1); bites == 0 {
		t.Error("the full disk has failed nothing")
	}
	until(t, "a publish is taken again", func() bool { return b.publish(within(t), "", "again") == nil })
	if missing := b.lost(append(acked, "again")); len(missing) > 0 {
		t.Errorf("%d acknowledged messages are lost", len(missing))
	}
}

// TestChaosClock: with its clocks frozen a deferred message is never due.
func TestChaosClock(t *testing.T) {
	b := startFailing(t, t.TempDir())
	b.impose(faults.Fault{Ref: 1, Kind: faults.ClockJump, Offset: int64(time.Hour)})
	b.impose(faults.Fault{Ref: 2, Kind: faults.ClockFreeze})
	began := time.Now()
	if err := b.publish(within(t), "&defer=50", "deferred"); err != nil {
		t.Fatal(err)
	}
	until(t, "it would be due", func() bool { return time.Since(began) > 200*time.Millisecond })
	bodies := b.consume()
	if err := b.publish(within(t), "", "later"); err != nil {
		t.Fatal(err)
	}
	if body := b.next(bodies); body != "later" {
		t.Errorf("while the clocks stand still %q is delivered", body)
	}
	b.lift(2)
	if body := b.next(bodies); body != "deferred" {
		t.Errorf("when the clocks go on %q is delivered", body)
	}
	s, err := b.control.Status(within(t))
	if err != nil || s.Clock.Offset > int64(time.Hour) || s.Clock.Offset < int64(time.Minute) || s.Clock.Frozen {
		t.Errorf("status %+v, %v", s, err)
	}
}

// TestChaosRefusals: what would be dangerous, or without effect, is refused.
func TestChaosRefusals(t *testing.T) {
	for _, c := range []struct {
		args []string
		why  string
	}{
		{[]string{"--chaos-address=0.0.0.0:0"}, "not loopback"},
		{[]string{"--chaos-disk=lying"}, "needs --chaos-address"},
		{[]string{"--chaos-disk=warm"}, "honest, slow or lying"},
	} {
		out, err := exec.Command("pestle", append([]string{"broker", "--data-path", t.TempDir(), "--tcp-address=127.0.0.1:0", "--http-address=127.0.0.1:0"}, c.args...)...).CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != exitHarness || !strings.Contains(string(out), c.why) {
			t.Errorf("%v: %v, %s; want %q", c.args, err, out, c.why)
		}
	}
}
