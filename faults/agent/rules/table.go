//go:build linux

package rules

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"

	"pestle/faults/agent"
	"pestle/faults/agent/sockets"
)

const (
	tableName = "pestle"
	priority  = -400 // before connection tracking and Docker's rules
)

// Part is what one fault wants of the rules.
type Part struct {
	Ref         int
	Does        agent.Op             // Block, Silence, Refuse, HalfOpen or Shape
	Peers       []netip.Addr         // none: all of the network; not of Silence
	Connections []sockets.Connection // of HalfOpen, instead of Peers
}

// Table is the kernel's table of this network namespace. One goroutine at a
// time may use it.
type Table struct {
	network Network
	way     Way
	conn    *nftables.Conn
	table   *nftables.Table
	in, out *nftables.Chain
	parts   []Part // that are imposed
	sets    []*nftables.Set
	changes int // so many; in the names of the sets, which are new each time
}

// Open makes the table anew, without rules, whatever stood there.
func Open(network Network, way Way) (*Table, error) {
	if err := network.Validate(); err != nil {
		return nil, err
	}
	conn, err := nftables.New()
	if err != nil {
		return nil, fmt.Errorf("open nftables: %w", err)
	}
	t := &Table{network: network, way: way, conn: conn, table: ours()}
	conn.AddTable(t.table) // so that there is one to delete
	conn.DelTable(t.table)
	conn.AddTable(t.table)
	t.in = t.chain("in", nftables.ChainHookInput)
	t.out = t.chain("out", nftables.ChainHookOutput)
	if err := conn.Flush(); err != nil {
		return nil, fmt.Errorf("make nftables table %s: %w", tableName, err)
	}
	return t, nil
}

func ours() *nftables.Table {
	return &nftables.Table{Family: nftables.TableFamilyIPv4, Name: tableName}
}

func (t *Table) chain(name string, hook *nftables.ChainHook) *nftables.Chain {
	return t.conn.AddChain(&nftables.Chain{
		Name: name, Table: t.table, Type: nftables.ChainTypeFilter,
		Hooknum: hook, Priority: nftables.ChainPriorityRef(priority),
	})
}

// Close removes the table.
func (t *Table) Close() error {
	t.conn.DelTable(t.table)
	if err := t.conn.Flush(); err != nil {
		return fmt.Errorf("remove nftables table %s: %w", tableName, err)
	}
	return nil
}

// Set replaces all parts; the counts of those whose ref stays go on. On an error
// nothing has changed.
func (t *Table) Set(parts []Part) error {
	t.conn.FlushChain(t.in)
	t.conn.FlushChain(t.out)
	for _, p := range t.parts {
		if !has(parts, p.Ref) {
			t.conn.DeleteObject(t.counter(p.Ref))
		}
	}
	for _, set := range t.sets {
		t.conn.DelSet(set)
	}
	t.changes++
	sets := make(map[int]*nftables.Set)
	for _, p := range parts {
		if !has(t.parts, p.Ref) {
			t.conn.AddObj(t.counter(p.Ref))
		}
		if p.Does == agent.HalfOpen && len(p.Connections) > 0 {
			set, err := t.connections(p)
			if err != nil {
				return err
			}
			sets[p.Ref] = set
		}
	}
	t.addRules(parts, sets)
	if err := t.conn.Flush(); err != nil {
		return fmt.Errorf("change nftables table %s: %w", tableName, err)
	}
	t.parts, t.sets = slices.Clone(parts), slices.Collect(maps.Values(sets))
	return nil
}

func has(parts []Part, ref int) bool {
	return slices.ContainsFunc(parts, func(p Part) bool { return p.Ref == ref })
}

// connections adds the set of a part's connections.
func (t *Table) connections(p Part) (*nftables.Set, error) {
	key, err := nftables.ConcatSetType(nftables.TypeIPAddr, nftables.TypeInetService, nftables.TypeInetService)
	if err != nil {
		return nil, err
	}
	name := fmt.Sprintf("connections-%d-%d", p.Ref, t.changes)
	set := &nftables.Set{Table: t.table, Name: name, Concatenation: true, KeyType: key}
	elements := make([]nftables.SetElement, len(p.Connections))
	for i, c := range p.Connections {
		elements[i].Key = connectionKey(c)
	}
	if err := t.conn.AddSet(set, elements); err != nil {
		return nil, fmt.Errorf("set of %d connections: %w", len(elements), err)
	}
	return set, nil
}

