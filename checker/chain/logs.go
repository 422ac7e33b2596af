package chain

import (
	"context"
	"fmt"
	"slices"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history"
)

// Logs returns the checker logs-receipts: eth_getLogs and receipts tell the same
// events. What a block holds of the log contract is known from the clients whose
// :emit was included there, and from every receipt's logs of the same address.
//
//   - A log that is returned is at its place: the same transaction, the same
//     event, and the block's list has the transaction (log-wrong). A query returns
//     none twice (log-repeated).
//   - A query by block hash returns all of them (log-missing), on every network.
//   - A query by heights returns all of the settled blocks of the chain that the
//     node had when it was asked: it had shown a head more than Options.Depth
//     above them before, and was not restarted since.
//
// A query that a node refuses is a :fail and says nothing. O(n + logs) time, 28
// bytes for each log that is returned.
func Logs(o Options) checker.Checker {
	return checker.Streamed(func() checker.Stream { return NewReader().Logs(o) })
}

// Logs is Logs for a pass.
func (r *Reader) Logs(o Options) checker.Stream { return &logs{r: r, o: o} }

type logs struct {
	r       *Reader
	o       Options
	queries []query
	rows    []foundLog
	tops    []top // node → its highest head
	wrong   int
	matched int
	whole   int
	found   findings
}

// query is one eth_getLogs.
type query struct {
	h          id // by hash, or
	from, to   int64
	seen       top // the node's highest head when it was asked
	at, node   int32
	began      int32
	first, end int32 // in rows
}

type top struct {
	n  int64
	op int32
}

type foundLog struct {
	n        int64
	h, tx, e id
	i        int32
}

// event is a log of the contract as its block has it.
type event struct {
	tx, e id // e is 0 where a receipt alone tells
	i, at int32
}

func (*logs) Name() string { return "logs-receipts" }

func (c *logs) Take(e *history.Event) {
	it := c.r.take(e)
	if it.node < 0 || !it.client {
		return
	}
	for int(it.node) >= len(c.tops) {
		c.tops = append(c.tops, top{-1, -1})
	}
	if it.typ != history.OK || !it.completes {
		return
	}
	switch it.f {
	case opHead:
		if b := &it.head[2]; b.h != 0 {
			c.tops[it.node] = top{b.n, int32(it.at)} // the last one: it may have fallen
		}
	case opLogs:
		c.takeQuery(it)
	}
}

func (c *logs) takeQuery(it *item) {
	rows, ok := it.value.Field("logs")
	if !ok || !rows.IsSequence() {
		return
	}
	q := query{at: int32(it.at), node: it.node, began: int32(it.began), from: -1, to: -1, first: int32(len(c.rows)), seen: c.tops[it.node]}
	if at, ok := it.value.Field("at"); ok && !at.IsNil() {
		q.h = c.r.of(at.Bytes())
	} else {
		from, _ := it.value.Field("from")
		to, _ := it.value.Field("to")
		var ok1, ok2 bool
		q.from, ok1 = from.Int()
		if q.to, ok2 = to.Int(); !ok1 || !ok2 {
			return
		}
	}
	if q.seen.op >= q.began {
		q.seen = top{-1, -1} // shown while it was asked
	}
	for row := range rows.Elems() {
		if !row.IsSequence() || row.Len() != 5 {
			continue
		}
		n := row.First()
		h := n.Next()
		i := h.Next()
		tx := i.Next()
		l := foundLog{h: c.r.of(h.Bytes()), tx: c.r.of(tx.Bytes()), e: c.r.value(tx.Next())}
		l.n, _ = n.Int()
		number, _ := i.Int()
		l.i = int32(number)
		c.rows = append(c.rows, l)
	}
	q.end = int32(len(c.rows))
	c.queries = append(c.queries, q)
}

// truth gathers what blocks hold of the contract.
func (c *logs) truth() map[id][]event {
	truth := make(map[id][]event)
	emitted := make(map[id]*ack)
	for i := range c.r.acks.n {
		if a := c.r.acks.at(i); a.f == opEmit && a.typ == history.OK && a.h != 0 && a.log >= 0 {
			emitted[a.tx] = a
			truth[a.h] = append(truth[a.h], event{a.tx, a.element, a.log, a.at})
		}
	}
	addresses := make(map[id]bool)
	for i := range c.r.receipts.n {
		rc := c.r.receipts.at(i)
		a := emitted[rc.tx]
		for at := rc.logs[0]; at < rc.logs[1]; at++ {
			row := c.r.logRows.at(int(at))
			if a != nil && a.h == rc.h && a.log == row.i {
				addresses[row.address] = true
			}
		}
	}
	for i := range c.r.receipts.n {
		rc := c.r.receipts.at(i)
		if a := emitted[rc.tx]; a != nil && a.h == rc.h {
			continue
		}
		for at := rc.logs[0]; at < rc.logs[1]; at++ {
			row := c.r.logRows.at(int(at))
			if addresses[row.address] {
				truth[rc.h] = append(truth[rc.h], event{rc.tx, 0, row.i, rc.at})
			}
		}
	}
	return truth
}

