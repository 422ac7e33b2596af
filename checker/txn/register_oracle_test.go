package txn

import (
	"context"
	"maps"
	"slices"

	"pgregory.net/rapid"

	"github.com/jepgo/jepgo/checker/txn/graph"
	"github.com/jepgo/jepgo/checker/txn/lattice"
	"github.com/jepgo/jepgo/history"
)

// A tiny history of registers as the tests see it; what a version is worth and
// what depends on what is worked out here again, by brute force.
type (
	tinyOp struct {
		read     bool
		key, val int // val 0 is nil
	}
	tinyTxn struct {
		process   int
		call, ret int // ret -1: never
		status    status
		ops       []tinyOp
	}
	tinyHistory struct {
		txns []tinyTxn
		ops  []history.Op
	}
)

const tinyKeys = 2

// shape bounds what is drawn.
type shape struct {
	txns, processes int
	writes          int  // of each key
	wild            bool // reads are anything, and some invocations are missing
}

// drawTiny draws a history that is small enough to try every order.
func drawTiny(t *rapid.T) *tinyHistory { return shape{txns: 5, processes: 3, writes: 3}.draw(t) }

// drawLong draws a history of which many transactions are open at once.
func drawLong(t *rapid.T) *history.History {
	return &history.History{Ops: shape{txns: 30, processes: 8, writes: 90, wild: true}.draw(t).ops}
}

// draw draws a history. Unless it is wild, transactions read as if they ran one
// after another, in some order, except for some reads that are anything.
func (s shape) draw(t *rapid.T) *tinyHistory {
	h := &tinyHistory{}
	n := rapid.IntRange(2, s.txns).Draw(t, "txns")
	processes := rapid.IntRange(1, s.processes).Draw(t, "processes")
	next := make([]int, tinyKeys)
	for range n {
		x := tinyTxn{call: -1, ret: -1}
		for range rapid.IntRange(1, 3).Draw(t, "ops") {
			op := tinyOp{read: rapid.Bool().Draw(t, "read"), key: rapid.IntRange(0, tinyKeys-1).Draw(t, "key")}
			if !op.read && next[op.key] < s.writes {
				next[op.key]++
				op.val = next[op.key]
			} else {
				op.read = true
			}
			x.ops = append(x.ops, op)
		}
		x.status = rapid.SampledFrom([]status{committed, committed, committed, committed, inDoubt, aborted}).Draw(t, "status")
		h.txns = append(h.txns, x)
	}
	if s.wild {
		h.readAnything(t, next)
	} else {
		h.read(t, next)
	}
	h.run(t, s, processes)
	return h
}

// read fills in what is read.
func (h *tinyHistory) read(t *rapid.T, next []int) {
	noise := rapid.SampledFrom([]int{0, 10, 50}).Draw(t, "noise")
	state := make([]int, tinyKeys)
	order := rapid.Permutation(seq(len(h.txns))).Draw(t, "order")
	for _, i := range order {
		before := slices.Clone(state)
		for o := range h.txns[i].ops {
			op := &h.txns[i].ops[o]
			switch {
			case !op.read:
				state[op.key] = op.val
			case rapid.IntRange(1, 100).Draw(t, "noisy") <= noise:
				op.val = rapid.IntRange(0, next[op.key]).Draw(t, "val")
			default:
				op.val = state[op.key]
			}
		}
		if h.txns[i].status == aborted {
			state = before
		}
	}
}

// readAnything fills in values of which some were never written.
func (h *tinyHistory) readAnything(t *rapid.T, next []int) {
	for i := range h.txns {
		for o := range h.txns[i].ops {
			if op := &h.txns[i].ops[o]; op.read {
				op.val = rapid.IntRange(0, next[op.key]+1).Draw(t, "val")
			}
		}
	}
}

// run lets processes invoke and complete the transactions.
func (h *tinyHistory) run(t *rapid.T, s shape, processes int) {
	busy := make([]int, processes) // transaction and 1
	id := seq(processes)
	started, ended := 0, 0
	for ended < len(h.txns) {
		p := rapid.IntRange(0, processes-1).Draw(t, "process")
		switch i := busy[p] - 1; {
		case i < 0 && started < len(h.txns):
			busy[p] = started + 1
			x := &h.txns[started]
			started++
			x.process = id[p]
			if s.wild && rapid.IntRange(0, 9).Draw(t, "bare") == 0 {
				break
			}
			x.call = len(h.ops)
			h.ops = append(h.ops, x.op(history.Invoke))
		case i >= 0:
			x := &h.txns[i]
			busy[p] = 0
			ended++
			switch x.status {
			case committed:
				x.ret = len(h.ops)
				h.ops = append(h.ops, x.op(history.OK))
			case aborted:
				x.ret = len(h.ops)
				h.ops = append(h.ops, x.op(history.Fail))
			default:
				id[p] += processes
				if rapid.Bool().Draw(t, "info") {
					h.ops = append(h.ops, x.op(history.Info))
				}
			}
		}
	}
}

func (x *tinyTxn) op(typ history.Type) history.Op {
	var ops []history.Value
	for _, op := range x.ops {
		f, val := "w", history.Int(int64(op.val))
		if op.read {
			f = "r"
			if op.val == 0 || typ != history.OK {
				val = history.Value{}
			}
		}
		ops = append(ops, history.Vec(history.Keyword(f), history.Int(int64(op.key)), val))
	}
	return history.Op{Index: history.Absent, Time: history.Absent, Type: typ, Process: history.Client(int64(x.process)), F: "txn", Value: history.Vec(ops...)}
}

