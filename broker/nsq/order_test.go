package nsq

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// opened returns a session that has read in behind the magic, and the
// commands it handed out.
func opened(t *testing.T, in string) (*Session, []Command) {
	t.Helper()
	s := NewSession(smallLimits(), "10.0.0.7:51234")
	s.Feed([]byte(Magic + in))
	return s, commands(s)
}

func commands(s *Session) []Command {
	var all []Command
	for c, ok := s.Next(); ok; c, ok = s.Next() {
		all = append(all, c)
	}
	return all
}

func wantOut(t *testing.T, s *Session, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, frames(s.TakeOutput())); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
}

func wantPanic(t *testing.T, what string, f func()) {
	t.Helper()
	defer func() {
		if recover() == nil {
			t.Errorf("%s: no panic", what)
		}
	}()
	f()
}

func pubs(n int) string { return strings.Repeat("PUB t\n"+sized("a"), n) }

func TestResponsesLeaveInCommandOrder(t *testing.T) {
	s, c := opened(t, pubs(3))
	s.Reply(c[2].Slot, "three")
	s.Reply(c[1].Slot, "two")
	wantOut(t, s)
	if s.Pending() != 3 {
		t.Errorf("%d responses owed, want 3", s.Pending())
	}
	s.Reply(c[0].Slot, "one")
	wantOut(t, s, "> one", "> two", "> three")
	if s.Pending() != 0 {
		t.Errorf("%d responses owed, want none", s.Pending())
	}
}

func TestAnErrorDoesNotOvertakeAnEarlierOK(t *testing.T) {
	s, c := opened(t, pubs(1)+"RDY 1\n"+pubs(1))
	wantOut(t, s)
	if len(c) != 1 || s.Done() {
		t.Fatalf("%d commands, done %v; want the first PUB and a connection that waits for its OK", len(c), s.Done())
	}
	s.Reply(c[0].Slot, OK)
	wantOut(t, s, "> OK", "! E_INVALID RDY is not possible in this state")
	if !s.Done() {
		t.Error("the connection does not end with the error")
	}
}

func TestMessagesAndHeartbeatsWaitForNoResponse(t *testing.T) {
	s, c := opened(t, sub)
	s.Subscribed(c[0].Slot)
	s.Feed([]byte(pubs(1)))
	c = commands(s)
	s.Message(1700000000000000000, 2, ID(0x100007), []byte("body"))
	s.Heartbeat()
	s.Fail(0, CodeFinFailed, "FIN "+id+" failed ID not in flight")
	s.Reply(c[0].Slot, OK)
	wantOut(t, s, "> OK", "* 0000000000100007 at 1700000000000000000, attempt 2: body", "> _heartbeat_",
		"! E_FIN_FAILED FIN "+id+" failed ID not in flight", "> OK")
}

func TestNothingIsParsedBehindASubUntilItIsAnswered(t *testing.T) {
	s, c := opened(t, sub+"RDY 5\n")
	if len(c) != 1 || c[0].Kind != CmdSub || s.State() != StateInit {
		t.Fatalf("state %d, commands %v; want the SUB alone", s.State(), c)
	}
	s.Feed([]byte("NOP\n"))
	if c := commands(s); c != nil {
		t.Fatalf("%v came behind an unanswered SUB", c)
	}
	s.Subscribed(c[0].Slot)
	if s.State() != StateSubscribed {
		t.Errorf("state %d, want subscribed", s.State())
	}
	if c = commands(s); len(c) != 2 || c[0].Kind != CmdRdy || c[0].Count != 5 || c[1].Kind != CmdNop {
		t.Errorf("%v, want RDY 5 and NOP", c)
	}
}

func TestNoMessageOvertakesTheOKOfItsSub(t *testing.T) {
	s, c := opened(t, pubs(1)+sub+"RDY 5\n")
	s.Subscribed(c[1].Slot)
	if c := commands(s); len(c) != 1 || c[0].Kind != CmdRdy {
		t.Fatalf("%v, want RDY 5", c)
	}
	s.Message(1, 1, ID(7), []byte("a"))
	wantOut(t, s)
	s.Reply(c[0].Slot, OK)
	s.Message(2, 1, ID(8), []byte("b"))
	wantOut(t, s, "> OK", "> OK", "* 0000000000000007 at 1, attempt 1: a", "* 0000000000000008 at 2, attempt 1: b")
}

func TestASubBehindAFatalErrorIsDroppedWithItsMessages(t *testing.T) {
	s, c := opened(t, pubs(1)+sub)
	s.Subscribed(c[1].Slot)
	s.Message(1, 1, ID(7), []byte("a"))
	s.Fail(c[0].Slot, CodePubFailed, "disk full")
	s.Message(2, 1, ID(8), []byte("b"))
	wantOut(t, s, "! E_PUB_FAILED disk full")
}

func TestARefusedSubEndsTheConnection(t *testing.T) {
	s, c := opened(t, sub+"RDY 5\n")
	s.Fail(c[0].Slot, CodeSubFailed, "no")
	wantOut(t, s, "! E_SUB_FAILED no")
	if c := commands(s); c != nil || !s.Done() {
		t.Errorf("done %v, commands %v; want an end without commands", s.Done(), c)
	}
}

func TestWhatIsOwedBehindAFatalErrorIsDropped(t *testing.T) {
	s, c := opened(t, pubs(4)+"PUB incomplete")
	s.Reply(c[3].Slot, "four")
	s.Fail(c[1].Slot, CodePubFailed, "disk full")
	s.Feed([]byte("NOP\n"))
	if got := commands(s); got != nil || s.Buffered() != 0 {
		t.Errorf("%v, %d bytes held; a fatal error ends parsing", got, s.Buffered())
	}
	if s.Done() {
		t.Error("done before the first PUB was answered")
	}
	s.Reply(c[0].Slot, OK)
	wantOut(t, s, "> OK", "! E_PUB_FAILED disk full")
	if !s.Done() || s.Pending() != 0 {
		t.Errorf("done %v, %d owed; want an end and nothing owed", s.Done(), s.Pending())
	}
	s.Reply(c[2].Slot, OK) // the caller need not know
	s.Message(1, 1, ID(1), []byte("m"))
	s.Heartbeat()
	s.Fail(0, CodeFinFailed, "late")
	wantOut(t, s)
}

func TestSendingWhatIsNotDuePanics(t *testing.T) {
	s, c := opened(t, pubs(2))
	wantPanic(t, "slot of no command", func() { s.Reply(c[1].Slot+1, OK) })
	wantPanic(t, "slot 0", func() { s.Reply(0, OK) })
	s2, _ := opened(t, pubs(1))
	wantPanic(t, "fatal error in slot 0", func() { s2.Fail(0, CodeInvalid, "enough") })
	s.Reply(c[1].Slot, OK)
	wantPanic(t, "answered twice, unsent", func() { s.Reply(c[1].Slot, OK) })
	s.Reply(c[0].Slot, OK)
	wantPanic(t, "answered twice, sent", func() { s.Fail(c[0].Slot, CodePubFailed, "") })
	wantPanic(t, "no SUB", func() { s.Subscribed(c[0].Slot) })
	wantPanic(t, "message without a subscription", func() { s.Message(1, 1, ID(1), []byte("m")) })
}

func TestBodiesOutliveTheInput(t *testing.T) {
	s := NewSession(smallLimits(), "")
	in := []byte(Magic + "PUB t\n" + sized("abc") + "MPUB t\n" + batch("de", "f"))
	s.Feed(in)
	clear(in)
	c := commands(s)
	s.Feed([]byte(strings.Repeat("NOP\n", len(in)/4))) // comes to lie where the bodies lay
	commands(s)
	want := [][][]byte{{[]byte("abc")}, {[]byte("de"), []byte("f")}}
	if diff := cmp.Diff(want, [][][]byte{c[0].Bodies, c[1].Bodies}); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Reading stops when a client floods a connection behind a SUB, and never for
// a command that only needs more bytes.
func TestFull(t *testing.T) {
	limits := smallLimits()
	limits.MaxMessageSize, limits.MaxBodySize = 300<<10, 200<<10
	s := NewSession(limits, "")
	s.Feed([]byte(Magic + "PUB " + strings.Repeat("t", 64) + " " + strings.Repeat("x", maxLine-70) + "\n" + size(300<<10)))
	s.Feed(make([]byte, 300<<10-1))
	if c := commands(s); c != nil || s.Full() {
		t.Fatalf("full %v, commands %d; the PUB lacks one byte", s.Full(), len(c))
	}
	s.Feed([]byte{0})
	c := commands(s)
	if len(c) != 1 || s.Buffered() != 0 {
		t.Fatalf("%d commands, %d bytes held; want the PUB and nothing", len(c), s.Buffered())
	}
	s.Feed([]byte(sub))
	commands(s)
	s.Feed([]byte(strings.Repeat("NOP\n", (364<<10)/4)))
	if s.Full() {
		t.Error("full at its bound")
	}
	s.Feed([]byte("NOP\n"))
	if !s.Full() {
		t.Error("not full beyond its bound")
	}
}
