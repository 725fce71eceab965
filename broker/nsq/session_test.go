package nsq

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	sub = "SUB orders workers\n"
	id  = "0000100000000007"
)

var subbed = []string{"sub orders workers", "> OK"}

// Each row is a connection: what the client sends after the magic, and what
// comes of it. A line is a command handed to the caller, "> " a response,
// "! " an error, "* " a message; "hang up" ends it.
func TestSessionTranscripts(t *testing.T) {
	longName := strings.Repeat("n", 65)
	for _, row := range []struct {
		name string
		in   string
		want []string
	}{
		{"NOP is a sign of life", "NOP\n", []string{"nop"}},
		{"one CR before the LF is dropped", "NOP\r\n", []string{"nop"}},
		{"only one CR is dropped", "NOP\r\r\n", []string{"! E_INVALID invalid command NOP\r", "hang up"}},
		{"extra words are ignored", "NOP now\nPUB t x y z\n" + sized("a"), []string{"nop", `pub t ["a"] after 0 ms`, "> OK"}},
		{"behind the longest commands too", "DPUB t 1 x y\n" + sized("a") + "SUB orders workers x y\nREQ " + id + " 5 x y\n",
			append([]string{`dpub t ["a"] after 1 ms`, "> OK"}, append(subbed, "req "+id+" after 5 ms")...)},
		{"two spaces make an empty word", "PUB  t\n" + sized("a"), []string{`! E_BAD_TOPIC PUB topic name "" is not valid`, "hang up"}},
		{"unknown command", "HELLO world\n", []string{"! E_INVALID invalid command HELLO", "hang up"}},
		{"commands are upper case", "nop\n", []string{"! E_INVALID invalid command nop", "hang up"}},
		{"empty line", "\n", []string{"! E_INVALID invalid command ", "hang up"}},
		{"an unknown command is repeated in part", strings.Repeat("x", 1000) + "\n", []string{"! E_INVALID invalid command " + strings.Repeat("x", 64), "hang up"}},
		{"nothing is read behind a fatal error", "HELLO\nNOP\nPUB t\n" + sized("a"), []string{"! E_INVALID invalid command HELLO", "hang up"}},

		{"PUB", "PUB orders\n" + sized("a\nb"), []string{`pub orders ["a\nb"] after 0 ms`, "> OK"}},
		{"PUB of the largest message", "PUB t\n" + sized("12345678"), []string{`pub t ["12345678"] after 0 ms`, "> OK"}},
		{"PUB without a topic", "PUB\n" + sized("a"), []string{"! E_INVALID PUB lacks a parameter", "hang up"}},
		{"PUB to a bad topic, which is refused before the body comes", "PUB a/b\n", []string{`! E_BAD_TOPIC PUB topic name "a/b" is not valid`, "hang up"}},
		{"PUB to a topic of 65 characters", "PUB " + longName + "\n", []string{fmt.Sprintf("! E_BAD_TOPIC PUB topic name %q is not valid", longName), "hang up"}},
		{"PUB of an empty message", "PUB t\n" + size(0), []string{"! E_BAD_MESSAGE PUB message size 0 is not in 1..8", "hang up"}},
		{"PUB of a negative size", "PUB t\n" + size(-1), []string{"! E_BAD_MESSAGE PUB message size -1 is not in 1..8", "hang up"}},
		{"PUB that is too large, which is refused before the body comes", "PUB t\n" + size(9), []string{"! E_BAD_MESSAGE PUB message size 9 is not in 1..8", "hang up"}},
		{"PUB on a subscribed connection", sub + "PUB t\n" + sized("a"), append(subbed, `pub t ["a"] after 0 ms`, "> OK")},
		{"PUB after CLS", sub + "CLS\nPUB t\n" + sized("a"), append(subbed, "cls", "> CLOSE_WAIT", `pub t ["a"] after 0 ms`, "> OK")},

		{"DPUB", "DPUB t 5000\n" + sized("a"), []string{`dpub t ["a"] after 5000 ms`, "> OK"}},
		{"DPUB without a delay", "DPUB t\n" + sized("a"), []string{"! E_INVALID DPUB lacks a parameter", "hang up"}},
		{"DPUB of an over-long delay is refused", "DPUB t 5001\n", []string{"! E_INVALID DPUB delay 5001 is not in 0..5000", "hang up"}},
		{"DPUB of a delay beyond any number", "DPUB t 99999999999999999999\n", []string{"! E_INVALID DPUB delay 9223372036854775807 is not in 0..5000", "hang up"}},
		{"DPUB of a negative delay", "DPUB t -1\n", []string{`! E_INVALID DPUB delay "-1" is not a number`, "hang up"}},
		{"DPUB to a bad topic", "DPUB t! 1\n", []string{`! E_BAD_TOPIC DPUB topic name "t!" is not valid`, "hang up"}},
		{"DPUB of an empty message", "DPUB t 1\n" + size(0), []string{"! E_BAD_MESSAGE DPUB message size 0 is not in 1..8", "hang up"}},

		{"MPUB", "MPUB t\n" + batch("a", "bc", "12345678"), []string{`mpub t ["a" "bc" "12345678"] after 0 ms`, "> OK"}},
		{"MPUB without a topic", "MPUB\n" + batch("a"), []string{"! E_INVALID MPUB lacks a parameter", "hang up"}},
		{"MPUB to a bad topic says the code twice", "MPUB t!\n", []string{`! E_BAD_TOPIC E_BAD_TOPIC MPUB topic name "t!" is not valid`, "hang up"}},
		{"MPUB of size 0", "MPUB t\n" + size(0), []string{"! E_BAD_BODY MPUB body size 0 is not in 1..64", "hang up"}},
		{"MPUB of a negative size", "MPUB t\n" + size(-5), []string{"! E_BAD_BODY MPUB body size -5 is not in 1..64", "hang up"}},
		{"MPUB that is too large", "MPUB t\n" + size(65), []string{"! E_BAD_BODY MPUB body size 65 is not in 1..64", "hang up"}},
		{"MPUB with no room for a count", "MPUB t\n" + sized("abc"), []string{"! E_BAD_BODY MPUB body of 3 bytes has no message count", "hang up"}},
		{"MPUB of no message", "MPUB t\n" + sized(size(0)+sized("a")), []string{"! E_BAD_BODY MPUB message count 0 is not in 1..1, which is what the body has room for", "hang up"}},
		{"MPUB of a negative count", "MPUB t\n" + sized(size(-1)+sized("a")), []string{"! E_BAD_BODY MPUB message count -1 is not in 1..1, which is what the body has room for", "hang up"}},
		{"MPUB of more messages than there can be", "MPUB t\n" + sized(size(1<<30)+sized("a")+sized("b")), []string{"! E_BAD_BODY MPUB message count 1073741824 is not in 1..2, which is what the body has room for", "hang up"}},
		{"MPUB with an empty message", "MPUB t\n" + sized(size(2)+sized("ab")+size(0)), []string{"! E_BAD_MESSAGE MPUB message 2 size 0 is not in 1..8", "hang up"}},
		{"MPUB with a message that is too large", "MPUB t\n" + batch("a", "123456789"), []string{"! E_BAD_MESSAGE MPUB message 2 size 9 is not in 1..8", "hang up"}},
		{"MPUB that ends within a message", "MPUB t\n" + sized(size(1)+size(3)+"ab"), []string{"! E_BAD_BODY MPUB body ends within message 1 of 1", "hang up"}},
		{"MPUB that ends before a message", "MPUB t\n" + sized(size(2)+sized("abcdefg")), []string{"! E_BAD_BODY MPUB body ends before message 2 of 2", "hang up"}},
		{"MPUB with bytes left over", "MPUB t\n" + sized(size(1)+sized("a")+"NOP\n"), []string{"! E_BAD_BODY MPUB body has 4 bytes behind its last message", "hang up"}},

		{"SUB", sub, subbed},
		{"SUB to ephemeral names", "SUB t#ephemeral c#ephemeral\n", []string{"sub t#ephemeral c#ephemeral", "> OK"}},
		{"SUB without a channel", "SUB t\n", []string{"! E_INVALID SUB lacks a parameter", "hang up"}},
		{"SUB to a bad topic", "SUB #ephemeral c\n", []string{`! E_BAD_TOPIC SUB topic name "#ephemeral" is not valid`, "hang up"}},
		{"SUB to a bad channel", "SUB t c:d\n", []string{`! E_BAD_CHANNEL SUB channel name "c:d" is not valid`, "hang up"}},
		{"second SUB", sub + sub, append(subbed, "! E_INVALID SUB is not possible in this state", "hang up")},
		{"SUB after CLS", sub + "CLS\n" + sub, append(subbed, "cls", "> CLOSE_WAIT", "! E_INVALID SUB is not possible in this state", "hang up")},
		{"SUB without heartbeats", "IDENTIFY\n" + sized(`{"heartbeat_interval":-1}`) + sub,
			[]string{`identify 10.0.0.7 10.0.0.7 "" heartbeat -1 timeout 60000 buffer 16384/250`, "> OK", "! E_INVALID SUB needs heartbeats, which IDENTIFY turned off", "hang up"}},

		{"RDY", sub + "RDY 0\nRDY 10\nRDY 007\nRDY\n", append(subbed, "rdy 0", "rdy 10", "rdy 7", "rdy 1")},
		{"RDY before SUB", "RDY 1\n", []string{"! E_INVALID RDY is not possible in this state", "hang up"}},
		{"RDY above the limit", sub + "RDY 11\n", append(subbed, "! E_INVALID RDY count 11 is not in 0..10", "hang up")},
		{"RDY of a negative count", sub + "RDY -1\n", append(subbed, `! E_INVALID RDY count "-1" is not a number`, "hang up")},
		{"RDY of an empty word", sub + "RDY \n", append(subbed, `! E_INVALID RDY count "" is not a number`, "hang up")},
		{"RDY after CLS is ignored, whatever it says", sub + "CLS\nRDY 5\nRDY x\n", append(subbed, "cls", "> CLOSE_WAIT", "nop", "nop")},

		{"FIN, REQ, TOUCH", sub + "FIN " + id + "\nREQ " + id + " 0\nTOUCH " + id + "\n", append(subbed, "fin "+id, "req "+id+" after 0 ms", "touch "+id)},
		{"FIN, REQ, TOUCH after CLS", sub + "CLS\nFIN " + id + "\nREQ " + id + " 5\nTOUCH " + id + "\n",
			append(subbed, "cls", "> CLOSE_WAIT", "fin "+id, "req "+id+" after 5 ms", "touch "+id)},
		{"FIN before SUB", "FIN " + id + "\n", []string{"! E_INVALID FIN is not possible in this state", "hang up"}},
		{"REQ before SUB", "REQ " + id + " 0\n", []string{"! E_INVALID REQ is not possible in this state", "hang up"}},
		{"TOUCH before SUB", "TOUCH " + id + "\n", []string{"! E_INVALID TOUCH is not possible in this state", "hang up"}},
		{"FIN without an id", sub + "FIN\n", append(subbed, "! E_INVALID FIN lacks a parameter", "hang up")},
		{"FIN of a short id", sub + "FIN 123\n", append(subbed, `! E_INVALID FIN message id "123" has not 16 bytes`, "hang up")},
		{"FIN of a long id", sub + "FIN " + id + "0\n", append(subbed, `! E_INVALID FIN message id "`+id+`0" has not 16 bytes`, "hang up")},
		{"TOUCH of a short id", sub + "TOUCH 123\n", append(subbed, `! E_INVALID TOUCH message id "123" has not 16 bytes`, "hang up")},
		{"REQ of a short id", sub + "REQ 123 0\n", append(subbed, `! E_INVALID REQ message id "123" has not 16 bytes`, "hang up")},
		{"REQ without a delay", sub + "REQ " + id + "\n", append(subbed, "! E_INVALID REQ lacks a parameter", "hang up")},
		{"REQ of an unreadable delay", sub + "REQ " + id + " 1s\n", append(subbed, `! E_INVALID REQ delay "1s" is not a number`, "hang up")},
		{"REQ of an over-long delay is clamped", sub + "REQ " + id + " 6001\nREQ " + id + " 99999999999999999999\n",
			append(subbed, "req "+id+" after 6000 ms", "req "+id+" after 6000 ms")},

		{"CLS", sub + "CLS\n", append(subbed, "cls", "> CLOSE_WAIT")},
		{"CLS before SUB", "CLS\n", []string{"! E_INVALID CLS is not possible in this state", "hang up"}},
		{"second CLS", sub + "CLS\nCLS\n", append(subbed, "cls", "> CLOSE_WAIT", "! E_INVALID CLS is not possible in this state", "hang up")},

		{"AUTH", "AUTH\n" + sized("secret"), []string{"! E_AUTH_DISABLED AUTH is not asked for by this server", "hang up"}},
		{"AUTH takes no parameter", "AUTH secret\n" + sized("secret"), []string{"! E_INVALID AUTH takes no parameter", "hang up"}},
		{"AUTH of an empty secret", "AUTH\n" + size(0), []string{"! E_BAD_BODY AUTH body size 0 is not in 1..64", "hang up"}},
		{"AUTH of an over-long secret", "AUTH\n" + size(65), []string{"! E_BAD_BODY AUTH body size 65 is not in 1..64", "hang up"}},
		{"AUTH after SUB", sub + "AUTH\n" + sized("secret"), append(subbed, "! E_INVALID AUTH is not possible in this state", "hang up")},
	} {
		t.Run(row.name, func(t *testing.T) {
			tr := newTranscript(smallLimits())
			tr.feed(Magic + row.in)
			if diff := cmp.Diff(row.want, tr.lines); diff != "" {
				t.Errorf("%q (-want +got):\n%s", row.in, diff)
			}
		})
	}
}

