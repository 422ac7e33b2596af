package chain

import (
	"hash/maphash"
	"sync"

	"github.com/jepgo/jepgo/history"
)

// book is what a history tells of transactions: which blocks list them, what
// their receipts say, and what clients were told.
type book struct {
	bodyOf    []int32 // block → place in bodies plus 1
	bodies    []body
	receipts  list[receipt]
	receiptOf byID         // transaction → place in receipts plus 1
	logRows   list[logRow] // of receipts
	acks      list[ack]

	once sync.Once
	last ending
}

// body is the list of a block's transactions, as the first node told it.
type body struct {
	block, op, node int32
	txs             []id
}

// receipt is what the first node said of a transaction in a block.
type receipt struct {
	n        int64
	mark     uint64 // sums up all of it
	tx, h    id
	i        int32
	at, node int32
	logs     [2]int32 // from and to in logRows
	next     int32    // the one of the same transaction in another block: its place plus 1
}

// logRow is one log of a receipt.
type logRow struct {
	i       int32 // in its block
	address id
}

// ack is the completion of a transaction.
type ack struct {
	n, nonce  int64 // nonce is -1 when it is not told
	tx, h     id    // h is 0 when no block is named
	from      id
	element   id // of an :emit
	at, began int32
	node, log int32
	f         op
	typ       history.Type
}

// told again: what an event repeats of bodies and receipts, or contradicts.
type repeated struct {
	again, differs bool
	before         int32 // the op that said it first
}

func (r *Reader) mix(mark uint64, text []byte) uint64 {
	return listMark(mark, id(0)) ^ maphash.Bytes(r.seed, text)
}

func mixInt(mark uint64, n int64) uint64 {
	return (mark ^ uint64(n) + 0x9e3779b97f4a7c15) * 0xff51afd7ed558ccd
}

// note takes an event into the book, once its blocks are in the tree.
func (r *Reader) note(it *item) {
	switch {
	case it.f == opBody && it.isBlock:
		r.noteBody(it)
	case it.f == opReceipt && it.typ == history.OK:
		r.noteReceipt(it)
	case it.f.isTx() && it.tx != 0:
		a := ack{
			n: it.place.n, nonce: it.nonce, tx: it.tx, h: it.place.h, from: it.from,
			at: int32(it.at), began: int32(it.began), node: it.node, log: int32(it.log), f: it.f, typ: it.typ,
		}
		if it.f == opEmit {
			a.element = r.value(it.value)
		}
		r.acks.push(a)
	}
}

func (r *Reader) noteBody(it *item) {
	list, ok := it.value.Field("txs")
	if !ok || !list.IsSequence() {
		return
	}
	b := r.block(it.block.h)
	for int(b) >= len(r.bodyOf) {
		r.bodyOf = append(r.bodyOf, make([]int32, int(b)+1-len(r.bodyOf)+len(r.bodyOf)/4)...)
	}
	if at := r.bodyOf[b]; at > 0 {
		was := &r.bodies[at-1]
		it.body = repeated{again: true, before: was.op}
		i := 0
		for tx := range list.Elems() {
			if i >= len(was.txs) || string(r.bytes(was.txs[i])) != string(tx.Bytes()) {
				it.body.differs = true
				break
			}
			i++
		}
		it.body.differs = it.body.differs || i != len(was.txs)
		return
	}
	txs := make([]id, 0, list.Len())
	for tx := range list.Elems() {
		txs = append(txs, r.of(tx.Bytes()))
	}
	r.bodies = append(r.bodies, body{block: b, op: int32(it.at), node: it.node, txs: txs})
	r.bodyOf[b] = int32(len(r.bodies))
}

func (r *Reader) noteReceipt(it *item) {
	if !it.isBlock || it.arg == 0 {
		return
	}
	rc := receipt{n: it.block.n, tx: it.arg, h: it.block.h, i: -1, at: int32(it.at), node: it.node}
	rc.logs[0] = int32(r.logRows.n)
	mark := uint64(it.block.n)
	n := it.value.Len() / 2
	for key := it.value.First(); n > 0; n-- {
		v := key.Next()
		switch string(key.Bytes()) {
		case "i":
			i, _ := v.Int()
			rc.i = int32(i)
			mark = mixInt(mark, i)
		case "status", "gas":
			x, _ := v.Int()
			mark = mixInt(mark, x)
		case "from":
			mark = r.mix(mark, v.Bytes())
		case "logs":
			for row := range v.Elems() {
				mark = r.noteLog(row, mark)
			}
		}
		if n > 1 {
			key = v.Next()
		}
	}
	rc.logs[1], rc.mark = int32(r.logRows.n), mark
	first := r.receiptOf.get(rc.tx)
	for p := first; p > 0; {
		was := r.receipts.at(int(p - 1))
		if was.h != rc.h {
			p = was.next
			continue
		}
		it.receipt = repeated{again: true, differs: was.mark != rc.mark, before: was.at}
		if it.receipt.differs {
			r.receipts.push(rc) // it is held against its block too
		} else {
			r.logRows.cut(int(rc.logs[0]))
		}
		return
	}
	rc.next = first
	r.receipts.push(rc)
	r.receiptOf.set(rc.tx, int32(r.receipts.n))
}

