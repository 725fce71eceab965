package replica

import (
	"bytes"
	"testing"

	pb "go.etcd.io/raft/v3/raftpb"

	"pestle/broker/journal"

	"pgregory.net/rapid"
)

// naive is a log as simple as it can be: everything it ever held, and where it
// begins.
type naive struct {
	base, baseTerm uint64
	terms          []uint64
	data           [][]byte
	where          []journal.Position
}

func (n *naive) last() uint64 { return n.base + uint64(len(n.terms)) }

func (n *naive) put(index, term uint64, data []byte, where journal.Position) bool {
	if index <= n.base || index > n.last()+1 {
		return false
	}
	keep := index - n.base - 1
	n.terms = append(n.terms[:keep], term)
	n.data = append(n.data[:keep], data)
	n.where = append(n.where[:keep], where)
	return true
}

func (n *naive) size() (size int64) {
	for _, d := range n.data {
		size += int64(len(d)) + 128
	}
	return size
}

func (n *naive) trim(limit int64, upTo uint64) bool {
	if n.size() < limit+limit/4 {
		return false
	}
	trimmed := false
	for len(n.terms) > 0 && n.size() > limit && n.base+1 <= upTo {
		n.base, n.baseTerm = n.base+1, n.terms[0]
		n.terms, n.data, n.where = n.terms[1:], n.data[1:], n.where[1:]
		trimmed = true
	}
	return trimmed
}

// The log is what a list of entries would be, whatever is done to it; and what
// was handed out stays as it was.
func TestLogIsAList(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		l, n := &Log{}, &naive{}
		type lent struct {
			list  []*pb.Entry
			first uint64
			terms []uint64
		}
		var out []lent
		number := func(name string, lo, hi uint64) uint64 { return rapid.Uint64Range(lo, max(lo, hi)).Draw(rt, name) }
		rt.Repeat(map[string]func(*rapid.T){
			"put": func(*rapid.T) {
				index, term := number("index", max(n.base, 2)-2, n.last()+2), number("term", 1, 9)
				data := rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(rt, "data")
				where := journal.Position{File: number("file", 1, 9), Offset: int64(number("offset", 0, 1000))}
				err := l.Put(&pb.Entry{Index: new(index), Term: new(term), Data: data}, where)
				if ok := n.put(index, term, data, where); ok != (err == nil) {
					rt.Fatalf("entry %d behind %d to %d: %v", index, n.base, n.last(), err)
				}
			},
			"trim": func(*rapid.T) {
				limit, upTo := int64(number("limit", 0, 3000)), number("up to", n.base, n.last())
				if got, want := l.Trim(limit, upTo), n.trim(limit, upTo); got != want {
					rt.Fatalf("trim of %d bytes up to %d: %v, want %v", limit, upTo, got, want)
				}
			},
			"move": func(*rapid.T) {
				if n.last() == n.base {
					return
				}
				index := number("index", n.base+1, n.last())
				where := journal.Position{File: 99, Offset: int64(index)}
				l.Move(index, where)
				n.where[index-n.base-1] = where
			},
			"reset": func(*rapid.T) {
				index, term := number("index", 0, n.last()+5), number("term", 1, 9)
				l.Reset(index, term)
				*n = naive{base: index, baseTerm: term}
			},
			"lend": func(*rapid.T) {
				if n.last() == n.base {
					return
				}
				lo := number("lo", n.base+1, n.last())
				hi := number("hi", lo+1, n.last()+1)
				list, err := storage{log: l}.Entries(lo, hi, number("limit", 0, 400))
				if err != nil || len(list) == 0 || list[0].GetIndex() != lo {
					rt.Fatalf("entries %d to %d: %v, %v", lo, hi, list, err)
				}
				x := lent{list: list, first: lo}
				for _, e := range list {
					x.terms = append(x.terms, e.GetTerm())
				}
				out = append(out, x)
			},
			"": func(*rapid.T) {
				if base, term := l.Base(); base != n.base || term != n.baseTerm || l.Last() != n.last() || l.size != n.size() {
					rt.Fatalf("the log is %d of %d to %d, %d bytes, want %d of %d to %d, %d", base, term, l.Last(), l.size, n.base, n.baseTerm, n.last(), n.size())
				}
				for i := range n.terms {
					index := n.base + 1 + uint64(i)
					term, ok := l.Term(index)
					if e := l.entries[i]; !ok || term != n.terms[i] || e.GetIndex() != index || !bytes.Equal(e.GetData(), n.data[i]) || l.where[i] != n.where[i] {
						rt.Fatalf("entry %d is another", index)
					}
				}
				if _, ok := l.Term(n.last() + 1); ok {
					rt.Fatal("an entry behind the last one has a term")
				}
				if _, ok := l.Term(n.base - 1); n.base > 0 && ok {
					rt.Fatal("an entry before the first one has a term")
				}
				for _, x := range out {
					for i, e := range x.list {
						if e.GetIndex() != x.first+uint64(i) || e.GetTerm() != x.terms[i] {
							rt.Fatalf("what was lent from entry %d on has changed", x.first)
						}
					}
				}
			},
		})
	})
}
