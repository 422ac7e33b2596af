package chain

import (
	"context"
	"fmt"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history"
)

// CallAt returns the checker call-at: a call at a block's hash gives one answer,
// from every node, now and later (EIP-1898). That it is also the right one is for
// replay to say. An answer that a node refuses, because it has pruned that state
// or does not know the block, is a :fail and compared with nothing. It holds on
// every network. O(n) time; some 50 bytes for each different block and key.
func CallAt() checker.Checker {
	return checker.Streamed(func() checker.Stream { return NewReader().CallAt() })
}

// CallAt is CallAt for a pass.
func (r *Reader) CallAt() checker.Stream { return &callAt{r: r, calls: make(map[[2]id]called)} }

type callAt struct {
	r     *Reader
	calls map[[2]id]called
	count int
	found findings
}

type called struct {
	value    id
	at, node int32
}

func (*callAt) Name() string { return "call-at" }

func (c *callAt) Take(e *history.Event) {
	it := c.r.take(e)
	if it.f != opCallAt || it.typ != history.OK || !it.completes || it.value.Len() != 3 || !it.value.IsSequence() {
		return
	}
	h := it.value.First()
	k := h.Next()
	pair := [2]id{c.r.of(h.Bytes()), c.r.value(k)}
	value := c.r.value(k.Next())
	if pair[0] == 0 {
		return
	}
	c.count++
	was, known := c.calls[pair]
	if !known {
		c.calls[pair] = called{value, int32(it.at), it.node}
		return
	}
	c.found.facts++
	if was.value == value {
		return
	}
	when := "other nodes"
	if was.node == it.node {
		when = "the same node earlier"
	}
	c.found.report("call-at-changed", []int{int(was.at), it.at}, saying(
		"at block %s key %s is %s on %s (op %d), and was %s on %s (op %d): one block has one state, and %s told another.",
		c.r.short(pair[0]), c.r.edn(pair[1]), c.r.edn(value), c.r.nodeName(it.node), it.at, c.r.edn(was.value), c.r.nodeName(was.node), was.at, when))
}

func (c *callAt) Finish(ctx context.Context, src history.Source) checker.Result {
	if ctx.Err() != nil {
		return checker.Ended(ctx, c.Name())
	}
	return c.found.result(src, c.Name(),
		fmt.Sprintf("%s at %s and key agree", plural(c.count, "call"), plural(len(c.calls), "block")),
		"no block was called twice with one key, so nothing could be compared",
		[]checker.Stat{{Name: "calls", Value: fmt.Sprint(c.count)}, {Name: "blocks and keys", Value: fmt.Sprint(len(c.calls))}})
}
