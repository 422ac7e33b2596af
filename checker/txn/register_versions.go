package txn

import (
	"fmt"

	"github.com/jepgo/jepgo/history"
)

// A version is one value of one key, by number. These stand for no version.
const (
	noVersion int32 = -1
	noTxn     int32 = -1 // nobody wrote it, that is known
	manyTxns  int32 = -2 // written more than once: nothing is known by it
)

// registers is a history of register transactions with its versions numbered: the
// val of each micro-op is a version, or noVersion where a read is not known. It
// has all that is to be known without an order of versions, and so is also what
// other ways to judge registers start from (rwRegister.judge).
type registers struct {
	*txns

	// By version.
	key      []int32
	code     []int32 // its value, for txns.vals
	writer   []int32 // transaction, noTxn or manyTxns; an aborted one where no other wrote it
	overdone []bool  // its writer wrote the key again, so that nobody may see it
	part     []bool  // by transaction: it happened, as it says so or was seen to

	first []int32 // by key: the version that nil stands for, noVersion where nobody read nil

	// The transactions that took part and read or wrote key k, in the
	// order of txns: touched[from[k]:from[k+1]].
	touched []touch
	from    []int32

	unclear string  // why something that was written cannot be told apart
	garbage []int32 // versions that were read and nobody wrote
}

// touch is what a transaction has to do with a key.
type touch struct {
	txn   int32
	read  int32 // the version it found there before it wrote, or noVersion
	wrote int32 // the last version that it wrote, or noVersion
}

// newRegisters numbers the versions of settled transactions, in place. With trust
// those in doubt are known to have happened.
func newRegisters(t *txns, trust bool) *registers {
	r := &registers{txns: t, first: make([]int32, t.keys.len()), part: make([]bool, t.len())}
	for k := range r.first {
		r.first[k] = noVersion
	}
	r.number()
	r.confirm(trust)
	r.touch()
	return r
}

// number gives versions their numbers and writers.
func (r *registers) number() {
	expected := r.keys.len()
	for _, m := range r.mops {
		if !m.isRead() {
			expected++
		}
	}
	ids := newPairs(expected)
	r.key, r.code, r.writer = make([]int32, 0, expected), make([]int32, 0, expected), make([]int32, 0, expected)
	r.overdone = make([]bool, 0, expected)
	last := newPerKey(r.keys.len()) // the version that the transaction wrote last
	for i := range int32(r.len()) {
		if r.status[i] == dropped {
			continue
		}
		last.begin()
		mops := r.of(i)
		for m := range mops {
			op := &mops[m]
			if op.isRead() && op.val == unknownCode {
				op.val = noVersion
				continue
			}
			key, code := op.of(), op.val
			v, fresh := ids.id(key, code)
			op.val = v
			if fresh {
				r.key = append(r.key, key)
				r.code = append(r.code, code)
				r.writer = append(r.writer, noTxn)
				r.overdone = append(r.overdone, false)
				if code == nilCode {
					r.first[key] = v
				}
			}
			if op.isRead() {
				continue
			}
			if before := last.get(key); before != noVersion {
				r.overdone[before] = true
			}
			last.set(key, v)
			r.write(v, i)
		}
	}
}

// write notes that transaction i wrote version v.
func (r *registers) write(v, i int32) {
	switch w := r.writer[v]; {
	case r.code[v] == nilCode:
		r.writer[v] = manyTxns
		r.blur(fmt.Sprintf("op %d writes nil to key %s, but nil is what a key holds before the first write", r.at(i), r.keyName(r.key[v])))
	case w == noTxn:
		r.writer[v] = i
	case r.status[i] == aborted:
		// Who sees it sees another's write.
	case w >= 0 && r.status[w] == aborted:
		r.writer[v] = i
	case w >= 0:
		r.writer[v] = manyTxns
		r.blur(fmt.Sprintf("ops %d and %d both write %s to key %s: each value may be written to a key only once, or nobody can tell whose was read",
			r.at(w), r.at(i), r.value(v), r.keyName(r.key[v])))
	}
}

// blur notes the first thing that leaves a version's writer unclear.
func (r *registers) blur(why string) {
	if r.unclear == "" {
		r.unclear = why
	}
}

// confirm finds which transactions happened: those that are ok, and those in doubt
// whose write an ok one saw.
func (r *registers) confirm(trust bool) {
	for i, st := range r.status {
		if trust && st == inDoubt {
			r.part[i] = true
		}
		if st != committed {
			continue
		}
		r.part[i] = true
		for _, m := range r.of(int32(i)) {
			if !m.isRead() {
				continue
			}
			if w := r.writer[m.val]; w >= 0 && r.status[w] == inDoubt {
				r.part[w] = true
			}
		}
	}
	known := make([]bool, len(r.key))
	for i, st := range r.status {
		if st != committed {
			continue
		}
		for _, m := range r.of(int32(i)) {
			if v := m.val; r.writer[v] == noTxn && r.code[v] != nilCode && !known[v] {
				known[v] = true
				r.garbage = append(r.garbage, v)
			}
		}
	}
}

// touch fills touched.
func (r *registers) touch() {
	w := newWalk(r)
	r.from = make([]int32, r.keys.len()+1)
	for i := range int32(r.len()) {
		if !r.part[i] {
			continue
		}
		for _, key := range w.run(i) {
			r.from[key+1]++
		}
	}
	for k := range r.keys.len() {
		r.from[k+1] += r.from[k]
	}
	r.touched = make([]touch, r.from[r.keys.len()])
	next := append([]int32(nil), r.from[:r.keys.len()]...)
	for i := range int32(r.len()) {
		if !r.part[i] {
			continue
		}
		for _, key := range w.run(i) {
			r.touched[next[key]] = w.touch(key)
			next[key]++
		}
	}
}

// of a key, in the order of txns.
func (r *registers) touches(key int32) []touch { return r.touched[r.from[key]:r.from[key+1]] }

// source is the transaction that took part whose last word on the key v is, or noTxn.
func (r *registers) source(v int32) int32 {
	w := r.writer[v]
	if w < 0 || !r.part[w] || r.overdone[v] {
		return noTxn
	}
	return w
}

// isFirst reports whether v is the version that a key has before the first write.
func (r *registers) isFirst(v int32) bool { return r.code[v] == nilCode && r.writer[v] == noTxn }

func (r *registers) value(v int32) history.Value { return r.vals.value(r.code[v]) }
func (r *registers) keyName(key int32) string    { return r.keys.value(key).String() }

// name is a version for prose: 3, nil.
func (r *registers) name(v int32) string { return r.value(v).String() }

// perKey holds a version of each key for the transaction at hand.
type perKey struct {
	now   uint32
	stamp []uint32
	val   []int32
}

func newPerKey(keys int) perKey {
	return perKey{stamp: make([]uint32, keys), val: make([]int32, keys)}
}

// begin forgets all keys, for the next transaction.
func (p *perKey) begin() { p.now++ }

func (p *perKey) get(key int32) int32 {
	if p.stamp[key] != p.now {
		return noVersion
	}
	return p.val[key]
}

func (p *perKey) set(key, v int32) { p.stamp[key], p.val[key] = p.now, v }

// walk finds what transactions have to do with keys.
type walk struct {
	r           *registers
	txn         int32
	read, wrote perKey
	keys        []int32
}

func newWalk(r *registers) *walk {
	return &walk{r: r, read: newPerKey(r.keys.len()), wrote: newPerKey(r.keys.len())}
}

// run returns the keys that transaction i read before it wrote them, or wrote; of
// one that did not commit only what it wrote counts. The slice is valid until the
// next run.
func (w *walk) run(i int32) []int32 {
	w.txn = i
	w.read.begin()
	w.wrote.begin()
	w.keys = w.keys[:0]
	for _, m := range w.r.of(i) {
		key := m.of()
		known := w.read.get(key) != noVersion || w.wrote.get(key) != noVersion
		if !m.isRead() {
			w.wrote.set(key, m.val)
		} else if !known && w.r.status[i] == committed {
			w.read.set(key, m.val)
		} else {
			continue
		}
		if !known {
			w.keys = append(w.keys, key)
		}
	}
	return w.keys
}

// touch is what the transaction of the last run has to do with a key.
func (w *walk) touch(key int32) touch {
	return touch{txn: w.txn, read: w.read.get(key), wrote: w.wrote.get(key)}
}
