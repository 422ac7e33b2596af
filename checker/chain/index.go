package chain

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history"
)

// Index returns the checker index: the coordinates of a transaction agree.
//
//   - The receipt of a transaction, and the answer to who sent it, name a block
//     whose list has it, and the receipt its place there (index-mismatch). A hash
//     covers that list, so this holds on every network and at all times.
//   - Receipts of one block number its logs one after the other (log-index).
//   - In the phase of final reads: a node that lists a transaction in a settled
//     block has its receipt (receipt-missing), and the receipt names that block,
//     not one that the chain left behind (receipt-orphaned). Settled is what lies
//     deeper below the head than Options.Depth. Only a node's last word counts, so
//     one whose index catches up meanwhile is not accused.
//
// A receipt that is null before that is the client's business, not the checker's.
// O(n + transactions log receipts of a block) time; memory that of the Reader.
func Index(o Options) checker.Checker {
	return checker.Streamed(func() checker.Stream { return NewReader().Index(o) })
}

// Index is Index for a pass.
func (r *Reader) Index(o Options) checker.Stream {
	return &index{r: r, o: o, bodies: make(map[[2]int32]int32)}
}

type index struct {
	r       *Reader
	o       Options
	words   list[word]         // last receipts of the final phase
	wordsOf byID               // transaction → the first of words about it plus 1
	bodies  map[[2]int32]int32 // node and block → where it listed it in the final phase
	places  int
	logs    int
	finals  int
	found   findings
}

// word is what a receipt said: h is 0 for none.
type word struct {
	n        int64
	tx, h    id
	node, at int32
	next     int32 // the next of the same transaction plus 1
}

func (*index) Name() string { return "index" }

func (c *index) Take(e *history.Event) {
	it := c.r.take(e)
	if !it.completes || it.typ != history.OK || c.r.phase < finalPhase {
		return
	}
	switch {
	case it.f == opReceipt && it.arg != 0 && (it.isBlock || it.value.IsNil()):
		c.note(word{n: it.block.n, tx: it.arg, h: it.block.h, node: it.node, at: int32(it.at)})
	case it.f == opBody && it.isBlock:
		c.bodies[[2]int32{it.node, c.r.find(it.block.h)}] = int32(it.at)
	}
}

// note keeps a node's last word on a transaction.
func (c *index) note(w word) {
	first := c.wordsOf.get(w.tx)
	for p := first; p > 0; {
		was := c.words.at(int(p - 1))
		if p = was.next; was.node == w.node {
			w.next = was.next
			*was = w
			return
		}
	}
	w.next = first
	c.words.push(w)
	c.wordsOf.set(w.tx, int32(c.words.n))
}

func (c *index) Finish(ctx context.Context, src history.Source) checker.Result {
	if ctx.Err() != nil {
		return checker.Ended(ctx, c.Name())
	}
	for i := range c.r.receipts.n {
		rc := c.r.receipts.at(i)
		c.place(rc.tx, rc.h, rc.i, rc.at, rc.node, "the receipt")
	}
	for i := range c.r.acks.n {
		if a := c.r.acks.at(i); a.h != 0 {
			c.place(a.tx, a.h, -1, a.at, a.node, "the answer to its sender")
		}
	}
	c.logNumbers()
	c.final()
	c.found.facts = c.places + c.logs + c.finals
	return c.found.result(src, c.Name(),
		fmt.Sprintf("%s, %s in one block and %s agree", plural(c.places, "place"), plural(c.logs, "neighbour"), plural(c.finals, "final receipt")),
		"no block's list of transactions and receipt of one of them are both in the history, so nothing could be compared",
		[]checker.Stat{
			{Name: "transactions looked up in their block", Value: fmt.Sprint(c.places)},
			{Name: "neighbouring receipts compared", Value: fmt.Sprint(c.logs)},
			{Name: "final receipts compared", Value: fmt.Sprint(c.finals)},
		})
}