// connectionKey fills the three registers of inConnections: a port is at the
// beginning of its own.
func connectionKey(c sockets.Connection) []byte {
	peer, local := c.Peer.Port(), c.Local.Port()
	return append(c.Peer.Addr().AsSlice(), byte(peer>>8), byte(peer), 0, 0, byte(local>>8), byte(local), 0, 0)
}

// addRules adds the counts of all parts, then their verdicts, those that drop
// before those that answer, and the queue last.
func (t *Table) addRules(parts []Part, sets map[int]*nftables.Set) {
	for _, p := range parts {
		if p.Does == agent.Shape {
			continue // the shaper counts
		}
		count := []expr.Any{&expr.Objref{Type: int(nftables.ObjTypeCounter), Name: counterName(p.Ref)}}
		t.addPart(p, sets[p.Ref], count, count)
	}
	drop := []expr.Any{&expr.Verdict{Kind: expr.VerdictDrop}}
	for _, p := range parts {
		if p.Does == agent.Silence || p.Does == agent.Block || p.Does == agent.HalfOpen {
			t.addPart(p, sets[p.Ref], drop, drop)
		}
	}
	reject := []expr.Any{&expr.Reject{Type: unix.NFT_REJECT_TCP_RST}}
	for _, p := range parts {
		if p.Does == agent.Refuse {
			t.addPart(p, nil, reject, reject)
		}
	}
	for _, p := range parts {
		if p.Does == agent.Shape {
			t.addPart(p, nil, []expr.Any{t.way.verdict()}, nil)
		}
	}
}

// addPart adds the rules whose conditions are the part's, with what they do to
// what comes in and what goes out.
func (t *Table) addPart(p Part, set *nftables.Set, in, out []expr.Any) {
	switch p.Does {
	case agent.Silence:
		t.rule(t.in, notLoopback(expr.MetaKeyIIFNAME), in)
		t.rule(t.out, notLoopback(expr.MetaKeyOIFNAME), out)
	case agent.Block:
		for _, from := range t.network.matches(p.Peers, sourceAt) {
			t.rule(t.in, from, in)
		}
	case agent.HalfOpen:
		if set != nil {
			t.rule(t.in, inConnections(set.Name, set.ID, sourceAt, sourcePortAt, targetPortAt), in)
			t.rule(t.out, inConnections(set.Name, set.ID, destinationAt, targetPortAt, sourcePortAt), out)
		}
	case agent.Refuse:
		for _, from := range t.network.matches(p.Peers, sourceAt) {
			t.rule(t.in, append(notRST(), from...), in)
		}
		for _, to := range t.network.matches(p.Peers, destinationAt) {
			t.rule(t.out, append(notRST(), to...), out)
		}
	case agent.Shape:
		for _, from := range t.network.matches(p.Peers, sourceAt) {
			t.rule(t.in, append(notMarked(Mark), from...), in)
		}
	}
}

func (t *Table) rule(chain *nftables.Chain, conditions, does []expr.Any) {
	all := append(conditions[:len(conditions):len(conditions)], does...)
	t.conn.AddRule(&nftables.Rule{Table: t.table, Chain: chain, Exprs: all})
}

func counterName(ref int) string { return "fault-" + strconv.Itoa(ref) }

func (t *Table) counter(ref int) *nftables.CounterObj {
	return &nftables.CounterObj{Table: t.table, Name: counterName(ref)}
}

// Hits returns what the rules of each ref have met. Shape's are the shaper's.
func (t *Table) Hits() (map[int]agent.Hits, error) {
	objects, err := t.conn.GetObjects(t.table)
	if err != nil && !errors.Is(err, unix.ENOENT) {
		return nil, fmt.Errorf("read the counters of nftables table %s: %w", tableName, err)
	}
	hits := make(map[int]agent.Hits)
	for _, o := range objects {
		counter, ok := o.(*nftables.CounterObj)
		if !ok {
			continue
		}
		number, _ := strings.CutPrefix(counter.Name, "fault-")
		if ref, err := strconv.Atoi(number); err == nil {
			hits[ref] = agent.Hits{Ref: ref, Packets: int64(counter.Packets), Bytes: int64(counter.Bytes)}
		}
	}
	return hits, nil
}
