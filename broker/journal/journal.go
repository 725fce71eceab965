// Package journal is the format of a node's journal: the files that every
// change is appended to before it is acknowledged. It turns batches of records
// into bytes and bytes into batches, tells a torn end from rot, and never
// touches a file, a clock or the meaning of a record.
//
// A journal is a run of files with sequence numbers 1, 2, 3 …, of which the
// oldest may be gone. A file is filled with zeros when it is made, or is one
// that nothing needed any more and that goes on under a new number, see below.
// It holds a file header and then batches, each at a multiple of 8 bytes:
//
//	file header, 40 bytes, at offset 0
//	 0  8  magic "PSTLJRNL"
//	 8  4  version, 1
//	12  4  zero
//	16  8  sequence number of the file
//	24  8  salt of the file
//	32  4  CRC-32C of bytes 0..31
//	36  4  zero
//
//	batch, what one sync makes durable
//	 0  4  magic "BTCH"
//	 4  4  length of the batch with this header, a multiple of 8
//	 8  4  number of records; 0: a mark, which only carries the position below
//	12  4  CRC-32C of the file's salt and sequence number, the batch's offset
//	       and bytes 0..11 and 16..47
//	16  8  durable position: file …
//	24  8  … and offset up to which the journal was durable when the batch was
//	       written
//	32  8  log time, ns
//	40  8  wall time, ns since the Unix epoch
//	48     records
//
//	record
//	 0  4  length of the payload
//	 4  4  CRC-32C of the file's salt and sequence number, the record's offset,
//	       bytes 0..3 and 8..31, payload and padding
//	 8  4  group
//	12  1  kind
//	13  3  zero
//	16  8  index in the group, from 1
//	24  8  term
//	32     payload, padded with zeros to a multiple of 8
//
// Numbers are little-endian. A batch is valid when all its CRCs are; because
// they cover the file and the offset, a block that a disk or a person put
// elsewhere is not. The salt is a random number that no client knows, so that
// none can publish bytes that a search for batches takes for one.
//
// The durable position is what tells torn from rotten. A crash may leave
// anything behind the last sync, so what follows the last valid batch is a
// torn tail and may be cut, unless some batch says that it had been durable:
// then acknowledged records have gone bad, and a node must not start as if
// they had never been. The writer's part of that:
//
//   - a file's header is durable before the file gets its first batch, so that
//     a header that cannot be read, with anything behind it, is rot;
//   - one sync at a time, and the next batch is written after it, so that at
//     most one batch is not durable;
//   - a file's last batch is durable before the next file gets its first,
//     whose durable position is that end;
//   - when nothing follows for a while, a mark does, so that the last batch is
//     covered too.
//
// A file that is used again is full of old batches. They are not valid under
// its new number, which their CRCs do not cover, so that the journal ends where
// the new ones do. It gets its new header before its new name, and that is
// durable before the file has the name: one with a header that cannot be read
// has been damaged, whatever stands behind it.
//
// Example:
//
//	file := journal.AppendFileHeader(nil, 1, salt)
//	at := journal.Position{File: 1, Offset: int64(len(file))}
//	file = journal.AppendBatch(file, salt, at, journal.Batch{
//		LogTime: 5, Records: []journal.Record{{Group: 1, Kind: 3, Index: 1, Payload: body}},
//	})
//	var r journal.Reader
//	batches, err := r.Feed(1, file) // err: the node must not start
//	tail := r.Finish()              // where to go on, what to clean up first
package journal

import (
	"encoding/binary"
	"hash/crc32"
)

// Sizes in bytes; see the tables above.
const (
	FileHeaderSize   = 40
	BatchHeaderSize  = 48
	RecordHeaderSize = 32
	MarkSize         = BatchHeaderSize // a batch without records

	align   = 8
	version = 1
)

const (
	fileMagic  = "PSTLJRNL"
	batchMagic = "BTCH"
)

// Position is a place in the journal.
type Position struct {
	File   uint64 // sequence number, from 1; 0 in the zero value, which precedes everything
	Offset int64  // in bytes
}

// Before reports whether p precedes q.
func (p Position) Before(q Position) bool {
	return p.File < q.File || p.File == q.File && p.Offset < q.Offset
}

