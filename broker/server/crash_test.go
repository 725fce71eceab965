package server

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"

	"pestle/broker/nsq"
)

// publishAndKill publishes on one connection without waiting for each answer,
// kills the broker with publishes under way once enough were acknowledged,
// and returns the acknowledged bodies.
func publishAndKill(t *testing.T, c *child, round int) (acked []string) {
	t.Helper()
	const enough, ahead = 200, 64
	p := dial(t, c.tcp, nsq.ClientConfig{})
	bodies := map[uint64]string{}
	for len(acked) < enough {
		for len(bodies) < len(acked)+ahead {
			body := fmt.Sprintf("round %d message %d", round, len(bodies))
			bodies[p.Publish("t", []byte(body))] = body
		}
		notice := p.want(nsq.NoticePublished)
		acked = append(acked, bodies[notice.Ticket])
	}
	c.kill()
	for { // what was acknowledged and is still in our socket counts too
		notice, ok := p.Next()
		if !ok {
			return acked
		}
		acked = append(acked, bodies[notice.Ticket])
	}
}

func TestAcknowledgedMessagesSurviveSIGKILL(t *testing.T) {
	dir := t.TempDir()
	var acked []string
	for round := range 3 {
		acked = append(acked, publishAndKill(t, spawn(t, dir), round)...)
	}
	c := spawn(t, dir)
	consumer := subscribe(t, c.tcp, "t", "ch", 100)
	missing := map[string]bool{}
	for _, body := range acked {
		missing[body] = true
	}
	for len(missing) > 0 {
		m, err := consumer.next()
		if err != nil {
			t.Fatalf("%d of %d acknowledged messages are not delivered, such as %q: %v", len(missing), len(acked), anyOf(missing), err)
		}
		delete(missing, string(m.Body))
		consumer.Finish(m.ID)
		consumer.push()
	}
}

func anyOf(set map[string]bool) string {
	for s := range set {
		return s
	}
	return ""
}

func getStats(t *testing.T, addr string) statsJSON {
	t.Helper()
	resp, err := http.Get("http://" + addr + "/stats?format=json")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	var st statsJSON
	if err := json.Unmarshal(data, &st); err != nil {
		t.Fatalf("%v in %s", err, data)
	}
	return st
}

// TestMemoryDurabilityLoses is the control: with it the crash test must be
// able to see a loss, or it proves nothing about fsync.
func TestMemoryDurabilityLoses(t *testing.T) {
	dir := t.TempDir()
	acked := publishAndKill(t, spawn(t, dir, childMemory+"=1"), 0)
	c := spawn(t, dir)
	p := dial(t, c.tcp, nsq.ClientConfig{})
	p.Publish("t", []byte("end"))
	p.want(nsq.NoticePublished)
	consumer := subscribe(t, c.tcp, "t", "ch", 1)
	if m := consumer.want(nsq.NoticeDelivered); string(m.Body) != "end" {
		t.Fatalf("%d messages acknowledged from memory survived SIGKILL, such as %q", len(acked), m.Body)
	}
}
