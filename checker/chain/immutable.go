package chain

import (
	"context"
	"fmt"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history"
)

// Immutable returns the checker immutable-by-hash: what belongs to a block's hash
// never changes and is the same on every node: the receipt of a transaction in
// that block, with its logs (receipt-changed); the list of the block's
// transactions (body-changed); the logs of a contract asked for by that hash
// (logs-changed). It holds on every network. A receipt that names another block
// than before is a reorganisation, and one that is not there says nothing here.
//
// Contents are compared by a mark of 64 bits. O(n) time; some 60 bytes for each
// different transaction and block.
func Immutable() checker.Checker {
	return checker.Streamed(func() checker.Stream { return NewReader().Immutable() })
}

// Immutable is Immutable for a pass.
func (r *Reader) Immutable() checker.Stream { return &immutable{r: r, logs: make(map[id]stateValue)} }

type immutable struct {
	r                      *Reader
	logs                   map[id]stateValue
	receipts, bodies, logN int
	found                  findings
}

func (*immutable) Name() string { return "immutable-by-hash" }

func (c *immutable) Take(e *history.Event) {
	it := c.r.take(e)
	switch {
	case !it.completes || it.typ != history.OK:
	case it.receipt.again:
		c.receipts++
		if it.receipt.differs {
			c.changed(it, "receipt-changed", int(it.receipt.before), "receipt of transaction "+c.r.short(it.arg)+" in it", []id{it.arg})
		}
	case it.body.again:
		c.bodies++
		if it.body.differs {
			c.changed(it, "body-changed", int(it.body.before), "list of its transactions", nil)
		}
	case it.f == opLogs:
		c.takeLogs(it)
	}
}

func (c *immutable) takeLogs(it *item) {
	at, ok := it.value.Field("at")
	if !ok || at.IsNil() {
		return
	}
	h := c.r.of(at.Bytes())
	rows, ok := it.value.Field("logs")
	if !ok || h == 0 || !rows.IsSequence() {
		return
	}
	mark := uint64(rows.Len())
	for row := range rows.Elems() {
		mark = listMark(mark, c.r.value(row))
	}
	was, known := c.logs[h]
	if !known {
		c.logs[h] = stateValue{mark, int32(it.at), it.node}
		return
	}
	c.logN++
	if was.mark != mark {
		it.block = told{h: h}
		c.changed(it, "logs-changed", int(was.at), "list of the contract's logs in it", nil)
	}
}

func (c *immutable) changed(it *item, name string, before int, what string, txs []id) {
	var hashes []string
	for _, tx := range txs {
		hashes = append(hashes, c.r.say(tx))
	}
	hash, node, at := c.r.short(it.block.h), c.r.nodeName(it.node), it.at
	c.found.reportTxs(name, hashes, []int{before, at}, func(look ops) string {
		return fmt.Sprintf("block %s: the %s is one on %s (op %d) and another on %s (op %d), though its hash covers it.",
			hash, what, look(before).Node, before, node, at)
	})
}

func (c *immutable) Finish(ctx context.Context, src history.Source) checker.Result {
	if ctx.Err() != nil {
		return checker.Ended(ctx, c.Name())
	}
	c.found.facts = c.receipts + c.bodies + c.logN
	return c.found.result(src, c.Name(),
		fmt.Sprintf("%s, %s and %s were told again, unchanged", plural(c.receipts, "receipt"), plural(c.bodies, "transaction list"), plural(c.logN, "log list")),
		"no receipt, body or list of logs was told twice, so nothing could be compared",
		[]checker.Stat{
			{Name: "receipts compared", Value: fmt.Sprint(c.receipts)},
			{Name: "bodies compared", Value: fmt.Sprint(c.bodies)},
			{Name: "lists of logs compared", Value: fmt.Sprint(c.logN)},
		})
}
