package core

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"pestle/broker/replica"
)

// entryVersion is the first byte of every entry.
const entryVersion = 1

// maxWord is the longest name an entry may carry, in bytes.
const maxWord = 64

var errShort = errors.New("it ends too early")

// decoder reads an entry. After the first error everything it returns is
// zero, and err stays.
type decoder struct {
	in  []byte
	err error
}

func newDecoder(in []byte) *decoder {
	d := &decoder{in: in}
	if v := d.byte(); d.err == nil && v != entryVersion {
		d.fail(fmt.Errorf("its version is %d and this program reads %d", v, entryVersion))
	}
	return d
}

func (d *decoder) fail(err error) {
	if d.err == nil {
		d.err = err
	}
	d.in = nil
}

// end returns the error met so far; bytes left over are one.
func (d *decoder) end() error {
	if d.err == nil && len(d.in) > 0 {
		d.fail(fmt.Errorf("%d bytes follow its end", len(d.in)))
	}
	return d.err
}

func (d *decoder) byte() byte {
	if len(d.in) == 0 {
		d.fail(errShort)
		return 0
	}
	b := d.in[0]
	d.in = d.in[1:]
	return b
}

func (d *decoder) uint() uint64 {
	x, n := binary.Uvarint(d.in)
	if n <= 0 {
		d.fail(errShort)
		return 0
	}
	d.in = d.in[n:]
	return x
}

// int reads a number that is not negative.
func (d *decoder) int() int64 {
	x := d.uint()
	if x > math.MaxInt64 {
		d.fail(fmt.Errorf("a number is %d, which is more than %d", x, int64(math.MaxInt64)))
		return 0
	}
	return int64(x)
}

func (d *decoder) uint32() uint32 {
	x := d.uint()
	if x > math.MaxUint32 {
		d.fail(fmt.Errorf("a number is %d, which is more than %d", x, uint32(math.MaxUint32)))
		return 0
	}
	return uint32(x)
}

func (d *decoder) fixed32() uint32 {
	if len(d.in) < 4 {
		d.fail(errShort)
		return 0
	}
	x := binary.LittleEndian.Uint32(d.in)
	d.in = d.in[4:]
	return x
}

func (d *decoder) fixed64() uint64 {
	if len(d.in) < 8 {
		d.fail(errShort)
		return 0
	}
	x := binary.LittleEndian.Uint64(d.in)
	d.in = d.in[8:]
	return x
}

// conf reads who the members of a group are.
func (d *decoder) conf() replica.Conf {
	conf, rest, err := replica.CutConf(d.in)
	if err != nil {
		d.fail(err)
		return replica.Conf{}
	}
	d.in = rest
	return conf
}

// bytes reads a length and so many bytes; they share the input.
func (d *decoder) bytes() []byte { return d.take(d.uint()) }

func (d *decoder) take(n uint64) []byte {
	if n > uint64(len(d.in)) {
		d.fail(errShort)
		return nil
	}
	b := d.in[:n:n]
	d.in = d.in[n:]
	return b
}

func (d *decoder) word() string { return d.text(maxWord) }

// text reads a string of at most so many bytes.
func (d *decoder) text(most int) string {
	b := d.bytes()
	if len(b) > most {
		d.fail(fmt.Errorf("a name has %d bytes, which is more than %d", len(b), most))
		return ""
	}
	return string(b)
}

// count reads how many elements follow, each of at least size bytes, so that
// nothing is allocated for elements that cannot be there.
func (d *decoder) count(size int) int {
	n := d.uint()
	if n > uint64(len(d.in)/size) {
		d.fail(errShort)
		return 0
	}
	return int(n)
}

func appendUint(dst []byte, x uint64) []byte { return binary.AppendUvarint(dst, x) }

// appendInt appends a number that must not be negative.
func appendInt(dst []byte, x int64) []byte {
	if x < 0 {
		panic(fmt.Sprintf("core: an entry cannot hold the negative number %d", x))
	}
	return binary.AppendUvarint(dst, uint64(x))
}

func appendWord(dst []byte, s string) []byte {
	return append(appendUint(dst, uint64(len(s))), s...)
}
