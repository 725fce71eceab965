package nsq

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// chunks calls feed with in, cut into pieces whose lengths cuts gives: each
// byte is one length, the last one repeats, and none leaves in whole.
func chunks(in, cuts []byte, feed func(p []byte)) {
	n := len(in)
	for len(in) > 0 {
		if len(cuts) > 0 {
			n, cuts = int(cuts[0])+1, cuts[1:]
		}
		n = min(n, len(in))
		feed(in[:n])
		in = in[n:]
	}
}

// Whatever a client sends, and however the network cuts it, the session does
// not panic, holds no more than one command, and says the same.
func FuzzSession(f *testing.F) {
	for _, in := range []string{
		"", "  V1", Magic, "GET / HTTP/1.1\r\n\r\n",
		Magic + "IDENTIFY\n" + sized(`{"client_id":"c","heartbeat_interval":1000,"feature_negotiation":true}`) + sub + "RDY 5\nNOP\r\n",
		Magic + "IDENTIFY\n" + sized(`{"heartbeat_interval":-1}`) + sub,
		Magic + "PUB t\n" + sized("a") + "DPUB t 100\n" + sized("b") + "MPUB t\n" + batch("c", "d") + "PUB t\n" + size(9),
		Magic + sub + "FIN " + id + "\nREQ " + id + " 99999\nTOUCH " + id + "\nCLS\nRDY x\nFIN " + id + "\nCLS\n",
		Magic + "MPUB t\n" + sized(size(1<<30)+sized("a")), Magic + "MPUB t\n" + sized(size(1)+sized("a")+"NOP\n"),
		Magic + "AUTH\n" + sized("s"), Magic + "AUTH s\n", Magic + "\n", Magic + "PUB t\n" + size(-1),
		Magic + strings.Repeat("x", 20_000), Magic + "NOP " + strings.Repeat("x", 16_379) + "\nHELLO\n",
	} {
		f.Add([]byte(in), []byte{0})
		f.Add([]byte(in), []byte{200, 3, 0, 17})
	}
	f.Fuzz(func(t *testing.T, in, cuts []byte) {
		limits := smallLimits()
		whole := newTranscript(limits)
		whole.feed(string(in))
		pieces := newTranscript(limits)
		chunks(in, cuts, func(p []byte) {
			pieces.feed(string(p))
			if held := int64(pieces.Buffered()); held > maxLine+4+limits.MaxBodySize || pieces.Full() {
				t.Fatalf("%d bytes held, full %v; one command is the most", held, pieces.Full())
			}
		})
		if diff := cmp.Diff(whole.lines, pieces.lines); diff != "" {
			t.Errorf("cut by %v (-whole +pieces):\n%s", cuts, diff)
		}
	})
}

// Whatever a server sends, and however the network cuts it, the client does
// not panic, holds no more than one frame, and learns and answers the same.
func FuzzClient(f *testing.F) {
	for _, in := range []string{
		"", response(negotiated), response(OK),
		response(negotiated) + response("_heartbeat_") + response(OK) + response(OK) + message("body") + response(CloseWait),
		response(negotiated) + response(OK) + message("body") + response(OK) + message("x") + failure("E_FIN_FAILED no") + failure("E_INVALID no") + response(OK),
		response(negotiated) + failure("E_PUB_FAILED disk full"), failure("E_BAD_BODY no"),
		size(3), size(-1), size(maxFrame + 1), size(4) + size(9), response(`{"max_rdy_count":1,"tls_v1":true}`),
		response(negotiated) + response(OK) + response(OK) + string(AppendMessage(nil, -1, 0, ID(1), []byte("a"))),
	} {
		f.Add([]byte(in), []byte{0})
		f.Add([]byte(in), []byte{200, 3, 0, 17})
	}
	newClient := func() *Client {
		c := NewClient(ClientConfig{})
		c.Publish("t", []byte("a"))
		c.Subscribe("t", "c")
		c.StartClose()
		return c
	}
	f.Fuzz(func(t *testing.T, in, cuts []byte) {
		whole := newClient()
		want := append(notices(whole, in), string(whole.TakeOutput()))
		pieces := newClient()
		var got []string
		chunks(in, cuts, func(p []byte) {
			got = append(got, notices(pieces, p)...)
			if held := pieces.in.len(); held > 4+maxFrame {
				t.Fatalf("%d bytes held; one frame is the most", held)
			}
		})
		got = append(got, string(pieces.TakeOutput()))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("cut by %v (-whole +pieces):\n%s", cuts, diff)
		}
	})
}
