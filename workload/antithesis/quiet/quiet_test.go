package quiet

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// patience is how long a test waits for what must come.
const patience = 20 * time.Second

// desk is one that is open for the test.
func desk(t *testing.T) (*Desk, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), Dir)
	d, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() }) // closed by some tests themselves
	return d, dir
}

type said struct {
	answer Answer
	err    error
}

// asking asks in the background.
func asking(ctx context.Context, dir string, seconds int) <-chan said {
	out := make(chan said, 1)
	go func() {
		a, err := Ask(ctx, dir, seconds)
		out <- said{a, err}
	}()
	return out
}

// take waits for the next request.
func take(t *testing.T, d *Desk) Request {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		list, err := d.Requests()
		if err != nil {
			t.Fatal(err)
		}
		if len(list) > 0 {
			return list[0]
		}
	}
	t.Fatal("no request came")
	return Request{}
}

// The asker hears what the harness says, and no file stays behind.
func TestARequestIsAnswered(t *testing.T) {
	for _, c := range []struct {
		answer Answer
		refuse string
	}{
		{Answer{Quiet: true, Until: 77}, ""},
		{Answer{Reason: "the run drains"}, "the harness refuses: the run drains"},
	} {
		d, dir := desk(t)
		heard := asking(t.Context(), dir, 30)
		r := take(t, d)
		if r.Seconds != 30 {
			t.Errorf("asked for %d seconds, want 30", r.Seconds)
		}
		if err := d.Answer(r, c.answer); err != nil {
			t.Fatal(err)
		}
		got := <-heard
		if got.answer != c.answer || (c.refuse == "") != (got.err == nil) || got.err != nil && got.err.Error() != c.refuse {
			t.Errorf("heard %+v, %v; want %+v, %q", got.answer, got.err, c.answer, c.refuse)
		}
		left, err := os.ReadDir(dir)
		if err != nil || len(left) != 1 {
			t.Errorf("files left: %v, %v; want the lock only", left, err)
		}
	}
}

// A request that cannot be read is refused with the reason, harms nothing, and
// is not seen again.
func TestADamagedRequest(t *testing.T) {
	const name = "00112233445566aa"
	for _, c := range []struct {
		what, content, want string
	}{
		{"empty", "", "EOF"},
		{"torn", `{"schema":1,"sec`, "unexpected EOF"},
		{"no number", `{"schema":1,"seconds":"ten"}`, "cannot unmarshal"},
		{"zero", `{"schema":1,"seconds":0}`, "0 seconds of quiet: want 1 to 3600"},
		{"too many", `{"schema":1,"seconds":3601}`, "3601 seconds"},
		{"another schema", `{"schema":2,"seconds":1}`, "its schema is 2, this harness reads 1"},
		{"an unknown key", `{"schema":1,"seconds":1,"kill":"all"}`, `unknown field "kill"`},
		{"two values", `{"schema":1,"seconds":1}{}`, "more than one JSON value"},
		{"too long", strings.Repeat(" ", maxFile+1), "longer than 4096 bytes"},
	} {
		t.Run(c.what, func(t *testing.T) {
			d, dir := desk(t)
			if err := os.WriteFile(filepath.Join(dir, name+requestEnd), []byte(c.content), 0o600); err != nil {
				t.Fatal(err)
			}
			refused(t, d, dir, name, c.want)
		})
	}
	t.Run("a pipe", func(t *testing.T) {
		d, dir := desk(t)
		if err := unix.Mkfifo(filepath.Join(dir, name+requestEnd), 0o600); err != nil {
			t.Fatal(err)
		}
		refused(t, d, dir, name, "no regular file")
	})
	t.Run("a link", func(t *testing.T) {
		d, dir := desk(t)
		if err := os.Symlink("/dev/zero", filepath.Join(dir, name+requestEnd)); err != nil {
			t.Fatal(err)
		}
		refused(t, d, dir, name, "too many levels of symbolic links")
	})
}

// refused checks that the only request there is refused.
func refused(t *testing.T, d *Desk, dir, name, want string) {
	t.Helper()
	for range 2 {
		if list, err := d.Requests(); err != nil || len(list) != 0 {
			t.Errorf("requests %v, %v; want none", list, err)
		}
	}
	if a, err := await(t.Context(), dir, name); !errors.Is(err, ErrRefused) || !strings.Contains(a.Reason, want) {
		t.Errorf("answer %+v, %v; want a refusal with %q", a, err, want)
	}
}

// Files of other names are nobody's requests.
func TestOtherFilesAreLeftAlone(t *testing.T) {
	d, dir := desk(t)
	for _, name := range []string{"request", "..request", ".0011223344556677.request", "0011223344556677.request.tmp", "00112233445566GG.request"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(`{"schema":1,"seconds":1}`), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if list, err := d.Requests(); err != nil || len(list) != 0 {
		t.Errorf("requests %v, %v; want none", list, err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 6 {
		t.Errorf("files %v, %v; want all of them", left, err)
	}
}

// Nobody there, nobody there any more, and gone while the asker waits: each is
// told from a refusal.
func TestWithoutAHarness(t *testing.T) {
	if _, err := Ask(t.Context(), "", 1); !errors.Is(err, ErrNoHarness) || !strings.Contains(err.Error(), "PESTLE_QUIET_DIR is not set") {
		t.Errorf("without a directory: %v", err)
	}
	if _, err := Ask(t.Context(), t.TempDir(), 1); !errors.Is(err, ErrNoHarness) {
		t.Errorf("in a directory of nobody: %v", err)
	}
	d, dir := desk(t)
	heard := asking(t.Context(), dir, 1)
	take(t, d)
	if err := d.lock.Close(); err != nil { // killed
		t.Fatal(err)
	}
	if got := <-heard; !errors.Is(got.err, ErrNoHarness) {
		t.Errorf("killed while asked: %v", got.err)
	}
	if _, err := Ask(t.Context(), dir, 1); !errors.Is(err, ErrNoHarness) {
		t.Errorf("after its end: %v", err)
	}
}

// Whoever still waits at the end of a run hears so.
func TestTheEndOfTheRun(t *testing.T) {
	d, dir := desk(t)
	taken := asking(t.Context(), dir, 1)
	take(t, d)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if got := <-taken; !errors.Is(got.err, ErrRefused) || got.answer.Reason != "the run has ended" {
		t.Errorf("heard %+v, %v; want that the run has ended", got.answer, got.err)
	}
}

func TestAnAskerThatGivesUp(t *testing.T) {
	_, dir := desk(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Ask(ctx, dir, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want canceled", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("files left: %v, %v; want the lock only", left, err)
	}
}

func TestSecondsOutOfRange(t *testing.T) {
	for _, n := range []int{-1, 0, MaxSeconds + 1} {
		if _, err := Ask(t.Context(), t.TempDir(), n); err == nil || !strings.Contains(err.Error(), "want 1 to 3600") {
			t.Errorf("%d seconds: %v", n, err)
		}
	}
}

func TestOneDeskADirectory(t *testing.T) {
	_, dir := desk(t)
	if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), "another run uses it") {
		t.Errorf("a second desk: %v", err)
	}
}
