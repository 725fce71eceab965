package server

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"pestle/broker/core"
	"pestle/broker/nsq"
	"pestle/broker/plant"
)

func TestForeignFilesAreLeftAloneAndUnfinishedOnesRemoved(t *testing.T) {
	dir := t.TempDir()
	foreign := []string{"notes.txt", "journal-1.log", "journal-000000000000000G.log", "other.log.new"}
	unfinished := fileName(9) + newSuffix
	for _, name := range append([]string{unfinished}, foreign...) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("mine"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := startIn(t, dir).end(t); err != nil {
		t.Fatal(err)
	}
	for _, name := range foreign {
		if data, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(data) != "mine" {
			t.Errorf("%s: %q, %v; want it untouched", name, data, err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, unfinished)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is still there (%v)", unfinished, err)
	}
}

func TestFailedDiskEndsTheBrokerWithoutAnAck(t *testing.T) {
	for _, op := range []string{"sync", "write"} {
		t.Run(op, func(t *testing.T) {
			fs := &faultFS{FS: openDir(t, t.TempDir())}
			b := start(t, testConfig(fs))
			p := dial(t, b.TCPAddr().String(), nsq.ClientConfig{})
			p.Publish("t", []byte("good"))
			p.want(nsq.NoticePublished)
			fs.set(op, errors.New("the disk is gone"))
			p.Publish("t", []byte("doomed"))
			if n, err := p.next(); err == nil {
				t.Fatalf("an answer though the %s failed: %+v", op, n)
			}
			if err := b.wait(t); !isExit(err) || !strings.Contains(err.Error(), "the disk is gone") {
				t.Fatalf("Run returned %v, want an ExitError with the cause", err)
			}
		})
	}
}

func TestFullDiskAtTheFirstStartIsAStartError(t *testing.T) {
	fs := &faultFS{FS: openDir(t, t.TempDir())}
	fs.set("create", errors.New("no space left on device"))
	s, err := Open(testConfig(fs))
	if err != nil {
		t.Fatal(err)
	}
	err = s.Run(t.Context())
	if err == nil || isExit(err) || !strings.Contains(err.Error(), "no space left on device") {
		t.Fatalf("Run returned %v, want the disk's error, and no ExitError", err)
	}
}

func TestCreatedFilesAreWholeOrAbsent(t *testing.T) {
	dir := t.TempDir()
	fs := &faultFS{FS: openDir(t, dir)}
	d := newDisk(fs, newQueue[message](), plant.None)
	const size = zeroBlock + 12345
	if err := d.create(7, size); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, fileName(7)))
	if err != nil || !bytes.Equal(data, make([]byte, size)) {
		t.Fatalf("%d bytes, %v; want %d zeros", len(data), err, size)
	}
	for _, op := range []string{"write", "sync"} {
		fs.set(op, errors.New("full"))
		if err := d.create(8, size); err == nil {
			t.Fatalf("create succeeded though its %s failed", op)
		}
		fs.set(op, nil)
		names, err := fs.List()
		if want := []string{fileName(7)}; err != nil || !slices.Equal(names, want) {
			t.Fatalf("after a failed %s: %v, %v; want %v", op, names, err, want)
		}
	}
}

// A file that is used again has its old name and its old beginning, or its new
// ones, or no name that is read, whatever fails in between.
func TestAFileIsUsedAgain(t *testing.T) {
	d, dir, faults := diskWithAFile(t)
	d.mustWrite(t, 1, spareTestSize-1)
	if err := d.recycle(1, 3, []byte("head")); err != nil {
		t.Fatal(err)
	}
	if d.spare != nil {
		t.Error("another file 3 is still in the making")
	}
	if names := namesIn(t, dir); !slices.Equal(names, []string{fileName(3)}) {
		t.Fatalf("the files are %v", names)
	}
	got, err := d.readAt(3, 0, spareTestSize)
	want := append([]byte("head"), make([]byte, spareTestSize-4)...)
	want[spareTestSize-1] = 'x'
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("the file is not what it was behind its new beginning: %v", err)
	}
	for _, op := range []string{"write", "sync"} {
		faults.set(op, errors.New("the disk is gone"))
		last := fileName(3)
		err := d.recycle(3, 4, []byte("none"))
		faults.set(op, nil)
		if err == nil || !strings.Contains(err.Error(), "recycle journal file "+last+" as "+fileName(4)+": ") {
			t.Errorf("a failed %s: %v", op, err)
		}
		if names := namesIn(t, dir); slices.Contains(names, fileName(4)) || slices.Contains(names, last) {
			t.Errorf("after a failed %s there are %v", op, names)
		}
		if err := os.Rename(filepath.Join(dir, fileName(4)+newSuffix), filepath.Join(dir, last)); err != nil {
			t.Fatal(err)
		}
		if _, err := d.loadFile(3); err != nil {
			t.Fatal(err)
		}
	}
}