// The errors that only the caller can know of: fatal ones end the connection,
// the three others do not.
func TestSessionFailuresOfTheCaller(t *testing.T) {
	const because = " because the test says so"
	for _, row := range []struct {
		in   string
		fail Code
		want []string
	}{
		{"PUB t\n" + sized("a"), CodePubFailed, []string{`pub t ["a"] after 0 ms`, "! E_PUB_FAILED" + because, "hang up"}},
		{"MPUB t\n" + batch("a"), CodeMpubFailed, []string{`mpub t ["a"] after 0 ms`, "! E_MPUB_FAILED" + because, "hang up"}},
		{"DPUB t 1\n" + sized("a"), CodeDpubFailed, []string{`dpub t ["a"] after 1 ms`, "! E_DPUB_FAILED" + because, "hang up"}},
		{sub, CodeSubFailed, []string{"sub orders workers", "! E_SUB_FAILED" + because, "hang up"}},
		{"FIN " + id + "\nNOP\n", CodeFinFailed, []string{"fin " + id, "! E_FIN_FAILED" + because, "nop"}},
		{"REQ " + id + " 1\nNOP\n", CodeReqFailed, []string{"req " + id + " after 1 ms", "! E_REQ_FAILED" + because, "nop"}},
		{"TOUCH " + id + "\nNOP\n", CodeTouchFailed, []string{"touch " + id, "! E_TOUCH_FAILED" + because, "nop"}},
	} {
		t.Run(string(row.fail), func(t *testing.T) {
			tr := newTranscript(smallLimits())
			tr.feed(Magic)
			if !row.fail.Fatal() {
				tr.feed(sub)
				tr.lines = nil
			}
			tr.fail = row.fail
			tr.feed(row.in + "NOP\n")
			want := row.want
			if !row.fail.Fatal() {
				want = append(want, "nop")
			}
			if diff := cmp.Diff(want, tr.lines); diff != "" {
				t.Errorf("%q (-want +got):\n%s", row.in, diff)
			}
		})
	}
}

