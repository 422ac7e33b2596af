package chain

import (
	"cmp"
	"slices"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history"
)

// ledger is the register's history as the chain itself tells it: the blocks of
// the :txs ops, and what each key held after each of them.
//
// The canonical chain, the one that ends in the highest block, has for each key
// a list of changes by height, so a look-up is a binary search. A block off that
// chain has its own changes only, and a look-up climbs to the canonical chain:
// O(length of the fork).
type ledger struct {
	values    checker.Values
	blocks    map[string]*block
	order     []*block // by height
	first     int64    // the lowest height that was asked for: where the contract was deployed
	tip       *block
	canonical []*block // from first to tip
	changes   map[int32][]change
	where     map[string]place
	gaps      int // blocks that cannot be traced to the first, or whose transactions nobody told
	odd       int // completions that cannot be read
}

// change is what a key holds from a place on.
type change struct {
	place
	value int32
}

// place is a transaction in a block.
type place struct {
	block *block
	index int
}

// readLedger collects the blocks of the :txs ops. Two lists for one hash that
// differ are reported.
func readLedger(h *history.History, found *findings) *ledger {
	l := &ledger{blocks: make(map[string]*block), first: -1, changes: make(map[int32][]change), where: make(map[string]place)}
	for i := range h.Ops {
		op := &h.Ops[i]
		if op.F != "txs" || !op.Process.IsClient() {
			continue
		}
		if op.Type == history.Invoke {
			if n, ok := op.Value.Int(); ok && (l.first < 0 || n < l.first) {
				l.first = n
			}
			continue
		}
		b, ok := ReadBlock(op.Value)
		if op.Type != history.OK || !ok {
			continue
		}
		l.add(b, op, i, found)
	}
	for _, b := range l.blocks {
		l.order = append(l.order, b)
	}
	slices.SortFunc(l.order, func(a, b *block) int {
		return cmp.Or(cmp.Compare(a.N, b.N), cmp.Compare(a.op, b.op), cmp.Compare(a.H, b.H))
	})
	if l.first < 0 && len(l.order) > 0 {
		l.first = l.order[0].N // a history of completions only
	}
	l.trace()
	return l
}

func (l *ledger) add(told Block, op *history.Op, at int, found *findings) {
	b := l.blocks[told.H]
	if b == nil {
		b = &block{Block: told, op: at}
		l.blocks[told.H] = b
	}
	if b.Parent == "" {
		b.Parent = told.Parent
	}
	list, has := op.Value.Field("ops")
	if !has {
		return
	}
	txs, ok := readTxs(list, &l.values)
	switch {
	case !ok:
		l.odd++
	case !b.known:
		b.known, b.txs, b.op = true, txs, at
	case !slices.Equal(b.txs, txs):
		var differ []string
		for _, t := range slices.Concat(b.txs, txs) {
			if !slices.Contains(b.txs, t) || !slices.Contains(txs, t) {
				differ = append(differ, t.hash)
			}
		}
		if differ == nil { // the same ones in another order
			for _, t := range txs {
				differ = append(differ, t.hash)
			}
		}
		found.reportTxs("hash-mismatch", "block "+short(b.H)+" has different register transactions on "+
			found.h.Ops[b.op].Node+" ("+opText(b.op)+") and "+op.Node+" ("+opText(at)+"), though a hash covers them.", differ, b.op, at)
	}
}

// trace links blocks to their parents and finds the canonical chain. A block
// counts as traced when every block from the first height up to it is known, so
// that nothing can have been missed.
func (l *ledger) trace() {
	for _, b := range l.order {
		if parent := l.blocks[b.Parent]; parent != nil && parent.N+1 == b.N && parent.traced {
			b.parent = parent
		}
		b.traced = b.known && (b.N == l.first || b.parent != nil)
		switch {
		case !b.traced:
			l.gaps++
		case l.tip == nil || b.N > l.tip.N:
			l.tip = b
		}
	}
	for b := l.tip; b != nil; b = b.parent {
		b.canon = true
		l.canonical = append(l.canonical, b)
	}
	slices.Reverse(l.canonical)
}

// canonAt is the block of the canonical chain at a height, nil outside of it.
func (l *ledger) canonAt(n int64) *block {
	if n < l.first || n-l.first >= int64(len(l.canonical)) {
		return nil
	}
	return l.canonical[n-l.first]
}

// at returns what a key holds after a traced block, and the change that put it
// there; its block is nil for a key that was never written.
func (l *ledger) at(key int32, b *block) change {
	for ; b != nil && !b.canon; b = b.parent {
		if v, ok := b.writes[key]; ok {
			return change{place{b, b.lastWrite(key)}, v}
		}
	}
	if b == nil {
		return change{}
	}
	list := l.changes[key]
	n, _ := slices.BinarySearchFunc(list, b.N+1, func(c change, n int64) int {
		return cmp.Compare(c.block.N, n)
	})
	if n == 0 {
		return change{}
	}
	return list[n-1]
}

// lastWrite is the transaction that left the key's value; -1 for none.
func (b *block) lastWrite(key int32) int { return b.writeBefore(key, len(b.txs)) }

// writeBefore is the last transaction before that position which set the key; -1
// for none.
func (b *block) writeBefore(key int32, before int) int {
	for i := before - 1; i >= 0; i-- {
		if t := &b.txs[i]; t.key == key && t.kind != txRead && !t.reverted {
			return i
		}
	}
	return -1
}

// find returns a transaction's place in that block.
func (l *ledger) find(hash string, b *block) (index int, ok bool) {
	if at, known := l.where[hash]; known && at.block == b {
		return at.index, true
	}
	for i := range b.txs {
		if b.txs[i].hash == hash {
			return i, true
		}
	}
	return 0, false
}
