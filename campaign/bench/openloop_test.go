package bench

import (
	"bytes"
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"pestle/broker/nsq"
)

// broker answers the publishes of each connection with answer, given how many
// came before.
func broker(t *testing.T, answer func(publish int) []byte) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			sock, err := l.Accept()
			if err != nil {
				return
			}
			go converse(sock, answer)
		}
	}()
	return l.Addr().String()
}

// converse counts the commands that were begun, which is enough for a body
// without their names.
func converse(sock net.Conn, answer func(publish int) []byte) {
	defer sock.Close()
	var in []byte
	block := make([]byte, 64<<10)
	introduced, publishes := false, 0
	for {
		n, err := sock.Read(block)
		if err != nil {
			return
		}
		in = append(in, block[:n]...)
		if !introduced && bytes.Contains(in, []byte("IDENTIFY")) {
			introduced = true
			_, _ = sock.Write(nsq.AppendFrame(nil, nsq.FrameResponse, []byte(`{"max_rdy_count":1}`))) // the test sees what is missing
		}
		for ; publishes < bytes.Count(in, []byte("PUB topic\n")); publishes++ {
			out := answer(publishes)
			if out == nil {
				return
			}
			_, _ = sock.Write(out)
		}
	}
}

func frame(kind nsq.FrameType, text string) []byte { return nsq.AppendFrame(nil, kind, []byte(text)) }

func TestEveryMessageIsSentAndCounted(t *testing.T) {
	address := broker(t, func(int) []byte { return frame(nsq.FrameResponse, "OK") })
	load := Load{Rate: 1000, Size: 10, For: 100 * time.Millisecond, Connections: 3}
	got, err := send(context.Background(), address, "topic", load)
	if err != nil || got.answers.TotalCount() != 100 || got.late.TotalCount() != 100 || got.failed != 0 {
		t.Errorf("%d answers, %d sends, %d failed, %v; want 100, 100, 0", got.answers.TotalCount(), got.late.TotalCount(), got.failed, err)
	}
}

// One answer is slow. Every message that should have been answered meanwhile
// counts, though they were sent behind it.
func TestWhatWaitsForASlowAnswerIsNotLeftOut(t *testing.T) {
	const pause = 300 * time.Millisecond
	address := broker(t, func(publish int) []byte {
		if publish == 0 {
			time.Sleep(pause)
		}
		return frame(nsq.FrameResponse, "OK")
	})
	load := Load{Rate: 1000, Size: 10, For: 100 * time.Millisecond, Connections: 1}
	got, err := send(context.Background(), address, "topic", load)
	if err != nil || got.answers.TotalCount() != 100 {
		t.Fatalf("%d answers, %v", got.answers.TotalCount(), err)
	}
	if least := time.Duration(got.answers.Min()); least < pause-load.For-time.Millisecond { // it keeps three digits
		t.Errorf("one of them is counted with %v, and none was answered within %v", least, pause-load.For)
	}
}

// A message that could not be sent when it was due counts from then on.
func TestTimesBeginWhenAMessageIsDue(t *testing.T) {
	l, err := openLine(broker(t, func(int) []byte { return frame(nsq.FrameResponse, "OK") }))
	if err != nil {
		t.Fatal(err)
	}
	l.publish("topic", []byte("x"), time.Now().Add(-time.Second))
	out := outcome{answers: newHistogram()}
	l.collect(&out)
	if n, least := out.answers.TotalCount(), time.Duration(out.answers.Min()); n != 1 || least < time.Second-time.Millisecond {
		t.Errorf("%d answers, after %v; want one after a second or more", n, least)
	}
}

func TestWhatIsNotAcknowledgedIsCountedAndToldWhy(t *testing.T) {
	for _, test := range []struct {
		name   string
		answer func(publish int) []byte
		acked  int64
		why    string
	}{
		{"refused", func(n int) []byte {
			if n == 10 { // as the protocol has it, the broker hangs up after it
				return frame(nsq.FrameError, "E_PUB_FAILED READ_ONLY_DEGRADED none")
			}
			return frame(nsq.FrameResponse, "OK")
		}, 10, "READ_ONLY_DEGRADED none"},
		{"broken", func(n int) []byte {
			if n == 15 {
				return nil
			}
			return frame(nsq.FrameResponse, "OK")
		}, 15, "EOF"},
	} {
		t.Run(test.name, func(t *testing.T) {
			load := Load{Rate: 1000, Size: 10, For: 20 * time.Millisecond, Connections: 1}
			got, err := send(context.Background(), broker(t, test.answer), "topic", load)
			if err != nil || got.answers.TotalCount() != test.acked || got.failed != 20-test.acked {
				t.Errorf("%d acked, %d failed, %v; want %d of 20 acked", got.answers.TotalCount(), got.failed, err, test.acked)
			}
			if !strings.Contains(got.why, test.why) {
				t.Errorf("it is told that %q, want %q", got.why, test.why)
			}
		})
	}
}

func TestALoadEndsWhenItIsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	address := broker(t, func(int) []byte { cancel(); return frame(nsq.FrameResponse, "OK") })
	if _, err := send(ctx, address, "topic", Load{Rate: 100, Size: 1, For: time.Hour, Connections: 1}); err == nil {
		t.Error("it does not tell that it was cancelled")
	}
}
