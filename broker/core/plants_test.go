package core

import (
	"strings"
	"testing"

	"pestle/broker/plant"
)

// Each planted bug misbehaves in its story, and the broker without it does not.
func TestPlants(t *testing.T) {
	for bug, misbehaves := range map[plant.ID]func(r *rig) bool{
		plant.AckBeforeFsync: func(r *rig) bool {
			p := r.dial()
			p.publish("t", "a")
			p.Publish("t", []byte("b"))
			r.talk()
			acked := len(p.notices) > 0
			r.powerLoss(func(int) int { return 0 })
			r.start()
			return acked && len(r.consumer("t", "ch", 10).deliveries()) == 1
		},
		plant.FsyncErrorIgnored: func(r *rig) bool {
			p := r.dial()
			p.publish("t", "a")
			p.Publish("t", []byte("b"))
			for len(r.changes) < 2 {
				r.work()
			}
			token := r.changes[1].Token
			r.changes = nil
			r.step(Event{Kind: EvSynced, Token: token, Failed: true, Text: "input/output error"})
			return r.exited == "" && len(p.notices) > 0
		},
		plant.TornTailAccepted: func(r *rig) bool {
			p := r.dial()
			p.publish("t", "a")
			body := strings.Repeat("x", 200)
			p.Publish("t", []byte(body))
			for len(r.changes) < 2 {
				r.work()
			}
			r.work() // the write
			r.powerLoss(func(size int) int { return size - 100 })
			r.start()
			list := r.consumer("t", "ch", 10).deliveries()
			return len(list) == 2 && string(list[1].Body) != body
		},
		plant.FinishLostAtRecovery: func(r *rig) bool {
			c := r.consumer("t", "ch", 1)
			r.dial().publish("t", "a")
			finishAll(c)
			ledgerIsDurable(r)
			r.restart()
			again := len(finishAll(r.consumer("t", "ch", 1))) == 1
			ledgerIsDurable(r)
			r.restart() // and it starts all the same
			return again
		},
		plant.LeaseForgotten: func(r *rig) bool {
			c := r.consumer("t", "ch", 1)
			r.dial().publish("t", "a")
			r.pass(10 * r.core.cfg.Limits.MsgTimeoutMS * millisecond)
			return len(c.deliveries()) == 1
		},
		plant.ReadyOverrun: func(r *rig) bool {
			c := r.consumer("t", "ch", 1)
			r.dial().publish("t", "a", "b", "c")
			return len(c.deliveries()) == 2
		},
		plant.DeferralDroppedAtRestart: func(r *rig) bool {
			r.consumer("t", "ch", 0).DeferredPublish("t", 5000, []byte("late"))
			r.settle()
			r.restart()
			return len(r.consumer("t", "ch", 1).deliveries()) == 1
		},
		plant.StaleRecordsReplayed: func(r *rig) bool {
			r.core.writer.fileSize = 4 << 10
			c, p := r.consumer("t", "ch", 1), r.dial()
			for r.points[PointFileRecycled] < 2 {
				p.publish("t", strings.Repeat("x", 200))
				finishAll(c)
			}
			r.kill()
			return r.tryStart() != nil
		},
	} {
		name := plant.All()[bug-1].Name
		t.Run(name, func(t *testing.T) {
			if got := misbehaves(newRig(t, Config{Plant: bug})); got != plant.Built {
				t.Errorf("with the bug planted: misbehaves %v, want %v", got, plant.Built)
			}
			if misbehaves(newRig(t, Config{})) {
				t.Error("misbehaves without the bug")
			}
		})
	}
}

// So do those that take a cluster.
func TestPlantsOfAReplicatedLog(t *testing.T) {
	for bug, misbehaves := range map[plant.ID]func(c *cluster) bool{
		plant.MinorityAck: func(c *cluster) bool {
			c.publish(1, "OK", "a")
			lead := c.leader(1)
			c.cut = func(from, to uint64) bool { return from == lead || to == lead }
			p := c.nodes[lead].dial()
			p.Publish("t", []byte("b"))
			c.settle()
			return len(p.got()) > 0
		},
		plant.ForwardedTwiceTaken: func(c *cluster) bool {
			c.publish(1, "OK", "a")
			c.twice = true
			c.publish(c.other(c.leader(1)), "OK", "b")
			return len(c.finishAll(c.consumer(c.leader(1), 10))) == 3
		},
		plant.WipedNodeVotes: func(c *cluster) bool {
			c.publish(1, "OK", "a")
			gone := c.other(c.leader(0))
			c.kill(gone)
			r := c.boot(gone, c.cfg)
			c.pass(3 * second)
			return r.points[PointNodeBorn] > 0
		},
		plant.VoteForgotten: func(c *cluster) bool {
			voted := c.other(c.leader(1))
			before := c.nodes[voted].core.seats[1].log.Hard
			c.kill(voted)
			after := c.start(voted).core.seats[1].log.Hard
			return before.Vote != 0 && after.Vote == 0
		},
		plant.TermForgotten: func(c *cluster) bool {
			other := c.other(c.leader(1))
			before := c.nodes[other].core.seats[1].log.Hard
			c.kill(other)
			after := c.start(other).core.seats[1].log.Hard
			return after.Term < before.Term
		},
	} {
		name := plant.All()[bug-1].Name
		t.Run(name, func(t *testing.T) {
			if got := misbehaves(newCluster(t, 3, Config{Plant: bug})); got != plant.Built {
				t.Errorf("with the bug planted: misbehaves %v, want %v", got, plant.Built)
			}
			if misbehaves(newCluster(t, 3, Config{})) {
				t.Error("misbehaves without the bug")
			}
		})
	}
}
