package weak

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// holdsIn reports whether an order of all transactions obeys the axiom of a level, by
// the definitions alone (Biswas & Enea 2019, figure 2).
func holdsIn(h *History, a Ask, place []int) bool {
	n := int32(h.Len())
	before := func(x, y int32) bool { return place[x] < place[y] }
	session := func(x, y int32) bool {
		return (a.Sessions || a.Realtime) && h.session[x] >= 0 && h.session[x] == h.session[y] && x < y
	}
	reads := func(x, y int32) bool {
		return slices.ContainsFunc(h.readsOf(y), func(r read) bool { return r.from == x })
	}
	time := func(x, y int32) bool { return a.Realtime && h.call[y] >= 0 && h.ret[x] < h.call[y] }
	direct := func(x, y int32) bool { return session(x, y) || reads(x, y) || time(x, y) }
	for x := range n {
		for y := range n {
			if direct(x, y) && !before(x, y) {
				return false
			}
		}
	}
	// causes: direct edges, one after another
	causes := make([][]bool, n)
	for x := range n {
		causes[x] = make([]bool, n)
		for y := range n {
			causes[x][y] = direct(x, y)
		}
	}
	for z := range n {
		for x := range n {
			for y := range n {
				causes[x][y] = causes[x][y] || causes[x][z] && causes[z][y]
			}
		}
	}
	sees := func(w2, r int32, i int) bool {
		switch a.Level {
		case ReadCommitted:
			return slices.ContainsFunc(h.readsOf(r)[:i], func(rd read) bool { return rd.from == w2 })
		case ReadAtomic:
			return direct(w2, r)
		case Causal:
			return causes[w2][r]
		case Prefix, SnapshotIsolation:
			for v := range n {
				if direct(v, r) && (v == w2 || before(w2, v)) {
					return true
				}
				if a.Level == Prefix || v == r || !before(v, r) || v != w2 && !before(w2, v) {
					continue
				}
				for _, key := range h.writesOf(v) {
					if h.wrote(r, key) {
						return true
					}
				}
			}
			return false
		}
		return before(w2, r)
	}
	for r := range n {
		for i, rd := range h.readsOf(r) {
			for w2 := range n {
				if w2 == r || w2 == rd.from || !h.wrote(w2, rd.key) || !sees(w2, r, i) {
					continue
				}
				if rd.from == Initial || !before(w2, rd.from) {
					return false
				}
			}
		}
	}
	return true
}

// holds tries all orders.
func holds(h *History, a Ask) bool {
	place := make([]int, h.Len())
	var try func(used, depth int) bool
	try = func(used, depth int) bool {
		if depth == len(place) {
			return holdsIn(h, a, place)
		}
		for t := range place {
			if used>>t&1 == 0 {
				place[t] = depth
				if try(used|1<<t, depth+1) {
					return true
				}
			}
		}
		return false
	}
	return try(0, 0)
}

