package sim

import "pestle/sim/chance"

// This file is ring 1: it lends the process's chance to what is pure.

// Run carries out a plan. An error is a failure of the harness, never of the
// system under test; the result then tells what happened until it. Runs of one
// process come one after the other: a second one waits.
func Run(o Options) (Result, error) {
	var source lots
	done, err := chance.Lend(&source)
	if err != nil {
		return Result{}, err
	}
	defer done()
	return run(o, &source)
}

// Bisect runs two plans and finds where they begin to differ: the same plan
// twice, to find what is not deterministic, or a plan before and after a
// change. The checkpoints say in which stretch to look; only that one is put
// into words.
func Bisect(a, b Options) (Divergence, error) {
	var source lots
	done, err := chance.Lend(&source)
	if err != nil {
		return Divergence{}, err
	}
	defer done()
	return bisect(a, b, &source)
}
