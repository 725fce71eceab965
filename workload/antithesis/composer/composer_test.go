package composer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pestle/checker"
	"pestle/history"
	"pestle/history/stream"
	"pestle/reports/sdk"
)

func newStage(t *testing.T, settings Settings) *stage {
	t.Helper()
	t.Setenv(sdk.OutputVariable, "")
	settings.State = t.TempDir()
	g, err := open(settings, "test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.assertions.Close(); err != nil {
			t.Error(err)
		}
	})
	return g
}

func TestSettings(t *testing.T) {
	s, err := FromEnvironment(func(string) string { return "" })
	if err != nil || !slices.Equal(s.TCP, []string{"127.0.0.1:4150"}) || !slices.Equal(s.HTTP, []string{"127.0.0.1:4151"}) || s.State != "/run/pestle" || s.Drain != 2*time.Minute {
		t.Errorf("defaults %+v, %v", s, err)
	}
	for _, c := range []struct{ tcp, http, drain, want string }{
		{"a:1,b:1,c:1", "a:2,b:2,c:2", "90s", ""},
		{"a:1,b:1", "a:2", "", "names 2 brokers and PESTLE_NSQD_HTTP 1"},
		{"a", "a:2", "", "PESTLE_NSQD_TCP: address a: missing port"},
		{"a:1", "a:2", "soon", `PESTLE_DRAIN_WITHIN is "soon"`},
		{"a:1", "a:2", "1ms", "want a duration of a second or more"},
	} {
		_, err := FromEnvironment(func(name string) string {
			return map[string]string{VariableTCP: c.tcp, VariableHTTP: c.http, VariableDrain: c.drain}[name]
		})
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// The names are those that the composer knows what to do with.
func TestCommandNames(t *testing.T) {
	prefixes := []string{"first_", "parallel_driver_", "serial_driver_", "singleton_driver_", "anytime_", "eventually_", "finally_"}
	drivers := 0
	for _, c := range Commands() {
		if !slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(c.Name, p) }) {
			t.Errorf("the composer does not know %s", c.Name)
		}
		if strings.HasPrefix(c.Name, "parallel_driver_") {
			drivers++
		}
	}
	if drivers == 0 {
		t.Error("a template needs a driver")
	}
}

// Commands that start at the same time get actors of their own, and there is
// one consumer of the ordered channel.
func TestActors(t *testing.T) {
	g := newStage(t, Settings{})
	var mu sync.Mutex
	names := map[string]int{}
	var all sync.WaitGroup
	for range 20 {
		for _, recruit := range []func() (*actor, error){g.newProducer, func() (*actor, error) { return g.newSharer(50) }} {
			all.Go(func() {
				a, err := recruit()
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				defer mu.Unlock()
				names[a.name]++
			})
		}
	}
	all.Wait()
	for n := 1; n <= 20; n++ {
		for _, name := range []string{fmt.Sprintf("producer-%d", n), fmt.Sprintf("consumer-shared-%d", n)} {
			if names[name] != 1 {
				t.Errorf("%s is there %d times", name, names[name])
			}
		}
	}
	first, err := g.theOrdered()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.theOrdered(); !errors.Is(err, errTaken) {
		t.Errorf("a second consumer of the ordered channel: %v", err)
	}
	first.release()
	again, err := g.theOrdered()
	if err != nil {
		t.Fatal(err)
	}
	again.release()
	if left, err := filepath.Glob(filepath.Join(g.State, "actors", ".new-*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// A plan of an actor that is damaged is named, not guessed at.
func TestADamagedActor(t *testing.T) {
	for _, c := range []struct{ content, want string }{
		{"", "EOF"},
		{`{"topic":"x"`, "unexpected EOF"},
		{`{"topic":"x","producers":[],"consumers":[]}`, "want one producer or consumer"},
		{`{"gear":5}`, `unknown field "gear"`},
		{strings.Repeat(" ", maxActor+1), "at most 65536 are allowed"},
	} {
		g := newStage(t, Settings{})
		if err := os.WriteFile(g.path("producer-1"), []byte(c.content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := g.take("producer-1"); err == nil || !strings.Contains(err.Error(), "producer-1.json: ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.40q: %v, want %s", c.content, err, c.want)
		}
	}
}

// sound is what a broker says that is well.
const sound = `{"node":1,"groups":[{"group":2,"term":3,"first":2,"commit":40,"applied":39,"last":41}],
"topics":[{"topic_name":"a","group":2,"leads":true,"depth":0,"message_count":42,"channels":[
 {"channel_name":"c","depth":2,"in_flight_count":3,"deferred_count":1,"message_count":42,"finished_below":36,
  "clients":[{"client_id":"x","ready_count":48,"in_flight_count":2},{"client_id":"y","ready_count":0,"in_flight_count":1}]}]}]}`

// Each of the assertions on the statistics is broken by one change, and by no
// other.
func TestHealth(t *testing.T) {
	for i, c := range []struct{ from, to, want string }{
		{"", "", ""},
		{`"commit":40`, `"commit":42`, "group 2: applied 39, commit 42, last 41"},
		{`"ready_count":48,"in_flight_count":2`, `"ready_count":1,"in_flight_count":21`, "x has 21 in flight with RDY 1"},
		{`"deferred_count":1`, `"deferred_count":38`, "depth 2, in flight 3, deferred 38, given 42, published 42"},
		{`"finished_below":36`, `"finished_below":42`, "all 42 finished, and 6 left"},
		{`{"topic_name":"a",`, `{"topic_name":"a","channels":null},{"topic_name":"a",`, "topic a is there twice"},
		{`"first":2`, `"first":43`, "group 2: first 43, last 41"},
	} {
		said := strings.Replace(sound, c.from, c.to, 1)
		if i == 2 {
			said = strings.Replace(said, `"in_flight_count":3`, `"in_flight_count":22`, 1)
		}
		broker := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, said) }))
		g := newStage(t, Settings{HTTP: []string{"127.0.0.1:1", strings.TrimPrefix(broker.URL, "http://")}})
		err := g.health(t.Context())
		broker.Close()
		if c.want == "" {
			if err != nil {
				t.Error(err)
			}
			continue
		}
		if !errors.Is(err, ErrViolation) || strings.Count(err.Error(), "violation") != 1 || !strings.HasSuffix(err.Error(), c.want) {
			t.Errorf("%s: %v, want one violation: %s", c.to, err, c.want)
		}
		if message := checks()[i-1].assertion.Message; !strings.Contains(err.Error(), message) {
			t.Errorf("%s: %v, want that of %q", c.to, err, message)
		}
	}
}