func namesIn(t *testing.T, dir string) (names []string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}

func TestConcurrentPublishersShareSyncs(t *testing.T) {
	fs := &countingFS{FS: openDir(t, t.TempDir())}
	b := start(t, testConfig(fs))
	before := fs.syncs()
	const clients, each = 16, 50
	var publishers []*client
	for range clients {
		publishers = append(publishers, dial(t, b.TCPAddr().String(), nsq.ClientConfig{}))
	}
	for range each {
		for _, p := range publishers {
			p.Publish("t", []byte("x"))
			p.push()
		}
		for _, p := range publishers {
			p.want(nsq.NoticePublished)
		}
	}
	if syncs := fs.syncs() - before; syncs > clients*each/2 {
		t.Errorf("%d publishes took %d syncs; want them shared", clients*each, syncs)
	}
}

// countingFS counts syncs of files.
type countingFS struct {
	FS
	mu    sync.Mutex
	count int
}

func (f *countingFS) syncs() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.count
}

func (f *countingFS) Create(name string) (File, error) {
	file, err := f.FS.Create(name)
	return countingFile{file, f}, err
}

type countingFile struct {
	File
	fs *countingFS
}

func (f countingFile) Sync() error {
	f.fs.mu.Lock()
	f.fs.count++
	f.fs.mu.Unlock()
	return f.File.Sync()
}

// syncWatch calls a function at each sync of its files.
type syncWatch struct {
	FS
	at func()
}

func (w syncWatch) Create(name string) (File, error) {
	f, err := w.FS.Create(name)
	return watchedFile{f, w.at}, err
}

type watchedFile struct {
	File
	at func()
}

func (f watchedFile) Sync() error {
	f.at()
	return f.File.Sync()
}

// Each news of the disk wakes the loop: that a write is done can wait for the
// sync behind it, but not when there is none.
func TestAWriteIsToldWithTheSyncBehindIt(t *testing.T) {
	mail := newQueue[message]()
	var early []message
	d := newDisk(syncWatch{openDir(t, t.TempDir()), func() { early = append(early, mail.take(nil)...) }}, mail, plant.None)
	stop := make(chan struct{})
	over := make(chan struct{})
	go func() { defer close(over); d.change(stop) }()
	defer func() { close(stop); <-over; _ = d.close() }()
	told := func(count int) (got []message) {
		for len(got) < count {
			receive(t, mail.wake, "news of the disk")
			got = append(got, mail.take(nil)...)
		}
		return got
	}
	d.changes.put(core.Effect{Kind: core.FxCreate, Token: 1, File: 1, N: 100})
	told(1)
	d.changes.put(
		core.Effect{Kind: core.FxWrite, File: 1, Data: []byte("ab")},
		core.Effect{Kind: core.FxSync, Token: 2, File: 1},
		core.Effect{Kind: core.FxWrite, File: 1, Offset: 2, Data: []byte("c")},
	)
	got := told(3)
	if got[0].written != 2 || got[1].event.Kind != core.EvSynced || got[1].event.Failed || got[2].written != 1 {
		t.Errorf("told %+v, want a write of 2 bytes, the sync, and a write of 1", got)
	}
	if len(early) > 0 {
		t.Errorf("%+v was told while the sync ran", early)
	}
}
