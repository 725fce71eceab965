package chance

import (
	"bytes"
	"crypto/rand"
	"testing"
	"testing/iotest"
)

// What is lent is what everybody draws from, until it is given back.
func TestLend(t *testing.T) {
	system := rand.Reader
	done, err := Lend(bytes.NewReader([]byte("abcd")))
	if err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 4)
	if _, err := rand.Read(got); err != nil || string(got) != "abcd" {
		t.Errorf("drawn %q, %v", got, err)
	}
	done()
	if rand.Reader != system {
		t.Error("the system's chance is not back")
	}
}

// Two runs never have it at once: the second waits for the first.
func TestLendOnce(t *testing.T) {
	first, err := Lend(always(1))
	if err != nil {
		t.Fatal(err)
	}
	second := make(chan byte)
	go func() {
		done, err := Lend(always(2))
		if err != nil {
			t.Error(err)
		}
		defer done()
		var b [1]byte
		_, _ = rand.Read(b[:])
		second <- b[0]
	}()
	var b [1]byte
	_, _ = rand.Read(b[:])
	if b[0] != 1 {
		t.Errorf("drawn %d, want 1", b[0])
	}
	first()
	if got := <-second; got != 2 {
		t.Errorf("then drawn %d, want 2", got)
	}
}

// The library goes by the process's chance, and by nothing else: each draw
// has its own number of ticks.
func TestLibraryDraws(t *testing.T) {
	system := rand.Reader
	defer func() { rand.Reader = system }()
	for drawn := range byte(electionTick) {
		rand.Reader = always(drawn)
		if got, err := ticksToCampaign(); err != nil || got != electionTick+int(drawn) {
			t.Errorf("with %d drawn: %d ticks, %v", drawn, got, err)
		}
	}
	// Rejected draws cost bytes and no ticks; a source that has no more is no
	// way out.
	rand.Reader = iotest.OneByteReader(always(3))
	if got, err := ticksToCampaign(); err != nil || got != electionTick+3 {
		t.Errorf("byte by byte: %d ticks, %v", got, err)
	}
}