// A consumer that was killed is known to be gone from the moment after its last
// line; one that ended in order, or never lived, is not.
func TestKilled(t *testing.T) {
	g := newStage(t, Settings{})
	for name, notes := range map[string][]string{
		"consumer-shared-1": {history.NoteStarted, history.NoteTick},
		"consumer-shared-2": {history.NoteStarted, history.NoteStopped},
		"consumer-shared-3": {history.NoteStarted, history.NoteStopped, history.NoteStarted},
		"consumer-shared-4": nil,
	} {
		w, err := stream.OpenWriter(g.history(name), name)
		if err != nil {
			t.Fatal(err)
		}
		for i, what := range notes {
			if _, err := w.Append(history.Event{T: int64(10 * (i + 1)), Ev: history.Note, What: what}); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]int64{"consumer-shared-1": 21, "consumer-shared-2": 0, "consumer-shared-3": 31, "consumer-shared-4": 0} {
		got, err := g.killed(name)
		if err != nil || (want == 0) != (len(got) == 0) {
			t.Errorf("%s: %v, %v; want its end at %d", name, got, err, want)
			continue
		}
		if want != 0 && (got[0].T != want || got[0].What != history.NoteExited || got[0].Target != name) {
			t.Errorf("%s: %+v, want its end at %d", name, got[0], want)
		}
	}
}

// Every command declares the whole catalog, each assertion once, in a file of
// its own.
func TestEveryCommandDeclaresTheCatalog(t *testing.T) {
	g := newStage(t, Settings{})
	again, err := open(g.Settings, "test")
	if err != nil {
		t.Fatal(err)
	}
	if err := again.assertions.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(g.State, "sdk", "test-*.jsonl"))
	if err != nil || len(files) != 2 {
		t.Fatalf("files %v, %v; want two", files, err)
	}
	for _, path := range files {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range catalog() {
			message, err := json.Marshal(a.Message)
			if err != nil || bytes.Count(content, append([]byte(`"id":`), message...)) != 1 {
				t.Errorf("%s does not declare %s once (%v)", path, message, err)
			}
		}
	}
}

// Without a broker a test cannot begin, and the error says what to do.
func TestSetupWithoutABroker(t *testing.T) {
	g := newStage(t, Settings{HTTP: []string{"127.0.0.1:1"}})
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := g.setUp(ctx); err == nil || !strings.Contains(err.Error(), "correct PESTLE_NSQD_HTTP, or start them") {
		t.Errorf("error %v", err)
	}
}

// What is judged without a journal of faults is every actor's, and asks for no
// window.
func TestTheCheckersConfig(t *testing.T) {
	g := newStage(t, Settings{})
	for _, recruit := range []func() (*actor, error){g.newProducer, g.newProducer, g.theOrdered, func() (*actor, error) { return g.newSharer(0) }} {
		a, err := recruit()
		if err != nil {
			t.Fatal(err)
		}
		a.release()
	}
	c, err := g.config()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(c.Producers, []string{"producer-1", "producer-2"}) || len(c.Streams) != 2 ||
		!slices.Equal(c.Streams[0].Consumers, []string{"consumer-ordered-1"}) || !slices.Equal(c.Streams[1].Consumers, []string{"consumer-shared-1"}) {
		t.Errorf("config %+v", c)
	}
	v := checker.New(c).Verdict()
	for _, p := range v.Properties {
		if judged := p.Status != checker.NotApplicable; judged && (p.Slug == checker.ProducerProgress || p.Slug == checker.ConsumerProgress) {
			t.Errorf("%s is judged", p.Slug)
		}
	}
}
