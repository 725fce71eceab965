package journal

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"

	"pestle/broker/plant"
)

// content is what one file holds.
type content struct {
	batches []Batch
	salt    uint64
	end     int64    // where the valid batches end; 0 when there is no file header
	used    bool     // there is something behind the file header, if only what an earlier life of the file left
	torn    int64    // where the last batch ends whose header can be read, also one behind end; end when none follows
	claim   Position // the furthest durable position that any batch header in the file carries, also one behind end
}

// scan reads the file seq. An error means that it is no file of this journal.
// Records share data.
func scan(seq uint64, data []byte, bug plant.ID) (content, error) {
	var c content
	c.used = len(bytes.TrimRight(data, "\x00")) > FileHeaderSize
	salt, valid, err := readFileHeader(seq, data)
	if !valid && err == nil && c.used {
		err = fmt.Errorf("journal file %d is damaged at offset 0: its header was durable before what stands behind it was written, and cannot be read; %s", seq, remedy)
	}
	if !valid || err != nil {
		return c, err
	}
	c.salt, c.end = salt, FileHeaderSize
	for {
		b, n := cutBatch(salt, Position{seq, c.end}, data, bug)
		if n == 0 {
			break
		}
		c.batches = append(c.batches, b)
		c.end += n
		c.claim = later(c.claim, b.Durable)
	}
	c.torn = c.end
	// Whatever made the batch at end unreadable, headers behind it may still
	// say that it was durable once. What stands in a batch is not looked at.
	for at := c.end; at < int64(len(data)); {
		h, ok := readBatchHeader(salt, Position{seq, at}, data, bug)
		if !ok {
			at += align
			continue
		}
		c.claim = later(c.claim, h.durable)
		c.torn = min(at+max(BatchHeaderSize, padded(h.length)), int64(len(data)))
		at += max(align, padded(h.length))
	}
	return c, nil
}

func later(p, q Position) Position {
	if p.Before(q) {
		return q
	}
	return p
}

// readFileHeader returns the salt of file seq, false when data does not begin
// with a file header. An error says that it begins with another one's.
func readFileHeader(seq uint64, data []byte) (salt uint64, ok bool, err error) {
	if len(data) < FileHeaderSize || string(data[:8]) != fileMagic ||
		binary.LittleEndian.Uint32(data[32:]) != crc32.Checksum(data[:32], castagnoli()) ||
		binary.LittleEndian.Uint32(data[12:]) != 0 || binary.LittleEndian.Uint32(data[36:]) != 0 {
		return 0, false, nil
	}
	if v := binary.LittleEndian.Uint32(data[8:]); v != version {
		return 0, false, fmt.Errorf("journal file %d has format version %d and this program reads version %d; use the program that wrote it", seq, v, version)
	}
	if is := binary.LittleEndian.Uint64(data[16:]); is != seq {
		return 0, false, fmt.Errorf("journal file %d says that it is file %d; give it its own name back, or restore the data directory from a copy", seq, is)
	}
	return binary.LittleEndian.Uint64(data[24:]), true, nil
}

// batchHeader is the part of a batch that its own CRC covers.
type batchHeader struct {
	length  int64
	count   uint32
	durable Position
	log     int64
	wall    int64
}

// readBatchHeader reads the header at a position; false if there is no valid one.
func readBatchHeader(salt uint64, at Position, data []byte, bug plant.ID) (batchHeader, bool) {
	if int64(len(data)) < at.Offset+BatchHeaderSize {
		return batchHeader{}, false
	}
	h := data[at.Offset : at.Offset+BatchHeaderSize]
	salt, at = Covered(salt, at, bug)
	if string(h[:4]) != batchMagic || binary.LittleEndian.Uint32(h[12:]) != sum(salt, at, h[:12], h[16:]) {
		return batchHeader{}, false
	}
	offset := binary.LittleEndian.Uint64(h[24:])
	if offset > math.MaxInt64 {
		return batchHeader{}, false
	}
	return batchHeader{
		length:  int64(binary.LittleEndian.Uint32(h[4:])),
		count:   binary.LittleEndian.Uint32(h[8:]),
		durable: Position{binary.LittleEndian.Uint64(h[16:]), int64(offset)},
		log:     int64(binary.LittleEndian.Uint64(h[32:])),
		wall:    int64(binary.LittleEndian.Uint64(h[40:])),
	}, true
}

// cutBatch returns the batch at a position and its length, 0 when there is no
// valid one.
func cutBatch(salt uint64, at Position, data []byte, bug plant.ID) (Batch, int64) {
	h, ok := readBatchHeader(salt, at, data, bug)
	if !ok || h.length%align != 0 || h.length > int64(len(data))-at.Offset ||
		h.length < BatchHeaderSize+int64(h.count)*RecordHeaderSize {
		return Batch{}, 0
	}
	b := Batch{Durable: h.durable, LogTime: h.log, WallTime: h.wall, At: at.Offset}
	rest := data[at.Offset+BatchHeaderSize : at.Offset+h.length]
	b.Records = make([]Record, 0, h.count) // the length above has room for so many
	for range h.count {
		where := Position{at.File, at.Offset + h.length - int64(len(rest))}
		r, n := cutRecord(salt, where, rest, bug)
		if n == 0 {
			return Batch{}, 0
		}
		b.Records = append(b.Records, r)
		rest = rest[n:]
	}
	if len(rest) > 0 {
		return Batch{}, 0
	}
	return b, h.length
}

// cutRecord returns the record at the start of in, which stands at a
// position, and its length, 0 when there is no valid one.
func cutRecord(salt uint64, at Position, in []byte, bug plant.ID) (Record, int64) {
	if len(in) < RecordHeaderSize {
		return Record{}, 0
	}
	payload := int64(binary.LittleEndian.Uint32(in))
	n := RecordHeaderSize + padded(payload)
	if n > int64(len(in)) {
		return Record{}, 0
	}
	salt, at = Covered(salt, at, bug)
	if binary.LittleEndian.Uint32(in[4:]) != sum(salt, at, in[:4], in[8:n]) && !bug.Is(plant.TornTailAccepted) {
		return Record{}, 0
	}
	return Record{
		Group:   binary.LittleEndian.Uint32(in[8:]),
		Kind:    in[12],
		Index:   binary.LittleEndian.Uint64(in[16:]),
		Term:    binary.LittleEndian.Uint64(in[24:]),
		Payload: in[RecordHeaderSize : RecordHeaderSize+payload : RecordHeaderSize+payload],
		At:      at.Offset + RecordHeaderSize,
	}, n
}
