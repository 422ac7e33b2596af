package chain

import (
	"context"
	"fmt"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history"
)

// ExactlyOnce returns the checker exactly-once: no effect takes place twice.
//
//   - No transaction is twice in one block or in two blocks of the chain at the
//     end (transaction-twice).
//   - No event of an :emit and no element of an :add is on that chain from two
//     transactions, for each is sent once (effect-twice).
//   - Where every block is final, a :count of the phase of final reads lies between
//     the sum of all :inc that were acknowledged and that with those in doubt
//     (counter-bounds). A node that is behind then made converge Unknown.
//
// It is left out where no client sent a transaction and the chain has none. A
// transaction on two branches is one that a reorganisation moved. O(n +
// transactions) time; memory that of the Reader.
func ExactlyOnce(o Options) checker.Checker {
	return checker.Streamed(func() checker.Stream { return NewReader().ExactlyOnce(o) })
}

// ExactlyOnce is ExactlyOnce for a pass.
func (r *Reader) ExactlyOnce(o Options) checker.Stream {
	return &exactlyOnce{r: r, final: tagOf([]byte(o.FinalTag)) == latestTag, walked: make(map[id]bool)}
}

type exactlyOnce struct {
	r      *Reader
	final  bool
	walked map[id]bool // blocks
	order  []effect
	sure   int64 // of :inc
	doubt  int64
	last   int // the last completion of an :inc
	counts []counted
	sent   bool // some transaction
	lists  int  // blocks on the chain of which the transactions are known
	found  findings
}

// effect is what a transaction of a :txs did that happens once.
type effect struct {
	f         op
	value, tx id
	h         id
	at        int32
}

type counted struct {
	value    int64
	at, node int32
}

func (*exactlyOnce) Name() string { return "exactly-once" }

func (c *exactlyOnce) Take(e *history.Event) {
	it := c.r.take(e)
	c.sent = c.sent || it.f.isTx()
	switch {
	case !it.client:
	case it.f == opInc && it.completes:
		n, _ := it.value.Int()
		switch it.typ {
		case history.OK:
			c.sure += n
		case history.Info:
			c.doubt += n
		}
		c.last = it.at
	case it.typ != history.OK || !it.completes:
	case it.f == opTxs && it.isBlock:
		c.walk(it)
	case it.f == opCount && c.r.phase == finalPhase && it.tag != pendingTag:
		if n, ok := it.value.Int(); ok {
			c.counts = append(c.counts, counted{n, int32(it.at), it.node})
		}
	}
}

// walk notes what the transactions of a block did.
func (c *exactlyOnce) walk(it *item) {
	list, ok := it.value.Field("ops")
	if !ok || !list.IsSequence() || c.walked[it.block.h] {
		return
	}
	c.walked[it.block.h] = true
	for entry := range list.Elems() {
		if !entry.IsSequence() || entry.Len() != 4 {
			continue
		}
		hash := entry.First()
		name := hash.Next()
		value := name.Next()
		f := opOf(string(name.Bytes()))
		if f != opEmit && f != opAdd || !value.Next().Is("ok") {
			continue
		}
		c.order = append(c.order, effect{f, c.r.value(value), c.r.of(hash.Bytes()), it.block.h, int32(it.at)})
	}
}

func (c *exactlyOnce) Finish(ctx context.Context, src history.Source) checker.Result {
	if ctx.Err() != nil {
		return checker.Ended(ctx, c.Name())
	}
	c.transactions()
	c.unique()
	c.counters()
	if c.found.facts == 0 && !c.sent && c.lists > 0 {
		return checker.Result{Checker: c.Name(), LeftOut: true,
			Reason: fmt.Sprintf("none of %s on the chain has a transaction, and no client sent one", plural(c.lists, "block"))}
	}
	return c.found.result(src, c.Name(),
		fmt.Sprintf("%s of transactions and counters are there once", plural(c.found.facts, "effect")),
		"no block's list of transactions and no final count is in the history, so nothing could be compared",
		[]checker.Stat{{Name: "effects compared", Value: fmt.Sprint(c.found.facts)}})
}

func (c *exactlyOnce) transactions() {
	e := c.r.end()
	first := make(byID, c.r.texts.n) // transaction → place in places plus 1
	var places list[place32]
	for n := e.first; n <= e.top; n++ {
		b := e.block(n)
		if c.r.bodyAt(b) == nil {
			continue
		}
		at := c.r.bodyOf[b] - 1
		body := &c.r.bodies[at]
		c.lists++
		for i, tx := range body.txs {
			before := first.get(tx)
			if before == 0 {
				places.push(place32{body: at, i: int32(i)})
				first.set(tx, int32(places.n))
				c.found.facts++
				continue
			}
			was := places.at(int(before - 1))
			told := &c.r.bodies[was.body]
			c.found.reportTxs("transaction-twice", []string{c.r.say(tx)}, []int{int(told.op), int(body.op)}, saying(
				"transaction %s is in block %d %s at position %d (%s, op %d) and again in block %d %s at position %d (%s, op %d) of one chain.",
				c.r.short(tx), c.r.blocks[told.block].n, c.r.short(c.r.blocks[told.block].h), was.i, c.r.nodeName(told.node), told.op,
				n, c.r.short(c.r.blocks[b].h), i, c.r.nodeName(body.node), body.op))
		}
	}
}

func (c *exactlyOnce) unique() {
	type what struct {
		f     op
		value id
	}
	first := make(map[what]*effect)
	for i := range c.order {
		now := &c.order[i]
		if !c.r.isCanon(now.h) {
			continue
		}
		k := what{now.f, now.value}
		was := first[k]
		if was == nil {
			first[k] = now
			c.found.facts++
			continue
		}
		c.found.reportTxs("effect-twice", []string{c.r.say(was.tx), c.r.say(now.tx)}, []int{int(was.at), int(now.at)}, saying(
			"%s %s took effect twice: by transaction %s in block %s (op %d) and by %s in block %s (op %d).",
			now.f, c.r.edn(now.value), c.r.short(was.tx), c.r.short(was.h), was.at, c.r.short(now.tx), c.r.short(now.h), now.at))
	}
}

func (c *exactlyOnce) counters() {
	if !c.final {
		return
	}
	for _, n := range c.counts {
		if int(n.at) < c.last {
			continue // an :inc may have come later
		}
		c.found.facts++
		if n.value >= c.sure && n.value <= c.sure+c.doubt {
			continue
		}
		what := "some took effect twice"
		if n.value < c.sure {
			what = "some were lost"
		}
		c.found.report("counter-bounds", []int{c.last, int(n.at)}, saying(
			"%s counts %d in the end (op %d), but the :inc that were acknowledged sum up to %d, and with those in doubt to %d (the last is op %d): %s.",
			c.r.nodeName(n.node), n.value, n.at, c.sure, c.sure+c.doubt, c.last, what))
	}
}
