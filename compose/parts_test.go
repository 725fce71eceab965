package compose

import (
	"errors"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"pestle/campaign/conductor"
)

func TestAnOwnerIsDeadWhenItsProcessIsAnother(t *testing.T) {
	own, err := self()
	if err != nil {
		t.Fatal(err)
	}
	read, ok := ownerOf(own.labels("run"))
	if !ok || read != own {
		t.Fatalf("labels %v are read as %+v", own.labels("run"), read)
	}
	ended := exec.Command("sleep", "0")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	unreaped := exec.Command("sleep", "0")
	if err := unreaped.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the child has ended", func() bool {
		_, err := startOf(unreaped.Process.Pid)
		return os.IsNotExist(err)
	})
	for _, c := range []struct {
		name  string
		owner owner
		dead  bool
	}{
		{"this process", own, false},
		{"an earlier process of this pid", owner{own.pid, "1.00000000", own.machine}, true},
		{"a process that has ended", owner{ended.Process.Pid, own.start, own.machine}, true},
		{"a process that nobody has waited for", owner{unreaped.Process.Pid, own.start, own.machine}, true},
		{"a process of another machine", owner{own.pid, "1.00000000", "elsewhere"}, false},
	} {
		if got := c.owner.dead(); got != c.dead {
			t.Errorf("%s: dead %v", c.name, got)
		}
	}
	if err := unreaped.Wait(); err != nil {
		t.Error(err)
	}
	for _, label := range []string{"", "7", ":x", "0:x", "-1:x", "x:y", "7:"} {
		if _, ok := ownerOf(map[string]string{labelOwner: label}); ok {
			t.Errorf("%q was read as an owner", label)
		}
	}
}

func TestWhatToDoAboutAnEngineThatDoesNotAnswer(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{&os.PathError{Op: "dial", Path: "docker.sock", Err: syscall.EACCES}, "who has no permission for it; run this as root"},
		{errors.New("Get \"http://docker.sock/info\": connect: permission denied"), "who has no permission for it; run this as root"},
		{syscall.ECONNREFUSED, "connection refused; start one"},
	} {
		err := noEngine("unix:///docker.sock", c.err)
		if !errors.Is(err, ErrNoEngine) || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "unix:///docker.sock") {
			t.Errorf("%v is told as %v", c.err, err)
		}
	}
}

func TestManyErrorsOfOneSortAreToldBriefly(t *testing.T) {
	one, two, three := errors.New("remove a: late"), errors.New("remove b: late"), errors.New("remove c: late")
	for want, err := range map[string]error{
		"remove a: late": errors.Join(one),
		"remove a: late (the same befell 2 more; pestle down removes them once the engine answers)": errors.Join(one, two, three),
	} {
		if got := briefly(err); got.Error() != want || !errors.Is(got, one) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if briefly(nil) != nil {
		t.Error("no error is one")
	}
}

func TestARunIDIsANameForDocker(t *testing.T) {
	for dir, want := range map[string]string{
		"/x/first-light-1-20261130-042102.315": "first-light-1-20261130-042102-315-",
		"/x/My Run":                            "my-run-",
		"/":                                    "run-",
		"/x/...":                               "run-",
		"/x/" + strings.Repeat("a", 99):        strings.Repeat("a", 40) + "-",
	} {
		if got := runID(dir); !strings.HasPrefix(got, want) || len(got) != len(want)+6 {
			t.Errorf("%s is %s, want %s and six digits", dir, got, want)
		}
	}
	if runID("/a/run") == runID("/b/run") {
		t.Error("two directories of one name are one run")
	}
}

func TestAddressesOfARun(t *testing.T) {
	subnet := subnetAt(200)
	if subnet != netip.MustParsePrefix("10.213.200.0/24") {
		t.Errorf("subnet %v", subnet)
	}
	for _, c := range []struct {
		n    int
		want string
	}{{0, "10.213.200.10"}, {240, "10.213.200.250"}, {241, ""}, {-1, ""}} {
		got, err := assign(subnet, c.n)
		if c.want == "" && !errors.Is(err, errTooMany) || c.want != "" && got.String() != c.want {
			t.Errorf("process %d is at %v, %v; want %q", c.n, got, err, c.want)
		}
	}
	if !takenHere(netip.MustParsePrefix("127.0.0.0/24")) {
		t.Error("the loopback network is free")
	}
}

func TestAnExitIsReadFromItsCode(t *testing.T) {
	for _, c := range []struct {
		code int
		oom  bool
		want conductor.Exit
	}{
		{0, false, conductor.Exit{How: "exit status 0"}},
		{2, false, conductor.Exit{Code: 2, How: "exit status 2"}},
		{137, false, conductor.Exit{Code: 137, Signal: syscall.SIGKILL, How: "signal: killed"}},
		{137, true, conductor.Exit{Code: 137, Signal: syscall.SIGKILL, How: "out of memory, signal: killed"}},
		{128, false, conductor.Exit{Code: 128, How: "exit status 128"}},
		{255, false, conductor.Exit{Code: 255, How: "exit status 255"}},
	} {
		if got := exitOf(c.code, c.oom); got != c.want {
			t.Errorf("%d: %+v, want %+v", c.code, got, c.want)
		}
	}
}

func TestProcessesRunAsNobodyOrAsTheHarness(t *testing.T) {
	if got := userOf(0, 0); got != "65532:65532" {
		t.Errorf("root's processes run as %s", got)
	}
	if got := userOf(1000, 100); got != "1000:100" {
		t.Errorf("a user's processes run as %s", got)
	}
}

func TestWordsOfARun(t *testing.T) {
	r := Run{ID: "x-1", Containers: []string{"a", "b"}, Networks: []string{"n"}}
	if got := r.Words(); got != "x-1: 2 containers, 1 network" {
		t.Error(got)
	}
}
