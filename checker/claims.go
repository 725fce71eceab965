package checker

import (
	"slices"

	"pestle/faults"
	"pestle/history"
)

// Names of the reachability claims: situations a run must have met for its
// pass to mean anything.
const (
	ClaimRetriedFailedSend     = "retried-failed-send"                     // a producer sent an id again after a failed or unknown try
	ClaimGaveUp                = "gave-up-after-last-retry"                // a producer gave an id up after the last try the plan allows
	ClaimDuplicateConsumed     = "duplicate-consumed"                      // a channel consumed one id again
	ClaimUnknownLaterSeen      = "unknown-later-seen"                      // a copy was consumed that only a send known to be unknown can have left
	ClaimConsumerResumed       = "consumer-resumed-after-kill"             // a killed consumer process consumed again
	ClaimProducerKilledBetween = "producer-killed-between-attempt-and-ack" // a producer was killed while a try of its own was open
)

// ClaimNames returns every claim, in the order of a verdict.
func ClaimNames() []string {
	return []string{
		ClaimRetriedFailedSend, ClaimGaveUp, ClaimDuplicateConsumed,
		ClaimUnknownLaterSeen, ClaimConsumerResumed, ClaimProducerKilledBetween,
	}
}

// claims counts how often each situation was met.
type claims struct {
	retried, gaveUp, duplicates, unknownSeen, resumed, killedBetween int64
}

func (c *claims) gaveUpAfter(tries, allowed int) {
	if tries > 1 && tries >= allowed {
		c.gaveUp++
	}
}

// newPosition counts a copy that no acked and no open try can have left, while
// a try is known to have ended unknown.
func (c *claims) newPosition(m *message) {
	open := len(m.tries) - m.acked - m.failed - m.unknown
	if m.unknown > 0 && len(m.positions) > m.acked+open {
		c.unknownSeen++
	}
}

func (c *claims) consumed(by *consumer, e history.Event) {
	live := e.Attempts > 0 // a line rebuilt from a state file is no new delivery
	if by.killed && live {
		by.killed = false
		c.resumed++
	}
}

// faulted notes a fault that took effect on a workload process. Whether a
// signal or the kernel killed it is the same to the process.
func (c *claims) faulted(kind string, p *producer, by *consumer) {
	if kind != string(faults.Kill) && kind != string(faults.OutOfMemory) {
		return
	}
	if p != nil {
		if p.openTries > 0 {
			c.killedBetween++
		}
		p.openTries = 0 // they stay without an outcome, but not in the next incarnation
	}
	if by != nil {
		by.killed = true
	}
}

func (c *claims) judge(cfg *Config) []Claim {
	counts := []int64{c.retried, c.gaveUp, c.duplicates, c.unknownSeen, c.resumed, c.killedBetween}
	var list []Claim
	for i, name := range ClaimNames() {
		list = append(list, Claim{
			Name:     name,
			Required: slices.Contains(cfg.Claims, name),
			Count:    counts[i],
			Reached:  counts[i] > 0,
		})
	}
	return list
}
