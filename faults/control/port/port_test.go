package port

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pestle/faults"
	"pestle/faults/clock"
	"pestle/faults/control"
	"pestle/faults/disk"
)

func newDisk(t testing.TB, o disk.Options) (*disk.Dir, string) {
	t.Helper()
	path := t.TempDir()
	d, err := disk.Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	return d, path
}

func serve(t *testing.T, d *disk.Dir, c *clock.Clock) *control.Client {
	t.Helper()
	s := httptest.NewServer(New(d, c))
	t.Cleanup(s.Close)
	return control.NewClient(strings.TrimPrefix(s.URL, "http://"))
}

// TestControl is a session of the harness: faults come, are seen, and go.
func TestControl(t *testing.T) {
	ctx := context.Background()
	d, path := newDisk(t, disk.Options{Lying: true})
	c := serve(t, d, clock.New())
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(c.Impose(ctx, faults.Fault{Ref: 1, Kind: faults.DiskFull, Target: "broker-1", For: 5}, 7))
	must(c.Impose(ctx, faults.Fault{Ref: 2, Kind: faults.ClockJump, Offset: 1_000_000_000}, 7))
	must(c.Impose(ctx, faults.Fault{Ref: 3, Kind: faults.ClockFreeze}, 7))
	if _, err := d.Create("a"); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("a file on a full disk: %v", err)
	}
	s, err := c.Status(ctx)
	must(err)
	want := []control.Imposed{{Ref: 1, Kind: faults.DiskFull, Bites: 1}, {Ref: 2, Kind: faults.ClockJump}, {Ref: 3, Kind: faults.ClockFreeze}}
	if len(s.Faults) != 3 || s.Faults[0] != want[0] || s.Faults[1] != want[1] || s.Faults[2] != want[2] ||
		s.PowerLost || !s.Lying || !s.Clock.Frozen || s.Clock.Offset > 1_000_000_000 || s.Clock.Offset < 900_000_000 {
		t.Errorf("status %+v", s)
	}
	for ref, bites := range []int64{1: 1, 2: 0, 3: 0, 4: 0} {
		if n, err := c.Lift(ctx, ref); n != bites || err != nil {
			t.Errorf("lifting %d: %d, %v", ref, n, err)
		}
	}
	f, err := d.Create("a")
	must(err)
	must(f.Sync())
	loss, err := c.PowerLoss(ctx, 3)
	if must(err); loss.Kept+loss.Torn+loss.Dropped != 1 {
		t.Errorf("the loss of one creation is %+v", loss)
	}
	if loss, err := c.PowerLoss(ctx, 4); err != nil || loss != (control.Loss{}) {
		t.Errorf("a second loss of power: %+v, %v", loss, err)
	}
	if s, err := c.Status(ctx); err != nil || !s.PowerLost || len(s.Faults) != 0 {
		t.Errorf("status after the power loss: %+v, %v", s, err)
	}
	if err := c.Impose(ctx, faults.Fault{Ref: 9, Kind: faults.DiskFull}, 1); err == nil || !strings.Contains(err.Error(), "kill the process") {
		t.Errorf("a fault after the power loss: %v", err)
	}
	if _, err := os.Stat(filepath.Join(path, "a")); (err == nil) != (loss.Kept == 1) {
		t.Errorf("the file is there: %v, of %+v", err == nil, loss)
	}
}