func (c *logs) Finish(ctx context.Context, src history.Source) checker.Result {
	if ctx.Err() != nil {
		return checker.Ended(ctx, c.Name())
	}
	truth := c.truth()
	for i := range c.queries {
		if i%checker.CheckEvery == 0 && ctx.Err() != nil {
			return checker.Ended(ctx, c.Name())
		}
		c.judge(&c.queries[i], truth)
	}
	c.found.facts = c.matched + c.whole
	return c.found.result(src, c.Name(),
		fmt.Sprintf("%d queries returned what receipts tell: %s, %s", len(c.queries), plural(c.matched, "log"), plural(c.whole, "whole block")),
		"no query and receipt tell of one block, so nothing could be compared",
		[]checker.Stat{
			{Name: "queries", Value: fmt.Sprint(len(c.queries))},
			{Name: "logs compared", Value: fmt.Sprint(c.matched)},
			{Name: "blocks of which every log was looked for", Value: fmt.Sprint(c.whole)},
		})
}

func (c *logs) judge(q *query, truth map[id][]event) {
	rows := c.rows[q.first:q.end]
	seen := make(map[[2]id]bool, len(rows))
	for i := range rows {
		l := &rows[i]
		if pair := [2]id{l.h, l.i}; seen[pair] {
			c.found.report("log-repeated", []int{int(q.at)}, saying("%s returned log %d of block %d %s twice in one query (op %d).",
				c.r.nodeName(q.node), l.i, l.n, c.r.short(l.h), q.at))
		} else {
			seen[pair] = true
		}
		c.row(q, l, truth[l.h])
	}
	if q.h != 0 {
		c.complete(q, q.h, seen, truth[q.h])
		return
	}
	top := min(q.to, c.o.settled(q.seen.n)+1)
	if _, died := c.r.endedBetween(q.node, int(q.seen.op), int(q.at)); died || q.seen.n < 0 {
		return
	}
	settled := c.o.settled(c.r.end().tipN) + 1
	for n := max(q.from, c.r.end().first); n <= top && n <= settled; n++ {
		if b := c.r.end().block(n); b >= 0 {
			c.complete(q, c.r.blocks[b].h, seen, truth[c.r.blocks[b].h])
		}
	}
}

// row holds one log against its block.
func (c *logs) row(q *query, l *foundLog, block []event) {
	wrong, at := "", -1
	if k := slices.IndexFunc(block, func(e event) bool { return e.i == l.i }); k >= 0 {
		c.matched++
		if e := &block[k]; e.tx != l.tx || e.e != 0 && e.e != l.e {
			at = int(e.at)
			wrong = fmt.Sprintf("it is event %s of transaction %s (op %d)", c.r.edn(e.e), c.r.short(e.tx), at)
		}
	} else if k := slices.IndexFunc(block, func(e event) bool { return e.tx == l.tx && e.e != 0 && e.e == l.e }); k >= 0 {
		at = int(block[k].at)
		wrong = fmt.Sprintf("that event has number %d there (op %d)", block[k].i, at)
	} else if b := c.r.bodyAt(c.r.find(l.h)); b != nil {
		c.matched++
		if _, ok := c.r.inBody(l.tx, b); !ok {
			at = int(b.op)
			wrong = fmt.Sprintf("that block has no such transaction (op %d)", at)
		}
	}
	if wrong == "" {
		return
	}
	c.found.reportTxs("log-wrong", []string{c.r.say(l.tx)}, []int{int(q.at), at}, saying(
		"%s returned as log %d of block %d %s event %s of transaction %s (op %d), but %s.",
		c.r.nodeName(q.node), l.i, l.n, c.r.short(l.h), c.r.edn(l.e), c.r.short(l.tx), q.at, wrong))
}

// complete looks for every log of a block in what a query returned.
func (c *logs) complete(q *query, h id, seen map[[2]id]bool, block []event) {
	if len(block) == 0 {
		return
	}
	c.whole++
	for i := range block {
		e := &block[i]
		if seen[[2]id{h, e.i}] {
			continue
		}
		n := int64(-1)
		if b := c.r.find(h); b >= 0 {
			n = c.r.blocks[b].n
		}
		c.found.reportTxs("log-missing", []string{c.r.say(e.tx)}, []int{int(q.at), int(e.at)}, saying(
			"%s left log %d of block %d %s out (op %d): transaction %s emitted it there (op %d).",
			c.r.nodeName(q.node), e.i, n, c.r.short(h), q.at, c.r.short(e.tx), e.at))
		return // one for a block is enough
	}
}
