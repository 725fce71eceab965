// Package chance lends the process's chance to one simulated run at a time.
//
// The consensus library draws its election timeouts from crypto/rand.Reader, a
// variable of the process, and offers no other way. So a run puts a reader of
// its own in its place, for as long as it lasts, and runs of one process never
// overlap. This is the one place of the simulator that touches such a variable:
// everything else of it is ring 0.
//
//	done, err := chance.Lend(reader)
//	if err != nil {
//		return err // the library does not draw as it did
//	}
//	defer done()
//
// While chance is lent, whatever else the process draws from crypto/rand comes
// from the run's reader, too: a program that runs simulations does nothing else
// meanwhile that needs real chance.
package chance

import (
	"crypto/rand"
	"io"
	"sync"
)

// lent is locked while a run has the process's chance.
var lent sync.Mutex

// Lend makes every draw from crypto/rand read from r until done is called,
// once. While another run has the process's chance, it waits. An error means
// that the consensus library would not go by what r says; then nothing is lent.
func Lend(r io.Reader) (done func(), err error) {
	lent.Lock()
	system := rand.Reader
	done = func() {
		rand.Reader = system
		lent.Unlock()
	}
	if err := checkLibrary(); err != nil {
		done()
		return nil, err
	}
	rand.Reader = r
	return done, nil
}
