package compose

import (
	"errors"
	"sync"
)

// atOnce is how many calls of one sort go to the engine at the same time. It
// creates and starts containers in parallel, but more than a few wait for one
// another inside.
const atOnce = 8

// parallel calls do for every item, some at a time, and waits for all.
func parallel[T any](items []T, do func(T) error) error {
	errs := make([]error, len(items))
	slots := make(chan struct{}, atOnce)
	var group sync.WaitGroup
	for i, item := range items {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			errs[i] = do(item)
		})
	}
	group.Wait()
	return errors.Join(errs...)
}