// place holds a transaction's coordinates against the list of its block.
func (c *index) place(tx, h id, i, at, node int32, who string) {
	b := c.r.bodyAt(c.r.find(h))
	if b == nil {
		return
	}
	c.places++
	is, ok := c.r.inBody(tx, b)
	if ok && (i < 0 || i == is) {
		return
	}
	says := "does not list it"
	if ok {
		says = fmt.Sprintf("has it at position %d, not %d", is, i)
	}
	c.found.reportTxs("index-mismatch", []string{c.r.say(tx)}, []int{int(at), int(b.op)}, saying(
		"%s of %s about transaction %s names block %d %s (op %d), but the list of that block %s (%s, op %d).",
		who, c.r.nodeName(node), c.r.short(tx), c.r.blocks[b.block].n, c.r.short(h), at, says, c.r.nodeName(b.node), b.op))
}

// logNumbers compares receipts that follow one another in a block.
func (c *index) logNumbers() {
	order := make([]int32, 0, c.r.receipts.n)
	for i := range c.r.receipts.n {
		order = append(order, int32(i))
	}
	slices.SortFunc(order, func(a, b int32) int {
		x, y := c.r.receipts.at(int(a)), c.r.receipts.at(int(b))
		return cmp.Or(cmp.Compare(x.h, y.h), cmp.Compare(x.i, y.i), cmp.Compare(a, b))
	})
	for n := 1; n < len(order); n++ {
		a, b := c.r.receipts.at(int(order[n-1])), c.r.receipts.at(int(order[n]))
		if a.h != b.h || a.tx == b.tx || a.logs[0] == a.logs[1] || b.logs[0] == b.logs[1] {
			continue
		}
		last, first := c.r.logRows.at(int(a.logs[1]-1)).i, c.r.logRows.at(int(b.logs[0])).i
		c.logs++
		switch {
		case a.i == b.i:
			c.found.reportTxs("index-mismatch", []string{c.r.say(a.tx), c.r.say(b.tx)}, []int{int(a.at), int(b.at)}, saying(
				"receipts of transactions %s (%s, op %d) and %s (%s, op %d) name one place, %d in block %d %s.",
				c.r.short(a.tx), c.r.nodeName(a.node), a.at, c.r.short(b.tx), c.r.nodeName(b.node), b.at, a.i, a.n, c.r.short(a.h)))
		case first <= last || b.i == a.i+1 && first != last+1:
			c.found.report("log-index", []int{int(a.at), int(b.at)}, saying(
				"in block %d %s the logs of transaction %s at %d end with number %d (%s, op %d), and those of %s at %d begin with %d (%s, op %d).",
				a.n, c.r.short(a.h), c.r.short(a.tx), a.i, last, c.r.nodeName(a.node), a.at, c.r.short(b.tx), b.i, first, c.r.nodeName(b.node), b.at))
		}
	}
}

// final compares each node's last receipts with its own last lists.
func (c *index) final() {
	settled := c.o.settled(c.r.end().tipN)
	for i := range c.words.n {
		w := c.words.at(i)
		node, tx := w.node, w.tx
		at, ok := c.r.onChain(tx)
		if !ok {
			continue
		}
		b := &c.r.bodies[at.body]
		block := &c.r.blocks[b.block]
		op, listed := c.bodies[[2]int32{node, b.block}]
		if !listed || block.n > settled {
			continue
		}
		c.finals++
		if w.h == block.h {
			continue
		}
		name, says := "receipt-orphaned", fmt.Sprintf("names block %d %s", w.n, c.r.short(w.h))
		if w.h == 0 {
			name, says = "receipt-missing", "is not there"
		}
		c.found.reportTxs(name, []string{c.r.say(tx)}, []int{int(w.at), int(op)}, saying(
			"on %s the receipt of transaction %s %s (op %d), though the node lists the transaction in block %d %s (op %d), %d blocks below the head.",
			c.r.nodeName(node), c.r.short(tx), says, w.at, block.n, c.r.short(block.h), op, c.r.end().tipN-block.n))
	}
}
