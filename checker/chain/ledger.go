package chain

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/jepgo/jepgo/history"
)

// ledger is the history of the run's contracts as the chain itself tells it: the
// blocks of the :txs ops, and what each key held after each of them.
//
// The canonical chain, the one that ends in the highest block, has for each key
// a list of changes by height, so a look-up is a binary search. A block off that
// chain has its own changes only, and a look-up climbs to the canonical chain:
// O(length of the fork).
type ledger struct {
	r         *Reader
	keys      map[key]int32
	keyList   []key
	has       [models]bool // some block has a transaction to that contract
	blocks    map[id]*block
	order     []*block // by height
	first     int64    // the lowest height that was asked for: where the contracts were deployed
	tip       *block
	canonical []*block // from first to tip
	changes   [][]change
	lists     [][]id // of a set or list, all elements on the canonical chain
	where     map[id]place
	gaps      int // blocks that cannot be traced to the first, or whose transactions nobody told
	odd       int // completions that cannot be read
}

// change is what a key holds from a place on: the number of a register's value, a
// counter's sum, what an account gained, how many elements a set or list has.
type change struct {
	place
	value int64
}

// place is a transaction in a block.
type place struct {
	block *block
	index int
}

func newLedger(r *Reader) *ledger {
	return &ledger{r: r, first: -1, keys: make(map[key]int32), blocks: make(map[id]*block), where: make(map[id]place)}
}

// take collects the blocks of the :txs ops. Two lists for one hash that differ
// are reported.
func (l *ledger) take(it *item, found *findings) {
	if it.typ == history.Invoke {
		if n := it.argN; n >= 0 && (l.first < 0 || n < l.first) {
			l.first = n
		}
		return
	}
	if it.typ != history.OK || !it.isBlock {
		return
	}
	b := l.blocks[it.block.h]
	if b == nil {
		b = &block{told: it.block, op: it.at}
		l.blocks[b.h] = b
	}
	if b.told.parent == 0 {
		b.told.parent = it.block.parent
	}
	list, has := it.value.Field("ops")
	if !has {
		return
	}
	txs, ok := l.readTxs(list)
	switch {
	case !ok:
		l.odd++
	case !b.known:
		b.known, b.txs, b.op = true, txs, it.at
		for i := range txs {
			l.has[modelOf(txs[i].kind)] = true
		}
	case !slices.EqualFunc(b.txs, txs, func(a, b tx) bool { return a.same(&b) }):
		l.differ(b, txs, it, found)
	}
}

func (l *ledger) differ(b *block, txs []tx, it *item, found *findings) {
	var hashes []string
	lacks := func(list []tx, t *tx) bool {
		return !slices.ContainsFunc(list, func(o tx) bool { return t.same(&o) })
	}
	for _, t := range slices.Concat(b.txs, txs) {
		if lacks(b.txs, &t) || lacks(txs, &t) {
			hashes = append(hashes, l.r.say(t.hash))
		}
	}
	if hashes == nil { // the same ones in another order
		for _, t := range txs {
			hashes = append(hashes, l.r.say(t.hash))
		}
	}
	hash, first, second := l.r.short(b.h), b.op, it.at
	found.reportTxs("hash-mismatch", hashes, []int{first, second}, func(look ops) string {
		return fmt.Sprintf("block %s has different register transactions on %s (op %d) and %s (op %d), though a hash covers them.",
			hash, look(first).Node, first, look(second).Node, second)
	})
}

// settle puts the blocks in order.
func (l *ledger) settle() {
	for _, b := range l.blocks {
		l.order = append(l.order, b)
	}
	slices.SortFunc(l.order, func(a, b *block) int {
		if c := cmp.Compare(a.n, b.n); c != 0 {
			return c
		}
		if c := cmp.Compare(a.op, b.op); c != 0 {
			return c
		}
		return cmp.Compare(l.r.say(a.h), l.r.say(b.h))
	})
	if l.first < 0 && len(l.order) > 0 {
		l.first = l.order[0].n // a history of completions only
	}
	l.changes = make([][]change, len(l.keyList))
	l.lists = make([][]id, len(l.keyList))
	l.trace()
}

// trace links blocks to their parents and finds the canonical chain. A block
// counts as traced when every block from the first height up to it is known, so
// that nothing can have been missed.
func (l *ledger) trace() {
	for _, b := range l.order {
		if parent := l.blocks[b.told.parent]; parent != nil && parent.n+1 == b.n && parent.traced {
			b.parent = parent
		}
		b.traced = b.known && (b.n == l.first || b.parent != nil)
		switch {
		case !b.traced:
			l.gaps++
		case l.tip == nil || b.n > l.tip.n:
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
func (l *ledger) at(k int32, b *block) change {
	for ; b != nil && !b.canon; b = b.parent {
		if v, ok := b.writes[k]; ok {
			return change{place{b, b.writeBefore(k, len(b.txs))}, v}
		}
	}
	if b == nil {
		return change{}
	}
	list := l.changes[k]
	n, _ := slices.BinarySearchFunc(list, b.n+1, func(c change, n int64) int {
		return cmp.Compare(c.block.n, n)
	})
	if n == 0 {
		return change{}
	}
	return list[n-1]
}

// elements returns what a set or list holds after a traced block.
func (l *ledger) elements(k int32, b *block) []id {
	for up := b; up != nil && !up.canon; up = up.parent {
		if list, ok := up.lists[k]; ok {
			return list
		}
	}
	return l.lists[k][:l.at(k, b).value]
}

// writeBefore is the last transaction before that position which set the key; -1
// for none.
func (b *block) writeBefore(k int32, before int) int {
	for i := before - 1; i >= 0; i-- {
		if b.txs[i].changes(k) {
			return i
		}
	}
	return -1
}

// find returns a transaction's place in that block.
func (l *ledger) find(hash id, b *block) (index int, ok bool) {
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
