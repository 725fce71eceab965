package workload

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
)

const (
	envelopeMagic   = "PSTL"
	envelopeVersion = 1
	envelopeFixed   = len(envelopeMagic) + 1 + 1 + sha256.Size + 4 // all but id and payload
)

// MaxPayload is the largest payload in bytes that an envelope may carry.
const MaxPayload = 64 << 20

// Message is what a producer publishes.
type Message struct {
	ID      ID
	Topic   string
	Key     string // empty where the target has no keys
	Payload []byte
}

// Sum is the SHA-256 over everything of a message that must arrive unchanged.
type Sum [sha256.Size]byte

// String returns the sum as lower-case hex, as history lines carry it.
func (s Sum) String() string { return hex.EncodeToString(s[:]) }

// Sum returns m's checksum.
func (m Message) Sum() Sum {
	h := sha256.New()
	var length [4]byte
	for _, part := range [...][]byte{[]byte(m.ID.String()), []byte(m.Topic), []byte(m.Key), m.Payload} {
		binary.BigEndian.PutUint32(length[:], uint32(len(part)))
		h.Write(length[:])
		h.Write(part)
	}
	return Sum(h.Sum(nil))
}

// Encode returns m's envelope and its checksum. It panics for a payload
// longer than MaxPayload, which no valid ProducerConfig leads to.
func (m Message) Encode() ([]byte, Sum) {
	if len(m.Payload) > MaxPayload {
		panic(fmt.Sprintf("workload: payload of %d bytes is longer than %d", len(m.Payload), MaxPayload))
	}
	id, sum := m.ID.String(), m.Sum()
	body := make([]byte, 0, envelopeFixed+len(id)+len(m.Payload))
	body = append(body, envelopeMagic...)
	body = append(body, envelopeVersion, byte(len(id)))
	body = append(body, id...)
	body = append(body, sum[:]...)
	body = binary.BigEndian.AppendUint32(body, uint32(len(m.Payload)))
	return append(body, m.Payload...), sum
}

// Decode reads the envelope of a message found in topic under key. The
// payload aliases body. When only the checksum is wrong, or something after
// the id, the returned message carries the id for what it is worth, together
// with the error.
func Decode(topic, key string, body []byte) (Message, Sum, error) {
	m := Message{Topic: topic, Key: key}
	if len(body) < envelopeFixed || string(body[:4]) != envelopeMagic {
		return m, Sum{}, fmt.Errorf("%d bytes that are no envelope", len(body))
	}
	if body[4] != envelopeVersion {
		return m, Sum{}, fmt.Errorf("envelope version %d, want %d", body[4], envelopeVersion)
	}
	n := int(body[5])
	if len(body) < envelopeFixed+n {
		return m, Sum{}, fmt.Errorf("envelope of %d bytes ends within its id of %d", len(body), n)
	}
	id, err := ParseID(string(body[6 : 6+n]))
	if err != nil {
		return m, Sum{}, fmt.Errorf("envelope: %w", err)
	}
	m.ID = id
	rest := body[6+n:]
	carried := Sum(rest[:sha256.Size])
	size := binary.BigEndian.Uint32(rest[sha256.Size:])
	m.Payload = rest[sha256.Size+4:]
	if uint64(size) != uint64(len(m.Payload)) {
		return m, Sum{}, fmt.Errorf("envelope of %s says %d payload bytes and has %d", id, size, len(m.Payload))
	}
	sum := m.Sum()
	if sum != carried {
		return m, sum, fmt.Errorf("envelope of %s in topic %q has checksum %s and carries %s", id, topic, sum, carried)
	}
	return m, sum, nil
}