// Record is one entry of one group. Kind and Payload are the writer's.
type Record struct {
	Group   uint32
	Kind    uint8
	Index   uint64
	Term    uint64
	Payload []byte

	At int64 // offset of the payload in its file; set by readers, ignored by AppendBatch
}

// Batch is what one sync makes durable.
type Batch struct {
	Durable  Position // up to where the journal was durable when the batch was written
	LogTime  int64    // ns
	WallTime int64    // ns since the Unix epoch
	Records  []Record

	At int64 // offset of the batch in its file; set by readers, ignored by AppendBatch
}

// RecordSize returns the bytes a record with a payload of n bytes takes.
func RecordSize(n int) int64 { return RecordHeaderSize + padded(int64(n)) }

func padded(n int64) int64 { return (n + align - 1) &^ (align - 1) }

// AppendFileHeader appends the header of file seq.
func AppendFileHeader(dst []byte, seq, salt uint64) []byte {
	start := len(dst)
	dst = append(dst, fileMagic...)
	dst = binary.LittleEndian.AppendUint32(dst, version)
	dst = binary.LittleEndian.AppendUint32(dst, 0)
	dst = binary.LittleEndian.AppendUint64(dst, seq)
	dst = binary.LittleEndian.AppendUint64(dst, salt)
	dst = binary.LittleEndian.AppendUint32(dst, crc32.Checksum(dst[start:], castagnoli()))
	return binary.LittleEndian.AppendUint32(dst, 0)
}

// AppendBatch appends b as it stands at a position, which must be a multiple
// of 8, in a file of that salt.
func AppendBatch(dst []byte, salt uint64, at Position, b Batch) []byte {
	start := len(dst)
	dst = append(dst, batchMagic...)
	dst = append(dst, make([]byte, BatchHeaderSize-len(batchMagic))...)
	for _, r := range b.Records {
		dst = appendRecord(dst, salt, Position{at.File, at.Offset + int64(len(dst)-start)}, r)
	}
	header := dst[start : start+BatchHeaderSize]
	binary.LittleEndian.PutUint32(header[4:], uint32(len(dst)-start))
	binary.LittleEndian.PutUint32(header[8:], uint32(len(b.Records)))
	binary.LittleEndian.PutUint64(header[16:], b.Durable.File)
	binary.LittleEndian.PutUint64(header[24:], uint64(b.Durable.Offset))
	binary.LittleEndian.PutUint64(header[32:], uint64(b.LogTime))
	binary.LittleEndian.PutUint64(header[40:], uint64(b.WallTime))
	binary.LittleEndian.PutUint32(header[12:], sum(salt, at, header[:12], header[16:]))
	return dst
}

func appendRecord(dst []byte, salt uint64, at Position, r Record) []byte {
	start := len(dst)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(r.Payload)))
	dst = binary.LittleEndian.AppendUint32(dst, 0)
	dst = binary.LittleEndian.AppendUint32(dst, r.Group)
	dst = append(dst, r.Kind, 0, 0, 0)
	dst = binary.LittleEndian.AppendUint64(dst, r.Index)
	dst = binary.LittleEndian.AppendUint64(dst, r.Term)
	dst = append(dst, r.Payload...)
	for (len(dst)-start)%align != 0 {
		dst = append(dst, 0)
	}
	record := dst[start:]
	binary.LittleEndian.PutUint32(record[4:], sum(salt, at, record[:4], record[8:]))
	return dst
}

// Sum is the CRC-32C of a message body, by which one that is read back alone
// is checked.
func Sum(body []byte) uint32 { return crc32.Checksum(body, castagnoli()) }

// sum is the CRC-32C of two byte strings that stand at a position.
func sum(salt uint64, at Position, a, b []byte) uint32 {
	var where [24]byte
	binary.LittleEndian.PutUint64(where[:], salt)
	binary.LittleEndian.PutUint64(where[8:], at.File)
	binary.LittleEndian.PutUint64(where[16:], uint64(at.Offset))
	table := castagnoli()
	return crc32.Update(crc32.Update(crc32.Checksum(where[:], table), table, a), table, b)
}

// castagnoli returns the polynomial's table; crc32 makes it once.
func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }
