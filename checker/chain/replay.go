package chain

import (
	"context"
	"fmt"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history"
)

// Replay returns the checker replay. The chain is the order of its own
// transactions, so no search is needed: from the :txs ops it executes every
// register transaction again, block by block along the parents, and holds
// against the result
//
//   - what the chain itself reported of each: whether a cas succeeded, what a
//     strong read returned (execution-mismatch); and that none stands twice on
//     one chain (duplicate-transaction);
//   - every ok :peek that names its block: the value is that of the register
//     after this very block (wrong-local-read);
//   - every ok :write, :cas and :read: its transaction is in the block that its
//     receipt names (lost-write, lost-read) and did what the op says
//     (effect-mismatch);
//   - every :fail that names its transaction: it changed nothing (failed-write).
//
// These hold on any network, for a block is what its hash covers. Only a receipt
// whose block no node has in the end depends: it is lost where the profile is
// bft, and a warning where the head may reorganise.
//
// What cannot be traced to the first block that was asked for is a gap, counted
// and not judged. Without any :txs op it is Unknown. O(n + transactions) time
// and memory, times log of the changes of a key for local reads, and off the
// canonical chain the length of the fork.
func Replay() checker.Checker { return replay{} }

type replay struct{}

func (replay) Name() string { return "replay" }

func (c replay) Check(ctx context.Context, h *history.History) checker.Result {
	found := &findings{h: h}
	r := &replayer{h: h, found: found, ledger: readLedger(h, found), final: finalTagOf(h) == latestTag}
	if len(r.blocks) == 0 {
		return checker.Result{Checker: c.Name(), Reason: "history has no :txs op, so there is nothing to replay"}
	}
	if r.tip == nil {
		return checker.Result{Checker: c.Name(), Reason: fmt.Sprintf(
			"transactions of block %d, the first one asked for, are not in the history, so no state can be computed", r.first)}
	}
	r.executeCanonical()
	r.executeForks()
	for i := range h.Ops {
		if i%checker.CheckEvery == 0 && ctx.Err() != nil {
			return checker.Ended(ctx, c.Name())
		}
		r.judge(&h.Ops[i], i)
	}
	stats := []checker.Stat{
		{Name: "blocks replayed", Value: fmt.Sprintf("%d, from %d to %d", len(r.order)-r.gaps, r.first, r.tip.N)},
		{Name: "transactions executed again", Value: fmt.Sprint(r.executed)},
		{Name: "local reads compared", Value: fmt.Sprint(r.peeks)},
		{Name: "strong ops found in their block", Value: fmt.Sprint(r.strong)},
		{Name: "ops in doubt that took place", Value: fmt.Sprintf("%d of %d", r.happened, r.doubted)},
		{Name: "blocks with a gap below them", Value: fmt.Sprint(r.gaps)},
		{Name: "ops not judged, as their block is unknown", Value: fmt.Sprint(r.unjudged)},
	}
	if r.odd > 0 {
		found.warn("%s cannot be read", plural(r.odd, "list of transactions"))
	}
	result := found.result(c.Name(), r.executed+r.peeks+r.strong,
		fmt.Sprintf("%s of %s, %s and %s are what the chain's own order makes of them",
			plural(r.executed, "transaction"), plural(len(r.order)-r.gaps, "block"), plural(r.peeks, "local read"), plural(r.strong, "strong op")),
		"no transaction, and no op that names a block that could be replayed", stats)
	if result.Verdict == checker.Valid && r.final && r.gaps+r.odd+r.unjudged > 0 {
		// Where every block is final the walk has them all; what it lacks hides
		// whatever came after it.
		result.Verdict = checker.Unknown
		result.Reason = fmt.Sprintf("the walk over the chain is not complete: blocks with a gap below them: %d, lists of transactions that cannot be read: %d, ops not judged for it: %d",
			r.gaps, r.odd, r.unjudged)
	}
	return result
}

type replayer struct {
	*ledger
	h     *history.History
	found *findings
	final bool // every block is final, so a block that is gone is an anomaly

	executed, peeks, strong, unjudged, doubted, happened int
}