// noteLog reads [i "0xaddress" "0xtopic" "0xdatahash"].
func (r *Reader) noteLog(row history.View, mark uint64) uint64 {
	if !row.IsSequence() || row.Len() < 2 {
		return mixInt(mark, -1)
	}
	first := row.First()
	i, _ := first.Int()
	mark = mixInt(mark, i)
	address := first.Next()
	r.logRows.push(logRow{int32(i), r.of(address.Bytes())})
	v := address
	for n := row.Len() - 1; n > 0; n-- {
		mark = r.mix(mark, v.Bytes())
		if n > 1 {
			v = v.Next()
		}
	}
	return mark
}

// ending is the chain as it stands at the end of a history.
type ending struct {
	tip    int32   // its highest block, -1 for none
	tipN   int64   // -1 for none
	first  int64   // the lowest height down to which it is known without a gap
	canon  []bool  // block → it is on that chain
	at     []int32 // height - first → block
	places []place32
	placed []int32 // transaction → the first of its places plus 1
	top    int64   // the highest of its blocks of which the body is known, -1 for none
	full   int64   // from there up to top every body is known
}

// place32 is a transaction in a body; next is another place of it plus 1.
type place32 struct {
	body, i, next int32
}

// end computes the ending, once. The tip is the highest block that a node showed
// in the phase of final reads, and in a history without one that any showed.
func (r *Reader) end() *ending {
	r.once.Do(func() {
		e := &r.last
		e.tip, e.tipN = r.finalTip, -1
		for i := range r.blocks {
			if r.finalTip < 0 && r.blocks[i].nOp >= 0 && r.blocks[i].n > e.tipN {
				e.tip, e.tipN = int32(i), r.blocks[i].n
			}
		}
		e.canon = make([]bool, len(r.blocks))
		e.placed = make([]int32, r.texts.n)
		if e.tip >= 0 {
			e.tipN = r.blocks[e.tip].n
			for at, n := e.tip, e.tipN; ; n-- {
				height, known := r.height(at)
				if !known || height != n {
					break
				}
				e.canon[at], e.first = true, n
				e.at = append(e.at, at)
				at = r.blocks[at].up
			}
			for i, j := 0, len(e.at)-1; i < j; i, j = i+1, j-1 {
				e.at[i], e.at[j] = e.at[j], e.at[i]
			}
		}
		e.top = e.tipN
		for e.top >= e.first && r.bodyAt(e.block(e.top)) == nil {
			e.top--
		}
		e.full = e.top + 1
		for e.full > e.first && r.bodyAt(e.block(e.full-1)) != nil {
			e.full--
		}
		for b := range r.bodies {
			for i, tx := range r.bodies[b].txs {
				e.places = append(e.places, place32{int32(b), int32(i), e.placed[tx]})
				e.placed[tx] = int32(len(e.places))
			}
		}
	})
	return &r.last
}

// block returns the block of the chain at a height, -1 outside of what is known.
func (e *ending) block(n int64) int32 {
	if e.tip < 0 || n < e.first || n > e.tipN {
		return -1
	}
	return e.at[n-e.first]
}

// bodyAt is the body of a block, nil when nobody told it.
func (r *Reader) bodyAt(block int32) *body {
	if block < 0 || int(block) >= len(r.bodyOf) || r.bodyOf[block] == 0 {
		return nil
	}
	return &r.bodies[r.bodyOf[block]-1]
}

// isCanon reports whether the block of that hash is on the chain at the end.
func (r *Reader) isCanon(h id) bool {
	b := r.find(h)
	return b >= 0 && r.end().canon[b]
}

// onChain returns where the chain at the end has a transaction; ok is false when
// no body of it that is known does.
func (r *Reader) onChain(tx id) (at place32, ok bool) {
	e := r.end()
	for p := e.placed[tx]; p > 0; p = e.places[p-1].next {
		if at = e.places[p-1]; e.canon[r.bodies[at.body].block] {
			return at, true
		}
	}
	return at, false
}

// inBody returns the place of a transaction in a body.
func (r *Reader) inBody(tx id, b *body) (i int32, ok bool) {
	e := r.end()
	for p := e.placed[tx]; p > 0; p = e.places[p-1].next {
		if at := e.places[p-1]; &r.bodies[at.body] == b {
			return at.i, true
		}
	}
	return -1, false
}
