package pure

import "iter"

type inbox struct {
	events chan int // want "channel in ring 0"
}

func scheduled(in inbox, done func()) int {
	go done()        // want "go statement in ring 0"
	in.events <- 1   // want "channel send in ring 0"
	n := <-in.events // want "channel receive in ring 0"
	select {         // want "select in ring 0"
	default:
	}
	for e := range in.events { // want "range over a channel in ring 0"
		n += e
	}
	return n
}

func rangeEither[T chan int | <-chan int](c T) { // want "channel in ring 0" "channel in ring 0"
	for range c { // want "range over a channel in ring 0"
	}
}

func init() { // want "init function in ring 0"
	println("hello") // want "println in ring 0 writes to standard error"
}

func coroutine(seq iter.Seq[int], pairs iter.Seq2[int, int]) {
	next, stop := iter.Pull(seq) // want "must not use iter.Pull: it runs a coroutine"
	_, _ = iter.Pull2(pairs)     // want "must not use iter.Pull2: it runs a coroutine"
	stop()
	next()
}
