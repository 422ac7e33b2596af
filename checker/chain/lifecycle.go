package chain

import (
	"context"
	"fmt"
	"time"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history"
)

// Lifecycle returns the checker tx-lifecycle: a transaction that a node took, that
// is the next of its sender, and that nothing evicted, is included within a bound
// (that of liveness) after it was given and the last fault was undone. One that is not is a warning (tx-stuck), for
// pools promise nothing; so is nothing claimed of one whose node's process ended
// since, or of which an earlier one of the same sender is missing as well. Looked
// at are transactions whose fate clients never learnt, in histories whose lists of
// blocks go back to the first that a client was told. Left out where there are none
// of known sender and nonce. O(n) time; memory that of the Reader and 8 bytes for
// each.
func Lifecycle(o Options) checker.Checker {
	return checker.Streamed(func() checker.Stream { return NewReader().Lifecycle(o) })
}

// Lifecycle is Lifecycle for a pass.
func (r *Reader) Lifecycle(o Options) checker.Stream { return &lifecycle{r: r, o: o} }

type lifecycle struct {
	r     *Reader
	o     Options
	doubt list[inDoubt]
	walk  int64 // time of the last list of a block's transactions
	found findings
}

// inDoubt is a transaction whose fate its client never learnt.
type inDoubt struct {
	ack  int   // place in acks
	time int64 // of its invocation
}

func (*lifecycle) Name() string { return "tx-lifecycle" }

func (c *lifecycle) Take(e *history.Event) {
	it := c.r.take(e)
	switch {
	case !it.completes:
	case it.f.isTx() && it.typ == history.Info && it.tx != 0 && it.from != 0 && it.nonce >= 0:
		c.doubt.push(inDoubt{c.r.acks.n - 1, it.begun})
	case it.f == opBody && it.typ == history.OK:
		c.walk = it.time
	}
}

func (c *lifecycle) Finish(ctx context.Context, src history.Source) checker.Result {
	if ctx.Err() != nil {
		return checker.Ended(ctx, c.Name())
	}
	bound := c.r.recovery(&c.o)
	stats := []checker.Stat{{Name: "bound", Value: bound.String()}}
	e := c.r.end()
	lowest := int64(-1)        // height that a client was told
	used := make(map[id]int64) // sender → its highest nonce on the chain
	signed := 0
	for i := range c.r.acks.n {
		a := c.r.acks.at(i)
		if a.h != 0 && (lowest < 0 || a.n < lowest) {
			lowest = a.n
		}
		if a.from == 0 || a.nonce < 0 {
			continue
		}
		signed++
		if c.r.included(a) {
			c.found.facts++
			if last, known := used[a.from]; !known || a.nonce > last {
				used[a.from] = a.nonce
			}
		}
	}
	if c.found.facts == 0 || lowest < e.full || lowest < 0 {
		return checker.Result{Checker: c.Name(), LeftOut: true, Stats: stats,
			Reason: fmt.Sprintf("of %s with known sender and nonce none can be looked for in all blocks of the run", plural(signed, "transaction"))}
	}
	stuck, gone, trouble := 0, 0, int64(0)
	for _, f := range c.r.faults() {
		trouble = max(trouble, f.to)
	}
	for i := range c.doubt.n {
		d := c.doubt.at(i)
		a := c.r.acks.at(d.ack)
		last, known := used[a.from]
		if !known || a.nonce != last+1 || c.r.included(a) {
			continue // another took its place, or one before it is missing
		}
		if _, died := c.r.endedBetween(a.node, int(a.began), c.r.ops); died {
			gone++
			continue
		}
		waited := c.walk - max(d.time, trouble)
		if d.time < 0 || waited < int64(bound.total()) {
			continue
		}
		stuck++
		c.found.warnOf([]int{int(a.at)}, saying("transaction %s of %s with nonce %d, the next one, was given to %s (op %d) and is in no block up to %d, %v later",
			c.r.short(a.tx), c.r.short(a.from), a.nonce, c.r.nodeName(a.node), a.at, e.top, time.Duration(waited).Round(time.Second)))
	}
	stats = append(stats,
		checker.Stat{Name: "in doubt and never included", Value: fmt.Sprint(stuck)},
		checker.Stat{Name: "lost with the process of their node", Value: fmt.Sprint(gone)})
	return c.found.result(src, c.Name(), fmt.Sprintf("%s included, %d stuck", plural(c.found.facts, "transaction"), stuck), "nothing could be compared", stats)
}

// included reports whether some block or receipt has the transaction.
func (r *Reader) included(a *ack) bool {
	_, on := r.onChain(a.tx)
	return on || a.h != 0 || r.receiptOf.get(a.tx) != 0
}
