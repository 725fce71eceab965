// Package shrink finds the shortest story of a failure: the smallest plan that
// still fails for the same reason.
//
// It owns the search: what is left out in which order, which candidates count
// as the same failure, and what is told about the result. It runs nothing
// itself: a candidate is tried by an Oracle, so that the same search serves the
// simulated world, real processes, and tests.
//
//	small, err := shrink.Shrink(ctx, shrink.Options{
//		Plan: plan, Noise: noise, Oracle: oracle, Accept: shrink.Simulated(), CPU: time.Minute,
//	})
//	if err != nil {
//		return err // the run does not fail, or failed otherwise
//	}
//	fmt.Println(small.After.Faults, "faults,", small.After.Messages, "messages")
//
// # The same failure
//
// A failure is known by its fingerprint: a required property and the cause its
// checker names. A run may show several; the one that is shrunk is that of the
// earliest violation, unless Options.Want names another. A candidate is accepted
// when one of its runs shows that fingerprint. A run that fails without showing
// it has met something else: it is kept as a further finding and not followed.
//
// # The order
//
//  1. what follows the violation is cut off, and with it what never took effect;
//  2. the warm-up, the claims and the quiet windows;
//  3. triggers become times, those at which the faults took effect; one that
//     waits for a point of the broker's code only where a time does as well;
//  4. all messages but those of the violation; where these do not fail alone,
//     they and an end of the broker at a point of its code;
//  5. classes and kinds of fault, then clients: channels, consumers, producers;
//  6. faults, by delta debugging, until none can be left out;
//  7. messages: few large ones for many small ones, then delta debugging. Each
//     keeps its producer and its counter;
//  8. smaller and rounder numbers, an earlier start, plain payloads, and a
//     network of constant latency.
//
// The order is gone through again while it still makes the plan smaller.
//
// # Noise
//
// Leaving something out moves everything behind it, and a failure that needs
// two things within a millisecond goes away with the noise it was found under.
// So a candidate is run under up to Acceptance.Runs noises, first the one under
// which the best plan so far fails, then 0, 1, 2, …: it is rejected only when
// none of them shows the failure. In a world without noise the runs are
// repetitions.
//
// # Determinism
//
// The search tries one candidate after the other and looks at nothing but their
// outcomes: the same plan, noise and oracle give the same result, unless the
// CPU time runs out before the search is over. Result.Complete tells.
package shrink
