package composer

import (
	"crypto/rand"
	"math/big"
	"time"
)

// Everything that a command decides is drawn from the system when it is
// decided, never ahead and never from a generator: on the platform the system's
// randomness is what is steered and replayed.

// below draws a number from 0 to n-1.
func below(n int64) int64 {
	drawn, err := rand.Int(rand.Reader, big.NewInt(n))
	if err != nil {
		panic("composer: the system has no randomness: " + err.Error()) // crypto/rand ends the program itself
	}
	return drawn.Int64()
}

// oneOf draws an element of a menu.
func oneOf[T any](menu ...T) T { return menu[below(int64(len(menu)))] }

// between draws a duration, in whole milliseconds.
func between(least, most time.Duration) time.Duration {
	return least + time.Duration(below(int64((most-least)/time.Millisecond)+1))*time.Millisecond
}
