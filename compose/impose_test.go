package compose

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"pestle/campaign/conductor"
	"pestle/faults"
	"pestle/faults/agent"
	"pestle/scenarios"
)

// paper is a host whose pods exist on paper only: brokers 1 to 3 at .1 to .3, a
// producer at .4.
func paper() *Host {
	h := New(Options{})
	h.layout = conductor.Layout{Plan: scenarios.Plan{Seed: 7}}
	for n, name := range []string{"broker-1", "broker-2", "broker-3", "producer-1"} {
		p := &pod{Process: conductor.Process{Name: name, Role: faults.Broker}, address: netip.AddrFrom4([4]byte{10, 0, 0, byte(n + 1)})}
		for _, a := range []string{agent.NFT, agent.Rejects, agent.Destroy, agent.NFQueue, agent.RawSock} {
			p.report.Abilities = append(p.report.Abilities, agent.Ability{Name: a, OK: true})
		}
		h.pods = append(h.pods, p)
		h.byName[name] = p
	}
	return h
}

// script writes orders: the pod, what it is to do, and with whom, by the last
// digit of the address.
func script(orders []order) string {
	var words []string
	for _, o := range orders {
		peers := ""
		for _, p := range o.request.Peers {
			peers += fmt.Sprint(p.As4()[3])
		}
		words = append(words, strings.TrimSpace(fmt.Sprintf("%s:%s %s", o.pod.Name, o.request.Op, peers)))
	}
	return strings.Join(words, ", ")
}

func TestOrdersAreForTheFarEndOfEachLink(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault faults.Fault
		want  string
	}{
		{"cut", faults.Fault{Kind: faults.Cut, Target: "broker-1", Peer: "broker-2"},
			"broker-1:block 2, broker-2:block 1"},
		{"silence", faults.Fault{Kind: faults.Silence, Target: "broker-1"},
			"broker-1:block 234, broker-2:block 1, broker-3:block 1, producer-1:block 1"},
		{"one-way: what the target sends arrives nowhere", faults.Fault{Kind: faults.Partition, Target: "broker-1", Shape: faults.OneWay},
			"broker-2:block 1, broker-3:block 1, producer-1:block 1"},
		{"minority of the brokers", faults.Fault{Kind: faults.Partition, Target: "broker-3", Shape: faults.Minority, Side: []string{"broker-3"}, Among: faults.Broker},
			"broker-1:block 3, broker-2:block 3, broker-3:block 12"},
		{"bridge", faults.Fault{Kind: faults.Partition, Target: "broker-1", Shape: faults.Bridge, Side: []string{"broker-2"}, Among: faults.Broker},
			"broker-2:block 3, broker-3:block 2"},
		{"ring", faults.Fault{Kind: faults.Partition, Target: "broker-1", Shape: faults.Ring, Side: []string{"broker-1", "broker-2", "broker-3", "producer-1"}},
			"broker-1:block 3, broker-2:block 4, broker-3:block 1, producer-1:block 2"},
		{"latency", faults.Fault{Kind: faults.Latency, Target: "producer-1", Peer: "broker-1", Delay: 5e6},
			"broker-1:shape 4, producer-1:shape 1"},
		{"corrupt: among brokers only", faults.Fault{Kind: faults.Corrupt, Target: "broker-1", Rate: 10},
			"broker-1:shape 23, broker-2:shape 1, broker-3:shape 1"},
		{"refuse", faults.Fault{Kind: faults.Refuse, Target: "broker-1", Peer: "broker-3"}, "broker-1:refuse 3"},
		{"reset", faults.Fault{Kind: faults.Reset, Target: "broker-2"}, "broker-2:reset 134"},
		{"half-open: only the target is told", faults.Fault{Kind: faults.HalfOpen, Target: "broker-2"}, "broker-2:half-open 134"},
		{"power loss: the harness is not heard either", faults.Fault{Kind: faults.PowerLoss, Target: "broker-2"}, "broker-2:silence"},
	} {
		c.fault.Ref = 9
		orders := paper().orders(c.fault)
		if got := script(orders); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
		for _, o := range orders {
			if err := o.request.Validate(); err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
		}
	}
}