func TestOnlyFailedFinReqAndTouchAreNotFatal(t *testing.T) {
	for code, fatal := range map[Code]bool{
		CodeBadProtocol: true, CodeInvalid: true, CodeBadBody: true, CodeBadTopic: true, CodeBadChannel: true,
		CodeBadMessage: true, CodePubFailed: true, CodeMpubFailed: true, CodeDpubFailed: true, CodeSubFailed: true,
		CodeFinFailed: false, CodeReqFailed: false, CodeTouchFailed: false, CodeIdentifyFailed: true,
		CodeAuthDisabled: true, CodeAuthFirst: true, CodeAuthFailed: true, CodeUnauthorized: true, CodeAuthError: true,
	} {
		if code.Fatal() != fatal {
			t.Errorf("%s: fatal is %v, want %v", code, code.Fatal(), fatal)
		}
	}
	for verb, code := range map[string]Code{"PUB": CodePubFailed, "MPUB": CodeMpubFailed, "DPUB": CodeDpubFailed} {
		if got := PublishFailed(verb); got != code {
			t.Errorf("a failed %s is %s, want %s", verb, got, code)
		}
	}
}

func TestSessionMagic(t *testing.T) {
	for _, row := range []struct {
		in   string
		want []string
	}{
		{"", nil},
		{"  V", nil}, // more may come
		{"  V2", nil},
		{"  V1", []string{"! E_BAD_PROTOCOL", "hang up"}},
		{"GET / HTTP/1.1\r\n", []string{"! E_BAD_PROTOCOL", "hang up"}},
	} {
		tr := newTranscript(smallLimits())
		tr.feed(row.in)
		if diff := cmp.Diff(row.want, tr.lines); diff != "" {
			t.Errorf("%q (-want +got):\n%s", row.in, diff)
		}
	}
}

func TestSessionLineLimit(t *testing.T) {
	// pad makes a NOP line of n bytes with its LF.
	pad := func(n int) string { return "NOP " + strings.Repeat("x", n-5) + "\n" }
	for _, row := range []struct {
		name string
		in   string
		want []string
	}{
		{"the longest line", pad(16384), []string{"nop"}},
		{"one byte more closes without a frame", pad(16385), []string{"hang up"}},
		{"so does a line without an end", strings.Repeat("x", 16384), []string{"hang up"}},
		{"a line may still end at the limit", strings.Repeat("x", 16383), nil},
		{"what came before is answered", "PUB t\n" + sized("a") + pad(16385), []string{`pub t ["a"] after 0 ms`, "> OK", "hang up"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			tr := newTranscript(smallLimits())
			tr.feed(Magic + row.in)
			if diff := cmp.Diff(row.want, tr.lines); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
