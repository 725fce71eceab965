package server

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"pestle/broker/plant"
)

const spareTestSize = 3*spareBlock + 5

// diskWithAFile has journal file 1.
func diskWithAFile(t *testing.T) (d *disk, dir string, faults *faultFS) {
	t.Helper()
	dir = t.TempDir()
	faults = &faultFS{FS: openDir(t, dir)}
	d = newDisk(faults, newQueue[message](), plant.None)
	d.pause = time.Nanosecond
	if err := d.create(1, spareTestSize); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.dropSpare(); _ = d.close() })
	return d, dir, faults
}

func (d *disk) mustWrite(t *testing.T, file uint64, at int64) {
	t.Helper()
	if err := d.write(file, at, []byte("x")); err != nil {
		t.Fatal(err)
	}
}

func wantZeros(t *testing.T, dir string, file uint64, size int64) {
	t.Helper()
	got, err := os.ReadFile(filepath.Join(dir, fileName(file)))
	if err != nil || !bytes.Equal(got, make([]byte, size)) {
		t.Errorf("journal file %d is not %d zeros: %d bytes, %v", file, size, len(got), err)
	}
}

func TestTheNextFileIsMadeBeforeItIsAskedFor(t *testing.T) {
	d, dir, faults := diskWithAFile(t)
	d.mustWrite(t, 1, spareTestSize/spareShare-1)
	if d.spare != nil {
		t.Fatal("it is begun when next to nothing is written")
	}
	d.mustWrite(t, 1, spareTestSize/spareShare)
	<-d.spare.done
	if n := d.spare.size; n < spareTestSize*9/10 {
		t.Errorf("%d of %d bytes are made", n, spareTestSize)
	}
	faults.set("create", errors.New("no other file needs to be made"))
	if err := d.create(2, spareTestSize+100); err != nil {
		t.Fatal(err)
	}
	wantZeros(t, dir, 2, spareTestSize+100)
}

func TestAFileThatIsNeededIsMadeAtOnce(t *testing.T) {
	d, dir, _ := diskWithAFile(t)
	d.pause = time.Hour
	d.mustWrite(t, 1, spareTestSize-1)
	if err := d.create(2, spareTestSize); err != nil {
		t.Fatal(err)
	}
	wantZeros(t, dir, 2, spareTestSize)
	d.mustWrite(t, 2, 0)
	if d.spare != nil {
		t.Error("the file after the next is begun with the first write of the next")
	}
}

func TestAShorterFileIsMadeAnew(t *testing.T) {
	d, dir, _ := diskWithAFile(t)
	d.mustWrite(t, 1, spareTestSize-1)
	if err := d.create(2, 10); err != nil {
		t.Fatal(err)
	}
	wantZeros(t, dir, 2, 10)
}

// Nothing is told of a spare that cannot be made: the broker may do without.
func TestASpareThatFailsIsTriedAgainWhenItIsNeeded(t *testing.T) {
	for _, op := range []string{"create", "sync"} {
		d, dir, faults := diskWithAFile(t)
		faults.set(op, errors.New("not now"))
		d.mustWrite(t, 1, spareTestSize-1)
		<-d.spare.done
		if names, err := d.fs.List(); err != nil || len(names) != 1 {
			t.Errorf("%s failed, and it leaves %v, %v", op, names, err)
		}
		if err := d.create(2, spareTestSize); err == nil {
			t.Fatalf("%s fails, and nothing is told when the file is needed", op)
		}
		faults.set(op, nil)
		if err := d.create(2, spareTestSize); err != nil {
			t.Fatal(err)
		}
		wantZeros(t, dir, 2, spareTestSize)
	}
}

func TestNoSpareIsLeftBehind(t *testing.T) {
	for _, pause := range []time.Duration{time.Nanosecond, time.Hour} { // whole, and half made
		d, _, _ := diskWithAFile(t)
		d.pause = pause
		d.mustWrite(t, 1, spareTestSize-1)
		if pause < time.Hour {
			<-d.spare.done
		}
		d.dropSpare()
		if names, err := d.fs.List(); err != nil || !slices.Equal(names, []string{fileName(1)}) {
			t.Errorf("there are %v, %v, want the journal file only", names, err)
		}
	}
}
