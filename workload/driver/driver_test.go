package driver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pestle/history"
	"pestle/history/stream"
	"pestle/scenarios"
	"pestle/workload"
	"pestle/workload/internal/nsqscript"
)

// patience is how long a test waits for what must come.
const patience = 30 * time.Second

func options(dir, name, address string, control io.Reader) Options {
	const ms = int64(time.Millisecond)
	return Options{
		Name: name, Dir: dir, Addresses: []string{address}, Control: control,
		Plan: scenarios.Plan{Workload: scenarios.Workload{
			Topic: "orders", Tries: 3, Backoff: ms, Timeout: 5000 * ms, MsgTimeout: 5000 * ms,
			Producers: []scenarios.Producer{
				{Name: "producer-1", Interval: ms, Pending: 4, MinSize: 1, MaxSize: 20, Seed: 1},
				{Name: "producer-2", Interval: ms, Pending: 4, MinSize: 1, MaxSize: 20, Seed: 2},
			},
			Consumers: []scenarios.Consumer{{Name: "consumer-shared-1", Channel: "shared", InFlight: 3, RequeuePermille: 200, Seed: 1}},
		}},
	}
}

// acking is a server that confirms everything.
func acking(t *testing.T) string {
	return nsqscript.Listen(t, "127.0.0.1:0", func(c *nsqscript.Conn) {
		c.Handshake()
		for command, _ := c.Command(); command != ""; command, _ = c.Command() {
			c.Respond("OK")
		}
	}).Address
}

// delivering is a server that hands out messages as long as they are answered.
func delivering(t *testing.T) string {
	return nsqscript.Listen(t, "127.0.0.1:0", func(c *nsqscript.Conn) {
		c.Handshake()
		counter := uint64(0)
		for command, _ := c.Command(); command != ""; command, _ = c.Command() {
			switch verb, _, _ := strings.Cut(command, " "); verb {
			case "SUB":
				c.Respond("OK")
			case "CLS":
				c.Respond("CLOSE_WAIT")
			default: // RDY, FIN, REQ
				counter++
				body, _ := workload.Message{ID: workload.ID{Producer: 1, Counter: counter}, Topic: "orders", Payload: []byte("hello")}.Encode()
				c.Message(fmt.Sprintf("%016x", counter), 1, body)
			}
		}
	}).Address
}

// process is Produce or Consume, running.
type process struct {
	t       *testing.T
	control *io.PipeWriter
	tail    *stream.Tail
	cancel  context.CancelFunc
	ended   chan error
}

func start(t *testing.T, run func(context.Context, Options) error, dir, name, address string) *process {
	t.Helper()
	reader, writer := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	p := &process{t: t, control: writer, tail: stream.NewTail(historyPath(dir, name)), cancel: cancel, ended: make(chan error, 1)}
	go func() { p.ended <- run(ctx, options(dir, name, address, reader)) }()
	t.Cleanup(func() {
		cancel()
		_ = writer.Close()
		_ = p.tail.Close()
	})
	return p
}

func (p *process) say(command string) {
	p.t.Helper()
	if _, err := io.WriteString(p.control, command+"\n"); err != nil {
		p.t.Fatal(err)
	}
}

// await reads the history until n lines satisfy is.
func await(t *testing.T, tail *stream.Tail, n int, is func(history.Event) bool) {
	t.Helper()
	poll, end := time.NewTicker(time.Millisecond), time.After(patience)
	defer poll.Stop()
	for {
		select {
		case <-poll.C:
		case <-end:
			t.Fatal("the history does not say what was waited for")
		}
		events, err := tail.Read()
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			if is(e) {
				n--
			}
		}
		if n <= 0 {
			return
		}
	}
}

func (p *process) end(want error) {
	p.t.Helper()
	select {
	case err := <-p.ended:
		if !errors.Is(err, want) {
			p.t.Fatalf("ended with %v, want %v", err, want)
		}
	case <-time.After(patience):
		p.t.Fatal("does not end")
	}
}

func historyPath(dir, name string) string { return filepath.Join(dir, "history", name+".ndjson") }
func statePath(dir, name string) string   { return filepath.Join(dir, "state", name+".state") }

func kind(k history.Kind) func(history.Event) bool {
	return func(e history.Event) bool { return e.Ev == k }
}

func note(what string) func(history.Event) bool {
	return func(e history.Event) bool { return e.Ev == history.Note && e.What == what }
}

func TestProducerDrainsAndQuits(t *testing.T) {
	dir, address := t.TempDir(), acking(t)
	p := start(t, Produce, dir, "producer-1", address)
	await(t, p.tail, 20, kind(history.Ack))
	p.say("drain")
	await(t, p.tail, 1, note(history.NoteSentinel))
	await(t, p.tail, 1, note(history.NoteTick)) // it stays
	p.say("quit")
	p.end(nil)
	events := consistent(t, dir, "producer-1")
	if last := events[len(events)-1]; last.What != history.NoteStopped {
		t.Errorf("the last line is %+v, want stopped", last)
	}
}

// A second life takes up the counters, the lines and the incarnations where
// the first one ended.
func TestProducerResumes(t *testing.T) {
	dir, address := t.TempDir(), acking(t)
	for range 3 {
		p := start(t, Produce, dir, "producer-1", address)
		await(t, p.tail, 5, func(e history.Event) bool { return e.Ev == history.Ack })
		p.cancel() // as SIGTERM does
		p.end(nil)
	}
	lives := 0
	for _, e := range consistent(t, dir, "producer-1") {
		if note(history.NoteStarted)(e) {
			if lives++; e.Try != lives {
				t.Errorf("life %d calls itself %d", lives, e.Try)
			}
		}
	}
	if lives != 3 {
		t.Errorf("the history tells of %d lives, want 3", lives)
	}
}

func TestConsumerRecordsAndConfirms(t *testing.T) {
	dir, address := t.TempDir(), delivering(t)
	p := start(t, Consume, dir, "consumer-shared-1", address)
	await(t, p.tail, 50, kind(history.Finish))
	p.say("drain") // means nothing to a consumer
	await(t, p.tail, 10, kind(history.Requeue))
	p.say("quit")
	p.end(nil)
	events := consistent(t, dir, "consumer-shared-1")
	if last := events[len(events)-1]; last.What != history.NoteStopped {
		t.Errorf("the last line is %+v, want stopped", last)
	}
}

// What comes from each broker of a cluster is recorded as coming from it, and
// confirmed there: only then does that one deliver more.
func TestConsumerOfACluster(t *testing.T) {
	dir := t.TempDir()
	p := start(t, Consume, dir, "consumer-shared-1", delivering(t)+","+delivering(t))
	seen := map[string]int{}
	await(t, p.tail, 1, func(e history.Event) bool {
		seen[string(e.Ev)+e.What+" "+e.Target]++
		for _, target := range []string{"broker-1", "broker-2"} {
			if seen["noteconnected "+target] < 1 || seen["consume "+target] < 20 || seen["finish "+target]+seen["requeue "+target] < 20 {
				return false
			}
		}
		return true
	})
	p.say("quit")
	p.end(nil)
	consistent(t, dir, "consumer-shared-1")
}

// Each producer begins with another broker, and comes round.
func TestProducersOfACluster(t *testing.T) {
	up, down := acking(t), "127.0.0.1:1"
	for name, late := range map[string]bool{"producer-1": false, "producer-2": true} {
		dir := t.TempDir()
		p := start(t, Produce, dir, name, up+","+down)
		await(t, p.tail, 5, kind(history.Ack))
		p.say("quit")
		p.end(nil)
		failed := false
		for _, e := range consistent(t, dir, name) {
			failed = failed || e.Ev == history.Fail
			if note(history.NoteConnected)(e) && e.Target != "broker-1" {
				t.Errorf("%s is connected to %s, where nobody listens", name, e.Target)
			}
		}
		if failed != late {
			t.Errorf("%s failed to send at first: %v, want %v", name, failed, late)
		}
	}
}

func TestEndsWithTheHarness(t *testing.T) {
	p := start(t, Produce, t.TempDir(), "producer-1", acking(t))
	await(t, p.tail, 1, kind(history.Attempt))
	if err := p.control.Close(); err != nil {
		t.Fatal(err)
	}
	p.end(ErrHarnessGone)
}

func TestUnknownCommand(t *testing.T) {
	p := start(t, Produce, t.TempDir(), "producer-1", acking(t))
	p.say("dance")
	if err := <-p.ended; err == nil || err.Error() != `standard input: unknown command "dance": want drain or quit` {
		t.Errorf("ended with %v", err)
	}
}

// consistent checks a process's files against each other: each state line has
// its history line, in order, and each counter one checksum.
func consistent(t *testing.T, dir, name string) []history.Event {
	t.Helper()
	before, err := os.ReadFile(historyPath(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	if err := Reconcile(options(dir, name, "", nil).Plan, dir, name); err != nil {
		t.Fatal(err)
	}
	after, err := os.ReadFile(historyPath(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	if len(before) != len(after) {
		t.Errorf("%s: reconciling changed its history:\n%s", name, after[min(len(before), len(after)):])
	}
	events, err := stream.ReadFile(historyPath(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	sums := map[string]string{}
	for _, e := range events {
		if e.Ev != history.Attempt {
			continue
		}
		if had, again := sums[e.ID]; again && had != e.Sum {
			t.Errorf("%s was two messages: %s and %s", e.ID, had, e.Sum)
		}
		sums[e.ID] = e.Sum
	}
	return events
}

func TestReconcileWritesWhatIsMissing(t *testing.T) {
	dir := t.TempDir()
	write(t, statePath(dir, "consumer-shared-1"), "producer-1-1, 0001\nproducer-1-2, 0002\nproducer-1-3, 00")
	write(t, historyPath(dir, "consumer-shared-1"), `{"seq":1,"t":5,"src":"consumer-shared-1","ev":"note","what":"started","try":1}
{"seq":2,"t":6,"src":"consumer-shared-1","ev":"consume","id":"producer-1-1","pos":"0001"}
{"seq":3,"t":7,"src":"consumer-sh`)
	if err := Reconcile(options(dir, "", "", nil).Plan, dir, "consumer-shared-1"); err != nil {
		t.Fatal(err)
	}
	events, err := stream.ReadFile(historyPath(dir, "consumer-shared-1"))
	if err != nil || len(events) != 4 {
		t.Fatalf("got %+v, %v", events, err)
	}
	if e := events[2]; e.Ev != history.Consume || e.ID != "producer-1-2" || e.Pos != "0002" || e.Seq != 3 {
		t.Errorf("rebuilt %+v", e)
	}
	if e := events[3]; !note(history.NoteReplayed)(e) || e.ID != "producer-1-2" {
		t.Errorf("after it comes %+v", e)
	}
	state, err := os.ReadFile(statePath(dir, "consumer-shared-1"))
	if want := "producer-1-1, 0001\nproducer-1-2, 0002\n"; err != nil || string(state) != want {
		t.Errorf("the state file holds %q, %v, want %q", state, err, want)
	}
	consistent(t, dir, "consumer-shared-1")
}

func TestDamageNamesFileAndLine(t *testing.T) {
	const started = `{"seq":1,"t":5,"src":"producer-1","ev":"note","what":"started","try":1}` + "\n"
	const attempt = `{"seq":2,"t":6,"src":"producer-1","ev":"attempt","id":"producer-1-1","try":1}` + "\n"
	for name, c := range map[string]struct{ state, history, want string }{
		"a damaged state line":   {"producer-1-1, attempt\nproducer-1-1\n", started, "STATE: line 2: want <id>, …"},
		"an impossible one":      {"producer-1-1, ack\n", started, "STATE: line 1: ack of producer-1-1, which was never attempted"},
		"a damaged history line": {"", started + "{}\n", `HISTORY:2: key "seq" is missing`},
		"no state line":          {"", started + attempt, "HISTORY:2: attempt of producer-1-1 has no state line"},
		"contradicting lines": {"producer-1-1, attempt\nproducer-1-1, attempt\n",
			started + attempt + strings.NewReplacer(`:2,`, `:3,`, "attempt", "ack").Replace(attempt),
			"STATE:2 contradicts HISTORY:3: state says attempt of producer-1-1, try 2, history says ack of producer-1-1, try 1"},
	} {
		dir := t.TempDir()
		write(t, statePath(dir, "producer-1"), c.state)
		write(t, historyPath(dir, "producer-1"), c.history)
		err := Produce(t.Context(), options(dir, "producer-1", "127.0.0.1:1", strings.NewReader("")))
		want := strings.NewReplacer("STATE", statePath(dir, "producer-1"), "HISTORY", historyPath(dir, "producer-1")).Replace(c.want)
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got %v\nwant %s …", name, err, want)
		}
	}
}

func TestBadOptions(t *testing.T) {
	for want, o := range map[string]Options{
		`plan: there is no producer "producer-9"`:                                     options(t.TempDir(), "producer-9", "127.0.0.1:1", nil),
		`producer-1: want at least one address of the target`:                         {Name: "producer-1"},
		`producer-1: address of broker-2: address 127.0.0.1: missing port in address`: options(t.TempDir(), "producer-1", "127.0.0.1:1,127.0.0.1", nil),
		`plan: producer-1: tries is 0, want 1 to `:                                    withTries(options(t.TempDir(), "producer-1", "127.0.0.1:1", nil), 0),
		`make the run directory: mkdir /dev/null: not a directory`:                    options("/dev/null", "producer-1", "127.0.0.1:1", nil),
	} {
		if err := Produce(t.Context(), o); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %s …", err, want)
		}
	}
	if err := Consume(t.Context(), options(t.TempDir(), "producer-1", "127.0.0.1:1", nil)); err == nil || err.Error() != `plan: there is no consumer "producer-1"` {
		t.Errorf("got %v", err)
	}
}

func withTries(o Options, tries int) Options {
	o.Plan.Workload.Tries = tries
	return o
}

// Nothing follows a line that could not be written, least of all a send.
func TestFullDisk(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	writer, err := stream.OpenWriter(filepath.Join(t.TempDir(), "p.ndjson"), "p")
	if err != nil {
		t.Fatal(err)
	}
	b := &book{state: full, history: writer}
	defer b.close()
	var carried wires
	done, err := b.carryOut([]workload.Effect{
		{Kind: workload.FxState, Line: []byte("producer-1-1, attempt\n")},
		{Kind: workload.FxSend},
	}, &carried)
	if done || err == nil || !strings.Contains(err.Error(), "write state: write /dev/full: no space left") || len(carried) > 0 {
		t.Errorf("got %v, %v, and carried out %v", done, err, carried)
	}
}

type wires []workload.Effect

func (w *wires) carry(e workload.Effect) { *w = append(*w, e) }
func (w *wires) stop()                   {}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}