func seq(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// external returns what a transaction reads of a key before it writes it, and what
// it writes last; -1 for neither.
func (x *tinyTxn) external(key int) (read, wrote int) {
	read, wrote = -1, -1
	for _, op := range x.ops {
		if op.key != key {
			continue
		}
		if !op.read {
			wrote = op.val
		} else if read < 0 && wrote < 0 && x.status == committed {
			read = op.val
		}
	}
	return read, wrote
}

// part tells who took part.
func (h *tinyHistory) part() []bool {
	part := make([]bool, len(h.txns))
	for i, x := range h.txns {
		part[i] = part[i] || x.status == committed
		if x.status != committed {
			continue
		}
		for _, op := range x.ops {
			for j, w := range h.txns {
				if op.read && w.status == inDoubt && slices.Contains(w.ops, tinyOp{false, op.key, op.val}) {
					part[j] = true
				}
			}
		}
	}
	return part
}

// world is one order of all versions, and what it makes of the history.
type world struct {
	orders [tinyKeys][]int // values, without nil
	found  []string        // classes of cycles
	broken []string        // models that these rule out
}

// worlds returns every possible order of versions.
func (h *tinyHistory) worlds() []world {
	part := h.part()
	var perKey [tinyKeys][][]int
	for key := range tinyKeys {
		var wrote []int
		for i := range h.txns {
			if _, w := h.txns[i].external(key); part[i] && w > 0 {
				wrote = append(wrote, w)
			}
		}
		perKey[key] = permutations(wrote)
	}
	var all []world
	for _, a := range perKey[0] {
		for _, b := range perKey[1] {
			w := world{orders: [tinyKeys][]int{a, b}}
			w.found = h.cycles(part, w.orders)
			not, alsoNot := lattice.Broken(w.found)
			w.broken = append(not, alsoNot...)
			all = append(all, w)
		}
	}
	return all
}

func permutations(list []int) [][]int {
	if len(list) == 0 {
		return [][]int{nil}
	}
	var all [][]int
	for i := range list {
		rest := slices.Delete(slices.Clone(list), i, i+1)
		for _, p := range permutations(rest) {
			all = append(all, append([]int{list[i]}, p...))
		}
	}
	return all
}

// cycles names the cycles of the history when versions have that order.
func (h *tinyHistory) cycles(part []bool, orders [tinyKeys][]int) []string {
	b := graph.NewBuilder(len(h.txns))
	for key, order := range orders {
		order = append([]int{0}, order...)
		for i := range h.txns {
			for j := range h.txns {
				if i == j || !part[i] || !part[j] {
					continue
				}
				ri, wi := h.txns[i].external(key)
				rj, wj := h.txns[j].external(key)
				if wi > 0 && wi == rj {
					b.Add(uint32(i), uint32(j), graph.WR)
				}
				at := slices.Index(order, wj)
				if wj > 0 && at > 0 {
					if order[at-1] == wi {
						b.Add(uint32(i), uint32(j), graph.WW)
					}
					if order[at-1] == ri {
						b.Add(uint32(i), uint32(j), graph.RW)
					}
				}
			}
		}
	}
	call, ret := make([]int32, len(h.txns)), make([]int32, len(h.txns))
	process := make([]int32, len(h.txns))
	for i, x := range h.txns {
		call[i], ret[i], process[i] = -1, graph.Never, -1
		if part[i] {
			call[i] = int32(x.call)
		}
		if x.status == committed {
			ret[i], process[i] = int32(x.ret), int32(x.process)
		}
	}
	order := make([]uint32, len(h.txns))
	for i := range order {
		order[i] = uint32(i)
	}
	slices.SortFunc(order, func(a, b uint32) int { return int(ret[a] - ret[b]) })
	b.Processes(process, order)
	b.Times(call, ret)
	report := b.Graph().Search(context.Background(), graph.Options{})
	return slices.Collect(maps.Keys(report.Counts))
}

// asserted reports whether a world is one that the options allow.
func (h *tinyHistory) asserted(w world, o Options) bool {
	part := h.part()
	for key, order := range w.orders {
		rank := func(val int) int { return slices.Index(order, val) } // nil is -1
		known := func(val int) bool { return val == 0 || rank(val) >= 0 }
		for i := range h.txns {
			ri, wi := h.txns[i].external(key)
			within := o.WFRKeys || o.SequentialKeys || o.LinearizableKeys
			if part[i] && within && ri >= 0 && wi > 0 && known(ri) && rank(ri) > rank(wi) {
				return false
			}
			last := wi
			if last < 0 {
				last = ri
			}
			for j := range h.txns {
				x, y := h.txns[i], h.txns[j]
				rj, wj := y.external(key)
				first := rj
				if first < 0 {
					first = wj
				}
				if i == j || !part[i] || !part[j] || last < 0 || first < 0 || !known(last) || !known(first) || x.status != committed {
					continue
				}
				session := y.status == committed && x.process == y.process && x.ret < y.call
				if (o.LinearizableKeys && x.ret < y.call || o.SequentialKeys && session) && rank(last) > rank(first) {
					return false
				}
			}
		}
	}
	return true
}
