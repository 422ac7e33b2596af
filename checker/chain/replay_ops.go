package chain

import (
	"fmt"

	"github.com/jepgo/jepgo/history"
)

// judge holds one completion of a client against the chain.
func (r *replayer) judge(op *history.Op, i int) {
	if op.Type == history.Invoke || !op.Process.IsClient() {
		return
	}
	switch op.F {
	case "peek":
		if op.Type == history.OK && op.Tag != pendingTag {
			r.judgePeek(op, i)
		}
	case "write", "cas", "read":
		hash, _ := op.Lookup(history.TxKey)
		switch {
		case hash.Text() == "":
			if op.Type == history.OK {
				r.unjudged++
			}
		case op.Type == history.OK:
			r.judgeOK(op, i, hash.Text())
		case op.Type == history.Fail:
			r.judgeFail(op, i, hash.Text())
		case op.Type == history.Info:
			r.doubted++
			if _, known := r.where[hash.Text()]; known {
				r.happened++
			}
		}
	}
}

func (r *replayer) judgePeek(op *history.Op, i int) {
	named, placed := ReadPlace(op)
	b := r.blocks[named.H]
	peek, ok := readOp(op.F, op.Value, &r.values)
	if !placed || named.N < r.first {
		return // the node moved on while it answered (session counts these), or there was no register yet
	}
	if b == nil || !b.traced || !ok {
		r.unjudged++
		return
	}
	r.peeks++
	is := r.at(peek.key, b)
	if is.value == peek.value {
		return
	}
	tag := op.Tag
	if tag == "" {
		tag = "its head"
	}
	r.found.reportTxs("wrong-local-read", fmt.Sprintf(
		"%s answered a local read of key %s at %s with %s, from block %d %s (op %d), where the register is %s: %s.",
		op.Node, r.values.Value(peek.key), tag, r.values.Value(peek.value), b.N, short(b.H), i,
		r.values.Value(is.value), r.sayWas(peek.key, is)), []string{hashOf(is)}, i, r.opOf(is), b.op)
}

// judgeOK looks for the transaction of an op that was acknowledged.
func (r *replayer) judgeOK(op *history.Op, i int, hash string) {
	want, ok := readOp(op.F, op.Value, &r.values)
	named, placed := ReadPlace(op)
	if !ok || !placed {
		r.unjudged++
		return
	}
	b := r.blocks[named.H]
	if b == nil || !b.known {
		r.judgeGone(op, i, hash, named)
		return
	}
	r.strong++
	index, found := r.find(hash, b)
	if !found {
		r.lost(op, i, hash, fmt.Sprintf("the receipt of %s names block %d %s, but that block has no such transaction (op %d)",
			op.Node, named.N, short(named.H), b.op), b.op)
		return
	}
	is := b.txs[index]
	switch {
	case is.reverted && want.kind != txRead:
		r.lost(op, i, hash, fmt.Sprintf("in block %d %s it reverted, so it changed nothing (op %d)", b.N, short(b.H), b.op), b.op)
	case is.reverted != want.reverted || is.kind != want.kind || is.key != want.key || is.value != want.value || is.old != want.old:
		r.found.reportTxs("effect-mismatch", fmt.Sprintf(
			"%s acknowledged %s %s (op %d), but its transaction %s in block %d %s is %s (op %d).",
			op.Node, op.F, op.Value, i, short(hash), b.N, short(b.H), is.describe(&r.values), b.op), []string{hash}, i, b.op)
	}
}

// judgeGone settles an acknowledged op whose block no node has in the end.
func (r *replayer) judgeGone(op *history.Op, i int, hash string, named Block) {
	at, elsewhere := r.where[hash]
	if named.N < r.first || named.N > r.tip.N || r.blocks[named.H] != nil {
		r.unjudged++ // outside of what was walked, or a gap
		return
	}
	r.strong++
	has := r.canonAt(named.N)
	reason := fmt.Sprintf("the receipt of %s names block %d %s, which no node has in the end", op.Node, named.N, short(named.H))
	positions := []int{}
	if has != nil {
		reason += fmt.Sprintf(": the block there is %s (op %d)", short(has.H), has.op)
		positions = append(positions, has.op)
	}
	switch {
	case elsewhere:
		text := fmt.Sprintf("%s %s (op %d): %s. Its transaction %s is in block %d %s (op %d) instead.",
			op.F, op.Value, i, reason, short(hash), at.block.N, short(at.block.H), at.block.op)
		if r.final {
			r.found.reportTxs("effect-mismatch", text, []string{hash}, append(positions, i, at.block.op)...)
		} else {
			r.found.warn("%s", text)
		}
	case r.final && r.gaps == 0:
		r.lost(op, i, hash, reason, positions...)
	default:
		r.found.warn("%s %s (op %d): %s, and no block has its transaction %s", op.F, op.Value, i, reason, short(hash))
	}
}

func (r *replayer) lost(op *history.Op, i int, hash, reason string, positions ...int) {
	name := "lost-write"
	if op.F == "read" {
		name = "lost-read"
	}
	text := fmt.Sprintf("%s acknowledged %s %s (op %d, transaction %s) and lost it: %s.", op.Node, op.F, op.Value, i, short(hash), reason)
	if at, known := r.where[hash]; known && !at.block.txs[at.index].reverted {
		text += fmt.Sprintf(" It is in block %d %s instead (op %d).", at.block.N, short(at.block.H), at.block.op)
		positions = append(positions, at.block.op)
	}
	if _, known := r.where[hash]; !known && r.gaps == 0 {
		text += fmt.Sprintf(" No block from %d to %d has it.", r.first, r.tip.N)
	}
	r.found.reportTxs(name, text, []string{hash}, append(positions, i)...)
}

// judgeFail holds that what failed did not happen.
func (r *replayer) judgeFail(op *history.Op, i int, hash string) {
	at, known := r.where[hash]
	if !known {
		return
	}
	r.strong++
	is := &at.block.txs[at.index]
	if is.kind == txRead || is.reverted || !at.block.canon {
		return
	}
	r.found.reportTxs("failed-write", fmt.Sprintf(
		"%s reported %s %s as failed (op %d), but its transaction %s took effect in block %d %s: %s (op %d).",
		op.Node, op.F, op.Value, i, short(hash), at.block.N, short(at.block.H), is.describe(&r.values), at.block.op), []string{hash}, i, at.block.op)
}
