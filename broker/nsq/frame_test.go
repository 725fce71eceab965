package nsq

import (
	"encoding/hex"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestValidName(t *testing.T) {
	for name, want := range map[string]bool{
		"a": true, "orders.v2_EU-west": true, "0": true, ".": true,
		strings.Repeat("n", 64): true, strings.Repeat("n", 65): false,
		"a#ephemeral": true, "#ephemeral": false, "a#ephemeral#ephemeral": false, "a#": false, "a#Ephemeral": false,
		strings.Repeat("n", 54) + "#ephemeral": true, strings.Repeat("n", 55) + "#ephemeral": false,
		"": false, "a b": false, "a/b": false, "a:b": false, "a\n": false, "é": false, "a*": false, "a\x00": false,
	} {
		if ValidName(name) != want {
			t.Errorf("%q: valid is %v, want %v", name, ValidName(name), want)
		}
	}
}

func TestFrameBytes(t *testing.T) {
	for _, row := range []struct {
		name string
		got  []byte
		want string
	}{
		{"response", AppendFrame(nil, FrameResponse, []byte("OK")), "00000006 00000000 4f4b"},
		{"error", AppendFrame(nil, FrameError, []byte("E_"), []byte("X")), "00000007 00000001 455f58"},
		{"no data", AppendFrame([]byte{0xff}, FrameResponse), "ff 00000004 00000000"},
		{"message", AppendMessage(nil, 0x0102030405060708, 0x090a, ID(0x0000100000000007), []byte("b")),
			"0000001f 00000002 0102030405060708 090a 30303030313030303030303030303037 62"},
	} {
		if got, want := hex.EncodeToString(row.got), strings.ReplaceAll(row.want, " ", ""); got != want {
			t.Errorf("%s: %s, want %s", row.name, got, want)
		}
	}
	if got := len(AppendMessage(nil, 1, 1, ID(1), nil)); got != MessageFrame {
		t.Errorf("a message frame without a body has %d bytes, MessageFrame says %d", got, MessageFrame)
	}
}

func TestMessageID(t *testing.T) {
	for position, want := range map[uint64]string{
		0: "0000000000000000", 0x100000000007: "0000100000000007", math.MaxUint64: "ffffffffffffffff",
	} {
		if got := ID(position).String(); got != want {
			t.Errorf("position %d has id %s, want %s", position, got, want)
		}
	}
	for _, foreign := range []string{"000000000000000A", "000000000000000g", "+000000000000001", "0x00000000000001", "                "} {
		if position, ok := MessageID([]byte(foreign)).Position(); ok {
			t.Errorf("%q has position %d; ID never makes it", foreign, position)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		position := rapid.Uint64().Draw(t, "position")
		if got, ok := ID(position).Position(); !ok || got != position {
			t.Fatalf("position %d came back as %d, %v", position, got, ok)
		}
	})
}

// An inbox is a queue of bytes whose memory follows what is in it.
func TestInbox(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var in inbox
		var model []byte
		next := byte(0)
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				p := make([]byte, rapid.IntRange(0, 100_000).Draw(t, "n"))
				for i := range p {
					p[i] = next
					next++
				}
				in.add(p)
				model = append(model, p...)
				clear(p)
			},
			"take": func(t *rapid.T) {
				n := rapid.IntRange(0, len(model)).Draw(t, "n")
				in.take(n)
				model = model[n:]
			},
			"": func(t *rapid.T) {
				if in.len() != len(model) || string(in.bytes()) != string(model) {
					t.Fatalf("holds %d bytes, want %d, or others", in.len(), len(model))
				}
				if in.len() == 0 && cap(in.buf) > keptCapacity {
					t.Fatalf("empty, and keeps %d bytes of memory", cap(in.buf))
				}
			},
		})
	})
}