// TestRefusals: what is wrong is told with a status and a reason.
func TestRefusals(t *testing.T) {
	d, _ := newDisk(t, disk.Options{})
	h := New(d, clock.New())
	for _, c := range []struct {
		method, path, body string
		status             int
		why                string
	}{
		{"POST", "/impose", `{"fault":{"ref":1,"kind":"disk-slow","factor":3},"seed":1}`, 200, "{}"},
		{"POST", "/impose", `{"fault":{"ref":1,"kind":"disk-slow","factor":3},"seed":1}`, 200, "{}"},
		{"POST", "/impose", `{"fault":{"ref":2,"kind":"disk-slow","factor":3},"seed":1}`, 409, "lift it first"},
		{"POST", "/impose", `{"fault":{"ref":2,"kind":"disk-stuck"},"sead":1}`, 400, "unknown field"},
		{"POST", "/impose", `{"fault":{"ref":2,"kind":"partition"}}`, 400, "no fault of a disk or a clock"},
		{"POST", "/impose", `{"fault":{"ref":2,"kind":"clock-drift","drift":1000000}}`, 400, "it takes -100000 to 100000"},
		{"POST", "/impose", `{"fault":{"kind":"clock-freeze"}}`, 400, "numbered from 1"},
		{"POST", "/lift", `{"ref":1} {"ref":2}`, 400, "something follows"},
		{"POST", "/lift", `{"ref":"` + strings.Repeat("x", control.MaxRequest) + `"}`, 400, "too large"},
		{"POST", "/power-loss", `{"seed":-1}`, 400, "not understood"},
		{"GET", "/impose", ``, 405, ""},
		{"GET", "/", ``, 404, ""},
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(c.method, c.path, strings.NewReader(c.body)))
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.why) {
			t.Errorf("%s %s %.60s: %d %s, want %d with %q", c.method, c.path, c.body, w.Code, w.Body, c.status, c.why)
		}
	}
	if d.Lost() {
		t.Error("a refused request lost the power")
	}
}

func TestListenOnLoopbackOnly(t *testing.T) {
	for address, why := range map[string]string{
		"127.0.0.1:0": "", "localhost:0": "", "[::1]:x": "--chaos-address",
		":0": "not loopback", "0.0.0.0:0": "not loopback", "192.0.2.1:80": "not loopback", "example.org:80": "not loopback", "127.0.0.1": "give host:port",
	} {
		l, err := Listen(address)
		if err == nil {
			l.Close()
		}
		if (err == nil) != (why == "") || err != nil && !strings.Contains(err.Error(), why) {
			t.Errorf("%q: %v, want %q", address, err, why)
		}
	}
}

// FuzzImpose: whatever arrives is answered, and what is accepted is a fault of
// the catalog that can be lifted again.
func FuzzImpose(f *testing.F) {
	f.Add(`{"fault":{"ref":1,"kind":"disk-slow","factor":3},"seed":1}`)
	f.Add(`{"fault":{"ref":2,"kind":"bit-rot","count":3},"seed":18446744073709551615}`)
	f.Add(`{"fault":{"ref":3,"kind":"clock-jump","offset":-5,"side":["broker-1"]}}`)
	f.Add(`{"fault":null}`)
	f.Add(`[]`)
	d, _ := newDisk(f, disk.Options{})
	c := clock.New()
	h := New(d, c)
	f.Fuzz(func(t *testing.T, body string) {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/impose", strings.NewReader(body)))
		if w.Code != http.StatusOK && w.Code != http.StatusBadRequest && w.Code != http.StatusConflict {
			t.Fatalf("%q: %d %s", body, w.Code, w.Body)
		}
		for _, on := range d.Faults() {
			if _, err := d.Lift(on.Ref); err != nil {
				t.Fatal(err)
			}
		}
		for _, on := range c.Faults() {
			c.Lift(on.Ref)
		}
		if w.Code == http.StatusConflict {
			t.Fatalf("%q: %s, and nothing is under way", body, w.Body)
		}
	})
}

// TestCarries: the harness knows without this package what it can ask for.
func TestCarries(t *testing.T) {
	for _, spec := range faults.Kinds() {
		if can := disk.Does(spec.Kind) || clock.Does(spec.Kind); can != control.Carries(spec.Kind) {
			t.Errorf("%s: served: %v, known to be: %v", spec.Kind, can, control.Carries(spec.Kind))
		}
	}
}
