package conductor

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pestle/faults"
	"pestle/history"
	"pestle/history/stream"
	"pestle/scenarios"
)

// scripted is a host whose processes are only names: a signal ends them at once,
// and a fault takes effect when the test says so. It answers for the brokers.
type scripted struct {
	t         *testing.T
	addresses map[int]string
	exits     chan Exit
	answers   chan Actuation
	cannot    map[faults.Kind]string
	silent    bool  // nothing is answered before the test does it
	refuse    error // of every signal and of the preparation; nil: none

	mu       sync.Mutex // of what follows: servers and signals have goroutines of their own
	lives    map[string]int
	running  map[string]bool
	told     []string // what the host was told to do since the last look
	leader   string   // who says that it leads; "": nobody
	replaced []string // the replacements asked for
	peers    []string // what the leader says of the others, look by look: JSON
	idle     []string // who answers that it does not do its work
	locked   string   // who says that it is in quarantine; "": nobody
}

func newScripted(t *testing.T) *scripted {
	return &scripted{
		t: t, addresses: map[int]string{}, lives: map[string]int{}, running: map[string]bool{}, cannot: map[faults.Kind]string{},
		exits: make(chan Exit, 16), answers: make(chan Actuation, 16),
	}
}

func (s *scripted) note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.told = append(s.told, fmt.Sprintf(format, args...))
}

// calls returns what the host was told since it was asked last.
func (s *scripted) calls() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	told := s.told
	s.told = nil
	return told
}

func (s *scripted) Prepare(_ context.Context, l Layout) error {
	if s.refuse != nil {
		return s.refuse
	}
	for _, p := range l.Processes {
		if p.Role == faults.Broker {
			s.addresses[p.Number] = s.serve(s.t, p.Name)
		}
	}
	return nil
}

func (s *scripted) Address(n int) Endpoints {
	return Endpoints{Call: s.addresses[n], TCP: fmt.Sprintf("tcp:%d", n), HTTP: fmt.Sprintf("http:%d", n), Peer: fmt.Sprintf("peer:%d", n)}
}

func (s *scripted) Start(process string) error {
	s.note("start %s", process)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lives[process]++
	s.running[process] = true
	return nil
}

func (s *scripted) Signal(process string, sig syscall.Signal) error {
	if s.refuse != nil {
		return s.refuse
	}
	s.note("signal %s %s", process, unix.SignalName(sig))
	switch sig {
	case syscall.SIGKILL:
		s.end(process, Exit{Signal: sig, How: "signal: killed"})
	case syscall.SIGTERM:
		s.end(process, Exit{How: "exit status 0"})
	}
	return nil
}

// end ends the incarnation of a process that runs.
func (s *scripted) end(process string, e Exit) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running[process] {
		s.running[process] = false
		e.Process, e.Life = process, s.lives[process]
		s.exits <- e
	}
}

func (s *scripted) Tell(process, line string) error { s.note("tell %s %s", process, line); return nil }
func (s *scripted) Exits() <-chan Exit              { return s.exits }
func (s *scripted) LastWords(process string) string { return "the last words of " + process }
func (s *scripted) LoseData(broker string) error    { s.note("lose %s", broker); return nil }
func (s *scripted) Can(f faults.Fault) (why string) { return s.cannot[f.Kind] }
func (s *scripted) Actuations() <-chan Actuation    { return s.answers }
func (s *scripted) Close() error                    { s.note("close"); return nil }

func (s *scripted) Impose(f faults.Fault) {
	s.note("impose %d %s %s", f.Ref, f.Kind, f.Target)
	if s.silent {
		return
	}
	if ends(f.Kind) {
		s.end(f.Target, Exit{Signal: syscall.SIGKILL, How: "signal: killed"})
	}
	s.say(f.Ref, history.EdgeEffective, nil)
}

func (s *scripted) Lift(f faults.Fault) {
	s.note("lift %d %s %s", f.Ref, f.Kind, f.Target)
	if !s.silent {
		s.say(f.Ref, history.EdgeEnded, nil)
	}
}

// say answers the conductor.
func (s *scripted) say(ref int, edge string, err error) {
	s.answers <- Actuation{Ref: ref, Edge: edge, Done: stream.Now(), Evidence: edge + " by script", Err: err}
}

// newRun returns a prepared run on a scripted host.
func newRun(t *testing.T, plan scenarios.Plan) (*Conductor, *scripted) {
	t.Helper()
	host := newScripted(t)
	return prepared(t, plan, host), host
}

func prepared(t *testing.T, plan scenarios.Plan, host *scripted) *Conductor {
	t.Helper()
	if plan.Target.Kind == "" {
		plan.Target.Kind, plan.Target.Durability = "pestle", "fsync"
	}
	for i := range plan.Faults {
		plan.Faults[i].Ref = i + 1
	}
	c := New(Options{Plan: plan, Dir: t.TempDir(), Host: host, Sink: func(history.Event) error { return nil }})
	if err := c.prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.shutDown(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// newCluster returns a run of three brokers that are ready, at the start of chaos.
func newCluster(t *testing.T, planned ...faults.Fault) (*Conductor, *scripted) {
	t.Helper()
	c, host := newRun(t, scenarios.Plan{
		Target:   scenarios.Target{Kind: "pestle", Nodes: 3, Durability: "fsync"},
		Workload: scenarios.Workload{Topic: "orders"}, Faults: planned,
	})
	begin(t, c, host)
	return c, host
}

// begin starts the brokers and the chaos.
func begin(t *testing.T, c *Conductor, host *scripted) {
	t.Helper()
	if err := c.startAll(t.Context(), faults.Broker); err != nil {
		t.Fatal(err)
	}
	began, err := c.note(history.Event{Ev: history.Phase, What: history.PhaseChaos})
	if err != nil {
		t.Fatal(err)
	}
	c.chaosBegan = began
	c.scheduler = faults.New(c.programme.faults, nil, int64(time.Hour))
	host.calls()
}

// serve returns the address at which a broker answers.
func (s *scripted) serve(t *testing.T, name string) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /ping", func(w http.ResponseWriter, _ *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.locked == name || slices.Contains(s.idle, name) {
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	mux.HandleFunc("GET /stats", func(w http.ResponseWriter, _ *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		fmt.Fprintf(w, `{"groups":[{"group":0,"term":1,"role":"leader"},{"group":1,"term":7}],"topics":[{"topic_name":"orders","group":1,"leads":%t}]}`, s.leader == name)
	})
	mux.HandleFunc("GET /cluster", func(w http.ResponseWriter, _ *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if name == s.locked {
			fmt.Fprint(w, `{"node":2,"quarantine":" the log contradicts another node's \n"}`)
			return
		}
		if name != s.leader {
			fmt.Fprint(w, `{"node":3,"groups":[{"group":0,"role":"follower","term":7}]}`)
			return
		}
		fmt.Fprintf(w, `{"node":1,"groups":[{"group":0,"role":"leader","term":7,"peers":%s}]}`, s.peers[0])
		s.peers = s.peers[1:]
	})
	mux.HandleFunc("POST /cluster/replace", func(_ http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.replaced = append(s.replaced, r.URL.RawQuery)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

// cancelled returns a context that has ended.
func cancelled(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}