// executeCanonical runs the canonical chain from its first block, and remembers
// every change of every key.
func (r *replayer) executeCanonical() {
	now := make(map[int32]change)
	for _, b := range r.canonical {
		for i := range b.txs {
			t := &b.txs[i]
			if before, known := r.where[t.hash]; known {
				r.found.reportTxs("duplicate-transaction", fmt.Sprintf(
					"transaction %s (%s) is in block %d %s (op %d) and again in block %d %s (op %d) of the same chain.",
					short(t.hash), t.describe(&r.values), before.block.N, short(before.block.H), before.block.op, b.N, short(b.H), b.op),
					[]string{t.hash}, before.block.op, b.op)
			} else {
				r.where[t.hash] = place{b, i}
			}
			was := now[t.key]
			r.execute(t, place{b, i}, was)
			if t.kind == txRead || t.reverted {
				continue
			}
			c := change{place{b, i}, t.value}
			now[t.key] = c
			list := r.changes[t.key]
			if n := len(list); n > 0 && list[n-1].block == b {
				list[n-1] = c // only the last change of a block can be seen from outside
			} else {
				r.changes[t.key] = append(list, c)
			}
		}
	}
}

// executeForks runs the traced blocks off the canonical chain.
func (r *replayer) executeForks() {
	for _, b := range r.order {
		if b.canon || !b.traced {
			continue
		}
		b.writes = make(map[int32]int32)
		for i := range b.txs {
			t := &b.txs[i]
			was := r.at(t.key, b.parent)
			if v, ok := b.writes[t.key]; ok {
				was = change{place{b, b.writeBefore(t.key, i)}, v}
			}
			r.execute(t, place{b, i}, was)
			if t.kind != txRead && !t.reverted {
				b.writes[t.key] = t.value
			}
			if _, known := r.where[t.hash]; !known {
				r.where[t.hash] = place{b, i}
			}
		}
	}
}

// execute compares what the chain reports of a transaction with what it must
// have done.
func (r *replayer) execute(t *tx, at place, was change) {
	r.executed++
	should := ""
	switch {
	case t.kind == txRead && !t.reverted && t.value != was.value:
		should = "it must have returned " + r.values.Value(was.value).String()
	case t.kind == txCas && t.reverted && was.value == t.old:
		should = "it must have succeeded"
	case t.kind == txCas && !t.reverted && was.value != t.old:
		should = "it must have reverted, for it found " + r.values.Value(was.value).String()
	case t.kind == txWrite && t.reverted:
		r.found.warn("transaction %s (%s) in block %d reverted, though a write never does by itself", short(t.hash), t.describe(&r.values), at.block.N)
		return
	default:
		return
	}
	r.found.reportTxs("execution-mismatch", fmt.Sprintf(
		"block %d %s reports transaction %s at position %d as %s (%s, op %d), but %s: %s.",
		at.block.N, short(at.block.H), short(t.hash), at.index, t.describe(&r.values), r.h.Ops[at.block.op].Node, at.block.op, should, r.sayWas(t.key, was)),
		[]string{t.hash, hashOf(was)}, at.block.op, r.opOf(was))
}

// sayWas tells where a key's value comes from.
func (r *replayer) sayWas(key int32, was change) string {
	if was.block == nil {
		return fmt.Sprintf("key %s was never written before", r.values.Value(key))
	}
	text := fmt.Sprintf("key %s was set to %s", r.values.Value(key), r.values.Value(was.value))
	if hash := hashOf(was); hash != "" {
		text += " by transaction " + short(hash)
	}
	return text + fmt.Sprintf(" in block %d %s (op %d)", was.block.N, short(was.block.H), was.block.op)
}

// hashOf is the transaction that made a change, "" for none.
func hashOf(was change) string {
	if was.block == nil || was.index < 0 || was.index >= len(was.block.txs) {
		return ""
	}
	return was.block.txs[was.index].hash
}

// opOf is the op that tells of a change, -1 for none.
func (r *replayer) opOf(was change) int {
	if was.block == nil {
		return -1
	}
	return was.block.op
}

func opText(at int) string { return fmt.Sprintf("op %d", at) }
