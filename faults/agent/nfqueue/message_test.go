package nfqueue

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"slices"
	"syscall"
	"testing"
)

// packetMessage is what the kernel sends for one packet.
func packetMessage(id uint32, payload []byte) []byte {
	b := appendHeader(nil, typePacket, 0, 3)
	header := binary.BigEndian.AppendUint32(nil, id)
	b = appendAttribute(b, attributePacketHeader, append(header, 8, 0, 1))
	b = appendAttribute(b, 6, []byte("aside"))                          // another attribute
	return finish(appendAttribute(b, attributePayload|0x8000, payload)) // with a flag in its type
}

func errorMessage(errno syscall.Errno) []byte {
	b := appendHeader(nil, typeError, 0, 0)
	binary.NativeEndian.PutUint32(b[16:], uint32(-int32(errno)))
	return finish(append(b, make([]byte, 16)...))
}

func parseAll(b []byte) (packets []Packet, err error) {
	err = parsePackets(b, func(p Packet) { packets = append(packets, p) })
	return packets, err
}

func TestPacketsOfOneDatagram(t *testing.T) {
	received := slices.Concat(packetMessage(7, []byte("mortar")), errorMessage(0), packetMessage(8, nil), packetMessage(9, []byte("pestle.")))
	packets, err := parseAll(received)
	if err != nil || len(packets) != 3 {
		t.Fatalf("%d packets, error %v", len(packets), err)
	}
	if packets[0].ID != 7 || string(packets[0].Payload) != "mortar" || packets[1].ID != 8 || string(packets[2].Payload) != "pestle." {
		t.Errorf("packets %+v", packets)
	}
}

func TestErrorOfTheKernel(t *testing.T) {
	packets, err := parseAll(slices.Concat(packetMessage(7, nil), errorMessage(syscall.EPERM)))
	if !errors.Is(err, syscall.EPERM) || len(packets) != 1 {
		t.Errorf("%d packets, error %v", len(packets), err)
	}
}

func TestLengthsThatLie(t *testing.T) {
	whole := packetMessage(7, []byte("mortar"))
	for cut := 1; cut < len(whole); cut++ {
		if _, err := parseAll(whole[:cut]); err == nil {
			t.Errorf("the first %d bytes of %d pass", cut, len(whole))
		}
	}
	for name, at := range map[string]int{"message": 0, "attribute": lengthHeader} {
		for _, length := range []byte{0, 3, 250} {
			broken := slices.Clone(whole)
			broken[at] = length
			if _, err := parseAll(broken); err == nil {
				t.Errorf("%s length %d passes", name, length)
			}
		}
	}
	if _, err := parseAll(finish(appendHeader(nil, typePacket, 0, 0))); err == nil {
		t.Error("a packet without an id passes")
	}
}

// The bytes that a verdict was seen to have on a little-endian machine.
func TestVerdictBytes(t *testing.T) {
	b, ok := appendVerdict(nil, 5, accept, 0x01020304, []byte("abcde"))
	want := "2c000000" + "0103" + "0100" + "00000000" + "00000000" + "0000" + "0005" +
		"0c00" + "0200" + "00000001" + "01020304" +
		"0900" + "0a00" + "6162636465000000"
	if binary.NativeEndian.Uint16([]byte{1, 0}) != 1 {
		t.Skip("a big-endian machine: the expected bytes are those of little-endian ones")
	}
	if got := hex.EncodeToString(b); !ok || got != want {
		t.Errorf("verdict\n%s, want\n%s", got, want)
	}
	if _, ok := appendVerdict(nil, 5, accept, 1, make([]byte, 0xfffc)); ok {
		t.Error("a payload too long for an attribute is encoded")
	}
}

func FuzzParsePackets(f *testing.F) {
	f.Add(packetMessage(7, []byte("mortar")))
	f.Add(slices.Concat(packetMessage(7, nil), errorMessage(syscall.ENOENT)))
	f.Fuzz(func(t *testing.T, b []byte) {
		before := bytes.Clone(b)
		total := 0
		_ = parsePackets(b, func(p Packet) { total += len(p.Payload) })
		if total > len(b) || !bytes.Equal(before, b) {
			t.Fatalf("%d bytes of payload out of %d", total, len(b))
		}
	})
}
