package chain

import (
	"context"
	"fmt"
	"slices"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history"
)

// Replay returns the checker replay. The chain is the order of its own
// transactions, so no search is needed: from the :txs ops it executes every
// transaction to the run's contracts again (register, counter, set, list-append,
// bank, and the values of :put), block by block along the parents, and holds
// against the result
//
//   - what the chain itself reported of each: whether a cas succeeded, what a
//     strong read or a :txn returned, whether a :move was refused
//     (execution-mismatch); and that none stands twice on one chain
//     (duplicate-transaction);
//   - every ok :peek, :count, :elements, :balances and :call-at that names its
//     block: the value is that of the contract after this very block
//     (wrong-local-read);
//   - every ok transaction: it is in the block that its receipt names
//     (lost-write, lost-read) and did what the op says (effect-mismatch);
//   - every :fail that names its transaction: it changed nothing (failed-write),
//     unless a later operation sent the very same transaction.
//
// These hold on any network, for a block is what its hash covers. Only a receipt
// whose block no node has in the end depends: it is lost where the profile is
// bft, and a warning where the head may reorganise, and so is what failed in such
// a block and took effect in another.
//
// What accounts held at first is taken from the first :balances that names its
// block. A contract of which no block has a transaction is not judged, but for
// the register.
//
// What cannot be traced to the first block that was asked for is a gap, counted
// and not judged. Without any :txs op it is Unknown. O(n + transactions) time
// and memory, times log of the changes of a key for local reads, and off the
// canonical chain the length of the fork; the length of a set or list for a read
// of it.
func Replay() checker.Checker {
	return checker.Streamed(func() checker.Stream { return NewReader().Replay() })
}

// Replay is Replay for a pass: some 60 bytes for each op that it judges, and 100
// for each transaction of a block.
func (r *Reader) Replay() checker.Stream {
	return &replay{ledger: newLedger(r)}
}

type replay struct {
	*ledger
	found  findings
	final  bool // every block is final, so a block that is gone is an anomaly
	locals list[local]
	strong list[strong]
	now    []change // what each key holds, while the canonical chain is executed
	opens  map[int32]int64
	again  byID // transaction → where the last operation that did not fail with it began, plus 1

	executed, peeks, judged, unjudged, doubted, happened int
}

func (*replay) Name() string { return "replay" }

func (c *replay) Take(e *history.Event) {
	it := c.r.take(e)
	if !it.client {
		return
	}
	switch {
	case it.f == opTxs:
		c.take(it, &c.found)
	case !it.completes:
	case it.f.isLocalRead() || it.f == opCallAt:
		if it.typ == history.OK && it.tag != pendingTag {
			c.takeLocal(it)
		}
	case it.f.isTx() && modelOf(it.f) != noModel:
		c.takeStrong(it)
	}
}

func (c *replay) Finish(ctx context.Context, src history.Source) checker.Result {
	if ctx.Err() != nil {
		return checker.Ended(ctx, c.Name())
	}
	c.final = c.r.finalTag() == latestTag
	c.settle()
	if len(c.blocks) == 0 {
		return checker.Result{Checker: c.Name(), Reason: "history has no :txs op, so there is nothing to replay"}
	}
	if c.tip == nil {
		return checker.Result{Checker: c.Name(), Reason: fmt.Sprintf(
			"transactions of block %d, the first one asked for, are not in the history, so no state can be computed", c.first)}
	}
	c.executeCanonical()
	c.executeForks()
	c.openAccounts()
	for i := range c.locals.n {
		if i%checker.CheckEvery == 0 && ctx.Err() != nil {
			return checker.Ended(ctx, c.Name())
		}
		c.judgeLocal(c.locals.at(i))
	}
	for i := range c.strong.n {
		if i%checker.CheckEvery == 0 && ctx.Err() != nil {
			return checker.Ended(ctx, c.Name())
		}
		c.judgeStrong(c.strong.at(i))
	}
	stats := []checker.Stat{
		{Name: "blocks replayed", Value: fmt.Sprintf("%d, from %d to %d", len(c.order)-c.gaps, c.first, c.tip.n)},
		{Name: "transactions executed again", Value: fmt.Sprint(c.executed)},
		{Name: "local reads compared", Value: fmt.Sprint(c.peeks)},
		{Name: "strong ops found in their block", Value: fmt.Sprint(c.judged)},
		{Name: "ops in doubt that took place", Value: fmt.Sprintf("%d of %d", c.happened, c.doubted)},
		{Name: "blocks with a gap below them", Value: fmt.Sprint(c.gaps)},
		{Name: "ops not judged, as their block is unknown", Value: fmt.Sprint(c.unjudged)},
	}
	if c.odd > 0 {
		c.found.warn("%s cannot be read", plural(c.odd, "transaction list"))
	}
	c.found.facts += c.executed + c.peeks + c.judged
	result := c.found.result(src, c.Name(),
		fmt.Sprintf("%s of %s, %s and %s are what the chain's own order makes of them",
			plural(c.executed, "transaction"), plural(len(c.order)-c.gaps, "block"), plural(c.peeks, "local read"), plural(c.judged, "strong op")),
		"no transaction, and no op that names a block that could be replayed", stats)
	if result.Verdict == checker.Valid && c.final && c.gaps+c.odd+c.unjudged > 0 {
		// Where every block is final the walk has them all; what it lacks hides
		// whatever came after it.
		result.Verdict = checker.Unknown
		result.Reason = fmt.Sprintf("the walk over the chain is not complete: blocks with a gap below them: %d, lists of transactions that cannot be read: %d, ops not judged for it: %d",
			c.gaps, c.odd, c.unjudged)
	}
	return result
}

