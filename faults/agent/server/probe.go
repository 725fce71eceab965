//go:build linux

package server

import (
	"errors"
	"fmt"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"pestle/faults/agent"
	"pestle/faults/agent/rules"
	"pestle/faults/agent/sockets"
)

// probe asks the kernel for everything that some request needs.
func (s *server) probe() []agent.Ability {
	return []agent.Ability{
		ability(agent.NFT, rules.ProbeTable()),
		ability(agent.Rejects, rules.ProbeReject()),
		ability(agent.Destroy, sockets.Probe()),
		s.probeQueue(),
		ability(agent.RawSock, probeRaw()),
		ability(agent.TBF, probeDiscipline(func(a netlink.QdiscAttrs) netlink.Qdisc {
			return &netlink.Tbf{QdiscAttrs: a, Rate: 1 << 30, Limit: 1 << 20, Buffer: netlink.Xmittime(1<<30, 1<<20)}
		})),
		ability(agent.Netem, probeDiscipline(func(a netlink.QdiscAttrs) netlink.Qdisc {
			return netlink.NewNetem(a, netlink.NetemQdiscAttrs{})
		})),
		ability(agent.Numgen, rules.ProbeNumgen()),
	}
}

func ability(name string, err error) agent.Ability {
	if err != nil {
		return agent.Ability{Name: name, Why: err.Error()}
	}
	return agent.Ability{Name: name, OK: true}
}

// probeQueue needs the queue bound, which is done once, and a way to it.
func (s *server) probeQueue() agent.Ability {
	way, err := rules.ProbeQueue()
	if err == nil && s.pump == nil {
		err = s.pumpErr
	}
	a := ability(agent.NFQueue, err)
	if err == nil {
		a.Why = string(way)
	}
	return a
}

func probeRaw() error {
	raw, err := openRaw()
	if err != nil {
		return fmt.Errorf("%w: it takes CAP_NET_RAW and CAP_NET_ADMIN", err)
	}
	return unix.Close(raw)
}

// probeDiscipline puts a queueing discipline that changes nothing on the
// loopback device and takes it away at once.
func probeDiscipline(build func(netlink.QdiscAttrs) netlink.Qdisc) error {
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return fmt.Errorf("find the loopback device: %w", err)
	}
	discipline := build(netlink.QdiscAttrs{
		LinkIndex: lo.Attrs().Index, Handle: netlink.MakeHandle(1, 0), Parent: netlink.HANDLE_ROOT,
	})
	err = netlink.QdiscAdd(discipline)
	switch {
	case err == nil:
		return netlink.QdiscDel(discipline)
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.EOPNOTSUPP):
		return fmt.Errorf("%w: the kernel was built without it, or its module is not loaded: modprobe sch_%s on the host", err, discipline.Type())
	case errors.Is(err, unix.EEXIST):
		return fmt.Errorf("%w: the loopback device has another discipline", err)
	}
	return err
}
