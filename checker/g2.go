package checker

import (
	"context"
	"fmt"

	"github.com/jepgo/jepgo/history"
)

// G2 returns the checker g2 for Adya's anti-dependency cycles through predicates.
// For each key two transactions read by a predicate that finds rows of that key,
// and :insert one only if there is none; the value is [key [a-id nil]] for one and
// [key [nil b-id]] for the other. If both are ok, each missed what the other
// wrote: a cycle of two rw edges through a predicate, which serializability
// forbids. So at most one ok insert for each key.
//
// As Jepsen's, except that a history without an ok insert is Unknown. It takes the
// keys apart itself: no Independent is needed. O(n) time, some 40 bytes a key.
// Source: A. Adya, Weak Consistency, PhD thesis, MIT 1999.
func G2() Stream { return &g2{} }

type g2 struct {
	in      interner
	keys    []inserts
	calls   opened[insertion]
	oks     int
	odd     int // inserts without a key
	oddOK   int // those that are ok
	oddAt   int // the first of those
	illegal int
}

// insertion is an open insert; key is its number, or none.
type insertion struct {
	at  int
	key int32
}

// inserts counts the ok inserts of one key, with the positions of the first two.
type inserts struct {
	oks      int32
	call, at [2]int
}

func (*g2) Name() string { return "g2" }

func (g *g2) Take(e *history.Event) {
	if e.F != "insert" || !ofClient(e) {
		return
	}
	id := none
	if key, _, ok := e.Value.Pair(); ok {
		id = g.in.number(key)
		for len(g.keys) <= int(id) {
			g.keys = append(g.keys, inserts{})
		}
	} else if e.Type == history.Invoke {
		g.odd++
	}
	if e.Type == history.Invoke {
		g.calls.begin(e.Process, insertion{e.Position, id})
		return
	}
	call, ok := g.calls.end(e.Process)
	if !ok {
		call = insertion{nowhere, none}
	}
	if e.Type != history.OK {
		return
	}
	if _, flag := e.Value.Flag(); id == none && (flag || e.Value.IsNil()) {
		id = call.key // it only says that it is done
	}
	if id == none {
		g.odd++
		if g.oddOK++; g.oddOK == 1 {
			g.oddAt = e.Position
		}
		return
	}
	k := &g.keys[id]
	if k.oks < 2 {
		k.call[k.oks], k.at[k.oks] = call.at, e.Position
	}
	g.oks++
	if k.oks++; k.oks == 2 {
		g.illegal++
	}
}

func (g *g2) Finish(ctx context.Context, src history.Source) Result {
	r := Result{Checker: g.Name(), Facts: g.oks}
	if ctx.Err() != nil {
		return Ended(ctx, g.Name())
	}
	var found findings
	inserted := 0
	for id := range g.keys {
		k := &g.keys[id]
		if k.oks > 0 {
			inserted++
		}
		if k.oks > 1 && found.room("G2") {
			found.explain("G2", []int{k.call[0], k.at[0], k.call[1], k.at[1]},
				"Inserts %d and %d for key %s are both ok, though each was to insert only where it found no row of the other: each missed what the other wrote. %d inserts of the key are ok in all.",
				k.at[0], k.at[1], g.in.name(int32(id)), k.oks)
		}
	}
	r.Stats = []Stat{{"keys", fmt.Sprint(len(g.keys))}, {"legal", fmt.Sprint(inserted - g.illegal)}, {"illegal", fmt.Sprint(g.illegal)}}
	if g.odd > 0 && (g.oddOK == 0 || g.illegal > 0) {
		r.Warnings = append(r.Warnings, plural(g.odd, "insert")+" without [key [a b]] as the value")
	}
	r.Anomalies = found.anomalies(src)
	switch {
	case len(r.Anomalies) > 0:
		r.Verdict = Invalid
		r.Reason = fmt.Sprintf("%d of %s have more than one ok insert", g.illegal, plural(len(g.keys), "key"))
	case g.oddOK > 0:
		r.Reason = fmt.Sprintf("%s without [key [a b]] as the value, such as op %d", plural(g.oddOK, "ok insert"), g.oddAt)
	case g.oks == 0:
		r.Reason = "no insert is ok"
	default:
		r.Verdict = Valid
		r.Reason = fmt.Sprintf("at most one ok insert for each of %s", plural(len(g.keys), "key"))
	}
	return r
}