// executeCanonical runs the canonical chain from its first block, and remembers
// every change of every key.
func (c *replay) executeCanonical() {
	c.now = make([]change, len(c.keyList))
	for _, b := range c.canonical {
		for i := range b.txs {
			t := &b.txs[i]
			if before, known := c.where[t.hash]; known {
				c.twice(t, before, b)
			} else {
				c.where[t.hash] = place{b, i}
			}
			c.execute(t, place{b, i})
		}
	}
}

func (c *replay) twice(t *tx, before place, b *block) {
	c.found.reportTxs("duplicate-transaction", []string{c.r.say(t.hash)}, []int{before.block.op, b.op}, saying(
		"transaction %s (%s) is in block %d %s (op %d) and again in block %d %s (op %d) of the same chain.",
		c.r.short(t.hash), c.describe(t), before.block.n, c.r.short(before.block.h), before.block.op, b.n, c.r.short(b.h), b.op))
}

// executeForks runs the traced blocks off the canonical chain.
func (c *replay) executeForks() {
	for _, b := range c.order {
		if b.canon || !b.traced {
			continue
		}
		b.writes, b.lists = make(map[int32]int64), make(map[int32][]id)
		for i := range b.txs {
			t := &b.txs[i]
			c.execute(t, place{b, i})
			if _, known := c.where[t.hash]; !known {
				c.where[t.hash] = place{b, i}
			}
		}
	}
}

// was is what a key holds before the transaction at a place.
func (c *replay) was(k int32, at place) change {
	b := at.block
	if b.canon {
		return c.now[k]
	}
	if v, ok := b.writes[k]; ok {
		return change{place{b, b.writeBefore(k, at.index)}, v}
	}
	return c.at(k, b.parent)
}

// set changes a key.
func (c *replay) set(k int32, at place, value int64) {
	b := at.block
	if !b.canon {
		b.writes[k] = value
		return
	}
	now := change{at, value}
	c.now[k] = now
	list := c.changes[k]
	if n := len(list); n > 0 && list[n-1].block == b {
		list[n-1] = now // only the last change of a block can be seen from outside
	} else {
		c.changes[k] = append(list, now)
	}
}

// list is what a set or list holds before the transaction at a place.
func (c *replay) list(k int32, at place) []id {
	if at.block.canon {
		return c.lists[k]
	}
	if list, ok := at.block.lists[k]; ok {
		return list
	}
	return c.elements(k, at.block.parent)
}

func (c *replay) push(k int32, at place, e id) {
	list := c.list(k, at)
	if !at.block.canon {
		at.block.lists[k] = append(slices.Clone(list), e)
	} else {
		c.lists[k] = append(list, e)
	}
	c.set(k, at, int64(len(list)+1))
}

