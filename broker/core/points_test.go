package core

import (
	"bytes"
	"strings"
	"testing"
)

// Each story passes the points named, as often as it says.
func TestPoints(t *testing.T) {
	type count map[Point]int
	for name, test := range map[string]struct {
		cfg   Config
		story func(r *rig)
		want  count
	}{
		"a message's life": {
			story: func(r *rig) {
				c := r.consumer("t", "ch", 1)
				r.dial().publish("t", "a")
				c.Finish(c.deliveries()[0].ID)
				r.pass(second)
			},
			want: count{PointAck: 1, PointDelivery: 1, PointRedelivery: 0, PointLedgerWritten: 1, PointReadBack: 0},
		},
		"an ack is one of a publish": {
			story: func(r *rig) {
				r.request(Request{Kind: ReqCreateTopic, Topic: "t"})
				r.request(Request{Kind: ReqPublish, Topic: "t", Bodies: [][]byte{{1}, {2}}})
			},
			want: count{PointAck: 1, PointJournalWrite: 6, PointJournalSync: 7}, // the first is of the file's header,
		},
		"requeues and deferrals": {
			story: func(r *rig) {
				c := r.consumer("t", "ch", 10)
				c.DeferredPublish("t", 3000, []byte("late"))
				r.dial().publish("t", "a")
				c.Requeue(c.deliveries()[0].ID, 1000)
				r.pass(2 * second)
				finishAll(c)
				r.pass(2 * second)
				c.Requeue(c.deliveries()[0].ID, 1000)
				r.pass(2 * second)
			},
			want: count{PointRequeueDue: 2, PointDeferralDue: 1, PointDelivery: 2, PointRedelivery: 2},
		},
		"a lease runs out": {
			story: func(r *rig) {
				r.consumer("t", "ch", 1)
				r.dial().publish("t", "a")
				r.pass(r.core.cfg.Limits.MsgTimeoutMS * millisecond)
			},
			want: count{PointLeaseExpired: 1, PointRedelivery: 1},
		},
		"a consumer goes with a message, then one without": {
			story: func(r *rig) {
				c := r.consumer("t", "ch", 1)
				r.dial().publish("t", "a")
				c.deliveries()
				c.hangUp()
				r.settle()
				r.consumer("t", "other", 1).hangUp()
				r.settle()
			},
			want: count{PointConsumerLost: 1},
		},
		"files": {
			cfg: Config{FileSize: 4 << 10},
			story: func(r *rig) {
				c := r.consumer("t", "ch", 1)
				p := r.dial()
				for r.core.writer.current().seq < 3 {
					p.publish("t", strings.Repeat("x", 100))
					finishAll(c)
				}
				r.pass(second)
			},
			want: count{PointFileRotated: 2, PointCheckpointWritten: 3, PointFileRemoved: 1, PointFileRecycled: 1},
		},
		"a torn tail": {
			story: func(r *rig) {
				p := r.dial()
				p.publish("t", "a")
				p.Publish("t", []byte("torn"))
				for len(r.changes) < 2 {
					r.work()
				}
				r.work() // the write
				r.powerLoss(func(size int) int { return size / 2 })
				r.start()
			},
			want: count{PointRecoveryTornTail: 1, PointRecoveryRewrite: 0},
		},
		"what may not be durable": {
			story: func(r *rig) {
				r.dial().publish("t", "a")
				r.restart()
				r.forget()
				r.consumer("t", "ch", 1)
			},
			want: count{PointRecoveryTornTail: 0, PointRecoveryRewrite: 1, PointReadBack: 1},
		},
		"a full disk": {
			cfg: Config{FileSize: 4 << 10},
			story: func(r *rig) {
				r.noRoom = true
				p := r.dial()
				for ; ; p.Publish("t", bytes.Repeat([]byte("x"), 100)) {
					if got := p.got(); len(got) > 0 && got[0] != "OK" {
						break
					}
				}
				r.dial().Publish("new-topic", []byte("refused"))
				r.settle()
				r.consumer("t", "new-channel", 0)
			},
			want: count{PointPublishRefusedFull: 2},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, test.cfg)
			test.story(r)
			for p := range PointCount {
				if times, named := test.want[p]; named && r.points[p] != times {
					t.Errorf("%s is passed %d times, want %d", p, r.points[p], times)
				}
			}
		})
	}
}