// draw draws a history of few transactions that read as if they had happened in some
// order, but for some reads.
func draw(t *rapid.T, most int) *History {
	n := rapid.IntRange(1, most).Draw(t, "txns")
	keys := rapid.IntRange(1, 3).Draw(t, "keys")
	sessions := rapid.IntRange(1, 3).Draw(t, "sessions")
	noise := rapid.SampledFrom([]int{0, 15, 50}).Draw(t, "noise")
	lag := rapid.IntRange(0, 2).Draw(t, "lag")
	type txn struct {
		session, call, ret int32
		reads              []read
		writes             []int32
	}
	txns := make([]txn, n)
	writers := make([][]int32, keys) // of each key, in the order in which they happened
	order := rapid.Permutation(seq(n)).Draw(t, "order")
	for _, at := range order {
		x := &txns[at]
		for range rapid.IntRange(0, 2).Draw(t, "writes") {
			x.writes = append(x.writes, int32(rapid.IntRange(0, keys-1).Draw(t, "key")))
		}
	}
	for _, at := range order {
		x := &txns[at]
		old := rapid.IntRange(0, lag).Draw(t, "old")
		for range rapid.IntRange(0, 3).Draw(t, "reads") {
			key := rapid.IntRange(0, keys-1).Draw(t, "key")
			var all []int32
			all = append(all, Initial)
			for w := range txns {
				if w != at && slices.Contains(txns[w].writes, int32(key)) {
					all = append(all, int32(w))
				}
			}
			from := Initial
			if done := writers[key]; len(done) > old {
				from = done[len(done)-1-old]
			}
			if rapid.IntRange(1, 100).Draw(t, "noisy") <= noise {
				from = rapid.SampledFrom(all).Draw(t, "from")
			}
			x.reads = append(x.reads, read{int32(key), from})
		}
		for _, key := range slices.Compact(slices.Sorted(slices.Values(x.writes))) {
			writers[key] = append(writers[key], int32(at))
		}
	}
	h := &History{}
	// Time: transactions end in the order of their numbers; sessions do one at a time.
	free := make([]int32, sessions)
	for at := range txns {
		x := &txns[at]
		session := rapid.IntRange(-1, sessions-1).Draw(t, "session")
		x.session, x.ret = int32(session), int32(10*at+9)
		least := int32(0)
		if session >= 0 {
			least = free[session]
			free[session] = x.ret + 1
		}
		x.call = int32(rapid.IntRange(int(least), int(x.ret)-1).Draw(t, "call"))
		switch rapid.IntRange(0, 9).Draw(t, "timeless") {
		case 0:
			x.call = -1
		case 1:
			x.ret = Never
		}
		h.Add(x.session, x.call, x.ret)
		for _, r := range x.reads {
			h.Read(r.key, r.from)
		}
		for _, key := range x.writes {
			h.Write(key)
		}
	}
	h.seal()
	return h
}

func seq(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

func (h *History) String() string {
	var b strings.Builder
	for t := range int32(h.Len()) {
		fmt.Fprintf(&b, "%d: session %d, %d–%d, reads %v, writes %v\n", t, h.session[t], h.call[t], h.ret[t], h.readsOf(t), h.writesOf(t))
	}
	return b.String()
}

// asks are all questions.
func asks() (all []Ask) {
	for l := ReadCommitted; l <= Serializable; l++ {
		all = append(all, Ask{Level: l}, Ask{Level: l, Sessions: true})
		if l >= Prefix {
			all = append(all, Ask{Level: l, Sessions: true, Realtime: true})
		}
	}
	return all
}

func answer(h *History, a Ask) Answer {
	if a.Level <= Causal {
		return h.Infer(context.Background(), a, 0)
	}
	return h.Search(context.Background(), a, 0)
}

// Every level is decided as all orders of the transactions decide it, and a violation
// stands on its own.
func TestLevelsAgreeWithAllOrders(t *testing.T) {
	count := make(map[string]int)
	rapid.Check(t, func(t *rapid.T) {
		h := draw(t, 5)
		for _, a := range asks() {
			got, want := answer(h, a), holds(h, a)
			if got.Holds != want || (got.Broken == nil) != want {
				t.Fatalf("%+v: got %+v, all orders say %v\n%s", a, got, want, h)
			}
			if want {
				count["holds"]++
				continue
			}
			v := got.Broken
			count[v.Name]++
			if v.Exhausted {
				count["exhausted"]++
			}
			if !v.Checked || len(v.Core) == 0 || v.Exhausted != (len(v.Cycle) == 0) {
				t.Fatalf("%+v: %+v\n%s", a, v, h)
			}
			if sub := h.only(v.Core); holds(sub, v.Ask) {
				t.Fatalf("%+v: the core %v alone does not break %+v\n%s", a, v.Core, v.Ask, h)
			}
			for i, e := range v.Cycle {
				if next := v.Cycle[(i+1)%len(v.Cycle)]; e.To != next.From {
					t.Fatalf("%+v: no cycle: %+v", a, v.Cycle)
				}
			}
		}
	})
	t.Log(count)
}