// execute compares what the chain reports of a transaction with what it must
// have done, and does it.
func (c *replay) execute(t *tx, at place) {
	c.executed++
	if t.kind != opRead && t.kind != opCas && t.kind != opMove && t.kind != opTxn && t.reverted {
		c.found.warn("transaction %s (%s) in block %d reverted, though a %s never does by itself", c.r.short(t.hash), c.describe(t), at.block.n, t.kind)
		return
	}
	switch t.kind {
	case opRead:
		if was := c.was(t.key, at); !t.reverted && int64(t.value) != was.value {
			c.mismatch(t, at, t.key, was, "it must have returned "+c.r.edn(id(was.value)))
		}
	case opCas:
		was := c.was(t.key, at)
		switch {
		case t.reverted && was.value == int64(t.old):
			c.mismatch(t, at, t.key, was, "it must have succeeded")
		case !t.reverted && was.value != int64(t.old):
			c.mismatch(t, at, t.key, was, "it must have reverted, for it found "+c.r.edn(id(was.value)))
		}
		if !t.reverted {
			c.set(t.key, at, int64(t.value))
		}
	case opWrite:
		c.set(t.key, at, int64(t.value))
	case opPut:
		c.set(t.key, at, int64(t.element))
	case opInc:
		c.set(t.key, at, c.was(t.key, at).value+t.amount)
	case opAdd:
		c.push(t.key, at, t.element)
	case opMove:
		if !t.reverted {
			c.set(t.key, at, c.was(t.key, at).value-t.amount)
			c.set(t.to, at, c.was(t.to, at).value+t.amount)
		}
	case opTxn:
		for i := range t.micro {
			m := &t.micro[i]
			switch {
			case t.reverted:
			case !m.reads:
				c.push(m.key, at, m.value)
			case !slices.Equal(m.list, c.list(m.key, at)):
				c.mismatch(t, at, m.key, c.was(m.key, at), "its read of "+c.noun(m.key)+" must have returned "+c.listText(c.list(m.key, at)))
			}
		}
	}
}

func (c *replay) mismatch(t *tx, at place, k int32, was change, should string) {
	b := at.block
	hash, tx, text, before := c.r.short(b.h), c.r.short(t.hash), c.describe(t), c.sayWas(k, was)
	c.found.reportTxs("execution-mismatch", []string{c.r.say(t.hash), c.hashOf(was)}, []int{b.op, opOfChange(was)}, func(look ops) string {
		return fmt.Sprintf("block %d %s reports transaction %s at position %d as %s (%s, op %d), but %s: %s.",
			b.n, hash, tx, at.index, text, look(b.op).Node, b.op, should, before)
	})
}

// listText renders a list, its end only when it is long.
func (c *replay) listText(list []id) string {
	const most = 12
	text := "["
	if len(list) > most {
		text = fmt.Sprintf("[… (%d more) ", len(list)-most)
		list = list[len(list)-most:]
	}
	for i, e := range list {
		if i > 0 {
			text += " "
		}
		text += c.r.edn(e)
	}
	return text + "]"
}

// holds renders what a key holds.
func (c *replay) holds(k int32, value int64) string {
	switch c.keyList[k].model {
	case registerModel, putModel:
		return c.r.edn(id(value))
	case setModel, listModel:
		return plural(int(value), "element")
	case bankModel:
		value += c.opens[k]
	}
	return fmt.Sprint(value)
}

// sayWas tells where a key's value comes from.
func (c *replay) sayWas(k int32, was change) string {
	if was.block == nil {
		return c.noun(k) + " was never written before"
	}
	text := fmt.Sprintf("%s was set to %s", c.noun(k), c.holds(k, was.value))
	if hash := c.hashOf(was); hash != "" {
		text += " by transaction " + short(hash)
	}
	return text + fmt.Sprintf(" in block %d %s (op %d)", was.block.n, c.r.short(was.block.h), was.block.op)
}

// hashOf is the transaction that made a change, "" for none.
func (c *replay) hashOf(was change) string {
	if was.block == nil || was.index < 0 || was.index >= len(was.block.txs) {
		return ""
	}
	return c.r.say(was.block.txs[was.index].hash)
}

// opOfChange is the op that tells of a change, -1 for none.
func opOfChange(was change) int {
	if was.block == nil {
		return -1
	}
	return was.block.op
}
