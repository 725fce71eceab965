package composer

import (
	"context"
	"errors"
	"fmt"

	"pestle/reports/sdk"
)

// check is something that the statistics of one broker, which are of one
// moment, always show.
type check struct {
	assertion sdk.Assertion
	wrong     func(stats) string // what they show instead, or ""
}

// checks are the assertions on a live /stats.
func checks() []check {
	of := func(message string, wrong func(stats) string) check {
		return check{sdk.Assertion{Message: "stats: " + message, Kind: sdk.Always, File: "workload/antithesis/composer/health.go"}, wrong}
	}
	return []check{
		of("nothing is committed that is not in the log, nor applied that is not committed", logsInOrder),
		of("a consumer has no more in flight than it asked for", withinCredit),
		of("a channel holds no more than it was given", conserved),
		of("a channel that has finished everything holds nothing", emptyWhenFinished),
		of("every topic, and every channel of it, is there once", listedOnce),
		of("a log begins no later than it ends", logsBeginInTime),
	}
}

func logsInOrder(s stats) string {
	for _, g := range s.Groups {
		if g.Applied > g.Commit || g.Commit > g.Last {
			return fmt.Sprintf("group %d: applied %d, commit %d, last %d", g.Group, g.Applied, g.Commit, g.Last)
		}
	}
	return ""
}

func logsBeginInTime(s stats) string {
	for _, g := range s.Groups {
		if g.First > g.Last+1 {
			return fmt.Sprintf("group %d: first %d, last %d", g.Group, g.First, g.Last)
		}
	}
	return ""
}

// eachChannel looks at the channels of topics that the broker leads.
func eachChannel(s stats, wrong func(topicStats, channelStats) string) string {
	for _, t := range s.Topics {
		if !t.Leads {
			continue
		}
		for _, c := range t.Channels {
			if what := wrong(t, c); what != "" {
				return fmt.Sprintf("channel %s of %s: %s", c.Name, t.Name, what)
			}
		}
	}
	return ""
}

// withinCredit allows for a consumer that ends, which asks for nothing more and
// has still in flight what it had asked for.
func withinCredit(s stats) string {
	return eachChannel(s, func(_ topicStats, c channelStats) string {
		sum := int64(0)
		for _, client := range c.Clients {
			sum += client.InFlight
			if client.InFlight > max(client.Ready, maxReady) {
				return fmt.Sprintf("%s has %d in flight with RDY %d", client.ID, client.InFlight, client.Ready)
			}
		}
		if sum != c.InFlight {
			return fmt.Sprintf("%d in flight, and its consumers have %d", c.InFlight, sum)
		}
		return ""
	})
}

func conserved(s stats) string {
	return eachChannel(s, func(t topicStats, c channelStats) string {
		if c.Depth < 0 || c.InFlight < 0 || c.Deferred < 0 || c.left() > c.MessageCount || c.MessageCount > t.MessageCount {
			return fmt.Sprintf("depth %d, in flight %d, deferred %d, given %d, published %d", c.Depth, c.InFlight, c.Deferred, c.MessageCount, t.MessageCount)
		}
		return ""
	})
}

func emptyWhenFinished(s stats) string {
	return eachChannel(s, func(t topicStats, c channelStats) string {
		if c.FinishedBelow > t.MessageCount {
			return fmt.Sprintf("finished below %d, and only %d were published", c.FinishedBelow, t.MessageCount)
		}
		if c.FinishedBelow == t.MessageCount && c.left() != 0 {
			return fmt.Sprintf("all %d finished, and %d left", t.MessageCount, c.left())
		}
		return ""
	})
}

func listedOnce(s stats) string {
	had := map[string]bool{}
	for _, t := range s.Topics {
		if had[t.Name] {
			return "topic " + t.Name + " is there twice"
		}
		had[t.Name] = true
		for _, c := range t.Channels {
			if key := t.Name + ":" + c.Name; had[key] {
				return "channel " + c.Name + " of " + t.Name + " is there twice"
			} else {
				had[key] = true
			}
		}
	}
	return ""
}

// health checks every broker that answers.
func (g *stage) health(ctx context.Context) error {
	var found error
	for _, broker := range g.HTTP {
		s, err := g.stats(ctx, broker)
		if err != nil {
			continue // under faults that is no news
		}
		for _, c := range checks() {
			wrong := c.wrong(s)
			if err := g.assertions.Hit(c.assertion, wrong == "", map[string]any{"broker": broker, "node": s.Node, "wrong": wrong}); err != nil {
				return err
			}
			if wrong != "" {
				found = errors.Join(found, fmt.Errorf("%w: %s, on %s: %s", ErrViolation, c.assertion.Message, broker, wrong))
			}
		}
	}
	return found
}
