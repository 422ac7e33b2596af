package txn

import (
	"context"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/checker/txn/graph"
)

// readers are the transactions that read each version of a key, by its number.
type readers struct {
	off, txns, at []int32
}

// fill finds the readers of the versions that o has.
func (s *readers) fill(o *keyOrder) {
	n := len(o.versions)
	s.off = append(s.off[:0], make([]int32, n+1)...)
	for _, t := range o.touches {
		if t.read != noVersion && o.has(t.read) {
			s.off[o.local[t.read]+1]++
		}
	}
	for u := range n {
		s.off[u+1] += s.off[u]
	}
	s.at = append(s.at[:0], s.off...)
	s.txns = append(s.txns[:0], make([]int32, s.off[n])...)
	for _, t := range o.touches {
		if t.read != noVersion && o.has(t.read) {
			u := o.local[t.read]
			s.txns[s.at[u]] = t.txn
			s.at[u]++
		}
	}
}

func (s *readers) of(u int32) []int32 { return s.txns[s.off[u]:s.off[u+1]] }

// registerEdges makes the dependencies of register transactions.
type registerEdges struct {
	r     *registers
	o     *keyOrder
	b     *graph.Builder
	spare int // how many more rw edges there may be than readers and versions
	// With timed, what real time says anyway is left out: enough to tell whether
	// there is a cycle, though not to name it.
	timed  bool
	timely int // what was left out

	contradictions []keyContradiction
	cut            string // which edges were too many
}

// keyContradiction is one of the versions of a key.
type keyContradiction struct {
	key int32
	contradiction
}

// edgesPerTouch bounds the rw edges, on average: where many transactions read a
// version that many others may have overwritten, they are the product of both.
const edgesPerTouch = 256

// run adds the edges of all keys, with the order of versions that the evidence
// gives: wr from who wrote a version to who read it; ww to who wrote the next one,
// and rw from who read the former. Nobody depends on versions that are not the
// last word of a transaction that happened.
func (e *registerEdges) run(ctx context.Context, allowed evidence) {
	e.spare = edgesPerTouch*len(e.r.touched) + 1<<20
	var s readers
	for key := range int32(e.r.keys.len()) {
		if key%checker.CheckEvery == 0 && ctx.Err() != nil {
			return
		}
		for _, c := range e.o.build(key, allowed) {
			e.contradictions = append(e.contradictions, keyContradiction{key, c})
		}
		if e.o.overflow {
			e.tooMany(key)
		}
		for _, t := range e.o.touches {
			if t.read != noVersion {
				e.add(e.r.source(t.read), t.txn, graph.WR)
			}
		}
		s.fill(e.o)
		for u := range int32(len(e.o.versions)) {
			e.after(u, s.of(u))
		}
	}
}

// after adds the edges from a version, number u of its key, to the next ones.
func (e *registerEdges) after(u int32, readers []int32) {
	o := e.o
	next := o.next[o.off[u]:o.off[u+1]]
	e.spare -= max(0, len(next)-1) * max(0, len(readers)-1)
	if e.spare < 0 {
		e.tooMany(o.key)
		readers = readers[:min(len(readers), 1)]
	}
	writer := e.r.source(o.versions[u])
	for i, v := range next {
		w := e.r.source(o.versions[v])
		if w < 0 {
			continue
		}
		by, timely := o.by[int(o.off[u])+i], e.timely
		// That a transaction wrote what it had read before says no more of the writes
		// than the wr edge does, and to make a ww edge of it would turn a G1c into a G0.
		if by != inferWFR {
			e.add(writer, w, graph.WW)
		}
		for _, r := range readers {
			e.add(r, w, graph.RW)
		}
		if by&^(inferProcess|inferRealtime) == 0 {
			e.timely = timely // no dependency without real time
		}
	}
}

func (e *registerEdges) tooMany(key int32) {
	if e.cut == "" {
		e.cut = "key " + e.r.keyName(key) + " has too many reads of versions that too many writes may have followed to relate them all"
	}
}

func (e *registerEdges) add(from, to int32, rel graph.Rel) {
	switch {
	case from < 0 || to < 0 || from == to:
	case e.timed && e.r.before(from, to):
		e.timely++
	default:
		e.b.Add(uint32(from), uint32(to), rel)
	}
}
