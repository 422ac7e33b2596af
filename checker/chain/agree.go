package chain

import (
	"context"
	"fmt"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history"
)

// StateAgree returns the checker state-agree: one block hash stands for one state,
// on every network, at every tag, at all times. It compares what any node says at
// any time of
//
//   - the state root and the root of the receipts of a block (root-mismatch);
//   - a local read (:peek, :count, :elements, :balances, :account) that names the
//     block that it was answered from, by block, kind and key (state-mismatch);
//   - two blocks on one parent with one miner, timestamp and list of transactions:
//     their state roots must be equal, for nothing else goes into executing them
//     (execution-disagrees).
//
// A node that is behind, or was restarted, answers from another block, so it is
// never accused. O(n) time; some 60 bytes for each different block, kind and key.
func StateAgree() checker.Checker {
	return checker.Streamed(func() checker.Stream { return NewReader().StateAgree() })
}

// StateAgree is StateAgree for a pass.
func (r *Reader) StateAgree() checker.Stream {
	return &stateAgree{r: r, reads: make(map[stateKey]stateValue)}
}

type stateAgree struct {
	r        *Reader
	reads    map[stateKey]stateValue
	roots    int
	compared int
	siblings int
	found    findings
}

type stateKey struct {
	h, key id
	f      op
}

// stateValue is the first answer: a number that equal values share, and all but
// one in 2^64 of the others do not.
type stateValue struct {
	mark     uint64
	at, node int32
}

func (*stateAgree) Name() string { return "state-agree" }

func (c *stateAgree) Take(e *history.Event) {
	it := c.r.take(e)
	if !it.completes {
		return
	}
	for i := range it.sightings {
		c.root(&it.sightings[i])
	}
	if it.typ != history.OK || !it.placed || !it.f.isLocalRead() || it.tag == pendingTag {
		return
	}
	key, mark, ok := c.r.readState(it)
	if !ok {
		return
	}
	k := stateKey{it.place.h, key, it.f}
	was, known := c.reads[k]
	if !known {
		c.reads[k] = stateValue{mark, int32(it.at), it.node}
		return
	}
	c.compared++
	if was.mark == mark {
		return
	}
	first, second, place := int(was.at), it.at, it.place
	hash, a, b := c.r.short(place.h), c.r.nodeName(was.node), c.r.nodeName(it.node)
	c.found.report("state-mismatch", []int{first, second}, func(look ops) string {
		return fmt.Sprintf("block %d %s has two states: %s answered %s from it with %s (op %d), %s with %s (op %d).",
			place.n, hash, a, look(first).F, look(first).Value, first, b, look(second).Value, second)
	})
}

// readState returns which state a local read asked for, and what it was.
func (r *Reader) readState(it *item) (key id, mark uint64, ok bool) {
	switch it.f {
	case opPeek, opElements:
		k, v, ok := it.value.Pair()
		if !ok {
			return 0, 0, false
		}
		key = r.value(k)
		if it.f == opPeek {
			return key, uint64(r.value(v)), true
		}
		mark = uint64(v.Len())
		if v.IsSequence() {
			for e := range v.Elems() {
				mark = listMark(mark, r.value(e))
			}
		}
		return key, mark, true
	case opCount:
		n, ok := it.value.Int()
		return 0, uint64(n), ok
	case opBalances, opAccount:
		n := it.value.Len() / 2
		if it.value.Kind() != history.Map || n == 0 {
			return 0, 0, false
		}
		for k := it.value.First(); n > 0; n-- {
			v := k.Next()
			mark += listMark(listMark(1, r.value(k)), r.value(v)) // in any order
			if n > 1 {
				k = v.Next()
			}
		}
		return it.arg, mark, it.f == opBalances || it.arg != 0
	}
	return 0, 0, false
}

func (c *stateAgree) root(s *sighting) {
	if s.compared && (s.root != 0 || s.receipts != 0) {
		c.roots++
	}
	if s.clash != nil && s.clash.field == rootField {
		before, hash, node, op, at, now := s.clash.before, c.r.short(s.h), c.r.nodeName(s.node), int(s.clash.op), s.op, c.r.short(s.root)
		c.found.report("root-mismatch", []int{op, at}, func(look ops) string {
			return fmt.Sprintf("block %d %s has two state roots: %s says %s (op %d), %s says %s (op %d).",
				before.n, hash, look(op).Node, c.r.short(before.root), op, node, now, at)
		})
	}
	if s.receiptsClash {
		hash, node, op, at, now, n := c.r.short(s.h), c.r.nodeName(s.node), s.receiptsBefore, s.op, c.r.short(s.receipts), s.n
		c.found.report("root-mismatch", []int{op, at}, func(look ops) string {
			return fmt.Sprintf("block %d %s has two roots of receipts: %s said another one (op %d) than %s does, %s (op %d).",
				n, hash, look(op).Node, op, node, now, at)
		})
	}
}

func (c *stateAgree) Finish(ctx context.Context, src history.Source) checker.Result {
	if ctx.Err() != nil {
		return checker.Ended(ctx, c.Name())
	}
	c.executions()
	c.found.facts = c.roots + c.compared + c.siblings
	return c.found.result(src, c.Name(),
		fmt.Sprintf("%s and %s of one block agree", plural(c.roots, "root"), plural(c.compared, "local read")),
		"no block's root or state was told twice, so nothing could be compared",
		[]checker.Stat{
			{Name: "roots compared", Value: fmt.Sprint(c.roots)},
			{Name: "local reads compared", Value: fmt.Sprint(c.compared)},
			{Name: "blocks with the same transactions on one parent", Value: fmt.Sprint(c.siblings)},
		})
}

// executions compares blocks that differ in nothing that goes into their state.
func (c *stateAgree) executions() {
	type input struct {
		parent, miner id
		ts            int64
		txs           uint64
	}
	first := make(map[input]int32)
	for i := range c.r.bodies {
		body := &c.r.bodies[i]
		b := &c.r.blocks[body.block]
		if b.parent == 0 || b.miner == 0 || b.root == 0 || b.ts == 0 {
			continue
		}
		in := input{b.parent, b.miner, b.ts, uint64(len(body.txs))}
		for _, tx := range body.txs {
			in.txs = listMark(in.txs, tx)
		}
		at, known := first[in]
		if !known {
			first[in] = body.block
			continue
		}
		c.siblings++
		if a := &c.r.blocks[at]; a.root != b.root {
			c.found.report("execution-disagrees", []int{int(a.rootOp), int(b.rootOp)}, func(look ops) string {
				return fmt.Sprintf("blocks %s and %s at height %d have one parent, miner, timestamp and list of transactions, but two states: %s (%s, op %d) and %s (%s, op %d).",
					c.r.short(a.h), c.r.short(b.h), b.n, c.r.short(a.root), look(int(a.rootOp)).Node, a.rootOp, c.r.short(b.root), look(int(b.rootOp)).Node, b.rootOp)
			})
		}
	}
}