func TestShapingHasTheFaultsParameters(t *testing.T) {
	const seed = 7 ^ 9<<32
	for _, c := range []struct {
		fault faults.Fault
		want  agent.Shaping
	}{
		{faults.Fault{Kind: faults.Clog, BytesPerSecond: 1000, Delay: 3}, agent.Shaping{BytesPerSecond: 1000, Delay: 3}},
		{faults.Fault{Kind: faults.Jam}, agent.Shaping{Jam: true}},
		{faults.Fault{Kind: faults.Latency, Delay: int64(time.Second), Jitter: 5}, agent.Shaping{Delay: time.Second, Jitter: 5}},
		{faults.Fault{Kind: faults.Loss, Rate: 200}, agent.Shaping{Loss: 200}},
		{faults.Fault{Kind: faults.Reorder, Rate: 100, Delay: 4}, agent.Shaping{Reorder: 100, ReorderBy: 4}},
		{faults.Fault{Kind: faults.Duplicate, Rate: 50}, agent.Shaping{Duplicate: 50}},
		{faults.Fault{Kind: faults.Corrupt, Rate: 1}, agent.Shaping{Corrupt: 1}},
	} {
		c.fault.Ref, c.want.Seed = 9, seed
		if got, ok := paper().shaping(c.fault); !ok || got != c.want {
			t.Errorf("%s: %+v, want %+v", c.fault.Kind, got, c.want)
		}
	}
	if _, ok := paper().shaping(faults.Fault{Kind: faults.Cut}); ok {
		t.Error("a cut shapes nothing")
	}
}

// TestEveryKindOfTheWorldCanBeCarriedOut keeps the table and the catalog
// together: a kind that says it works in containers is one of the conductor's
// signals or of this table.
func TestEveryKindOfTheWorldCanBeCarriedOut(t *testing.T) {
	signals := []faults.Kind{faults.Kill, faults.Stop, faults.Pause, faults.Wipe, faults.Replace}
	for _, spec := range faults.Kinds() {
		d, ours := deedOf(spec.Kind)
		if theirs := slices.Contains(signals, spec.Kind); spec.In(scenarios.Docker) != (ours || theirs) || ours && theirs {
			t.Errorf("%s: in the world docker %v, a signal %v, a deed %v", spec.Kind, spec.In(scenarios.Docker), theirs, ours)
		}
		if !ours {
			continue
		}
		// What ends its target, and what is over at once, is not lifted.
		lifted := spec.MaxFor > 0 && spec.Kind != faults.PowerLoss && spec.Kind != faults.OutOfMemory
		if (d.end != nil) != lifted {
			t.Errorf("%s: it has an end %v, want %v", spec.Kind, d.end != nil, lifted)
		}
	}
}

func TestCanNamesWhatTheKernelLacks(t *testing.T) {
	for _, c := range []struct {
		lack  string
		kinds []faults.Kind
	}{
		{agent.NFT, []faults.Kind{faults.Partition, faults.Cut, faults.Silence, faults.Loss, faults.Refuse, faults.HalfOpen, faults.PowerLoss}},
		{agent.NFQueue, []faults.Kind{faults.Loss, faults.Latency, faults.Clog, faults.Jam, faults.Reorder, faults.Duplicate, faults.Corrupt}},
		{agent.Rejects, []faults.Kind{faults.Refuse}},
		{agent.Destroy, []faults.Kind{faults.Reset, faults.HalfOpen, faults.Refuse}},
		{agent.RawSock, []faults.Kind{faults.Duplicate}},
	} {
		h := paper()
		for _, p := range h.pods {
			for i := range p.report.Abilities {
				if p.report.Abilities[i].Name == c.lack {
					p.report.Abilities[i] = agent.Ability{Name: c.lack, Why: "it is a test"}
				}
			}
		}
		for _, spec := range faults.Kinds() {
			if d, ours := deedOf(spec.Kind); !ours || spec.Class != faults.OfNetwork && spec.Kind != faults.PowerLoss || d.can == nil {
				continue
			}
			why := h.Can(faults.Fault{Kind: spec.Kind, Target: faults.Leader, Rate: 1})
			if want := slices.Contains(c.kinds, spec.Kind) || c.lack == agent.NFT && spec.Kind != faults.Reset; (why != "") != want {
				t.Errorf("without %s a %s is missing for %q", c.lack, spec.Kind, why)
			}
			if why != "" && (!strings.Contains(why, c.lack) || !strings.Contains(why, "it is a test")) {
				t.Errorf("the reason does not name it: %s", why)
			}
		}
	}
}
