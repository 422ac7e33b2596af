package chain

import (
	"github.com/jepgo/jepgo/history"
)

// model is a contract whose state is computed again. Each has keys of its own.
type model uint8

const (
	noModel model = iota
	registerModel
	counterModel
	setModel
	listModel
	bankModel
	putModel
	eventModel // no state
	payModel   // native payments: no state
	models
)

// modelOf is the contract that an op is a transaction to, or a read of.
func modelOf(o op) model {
	switch o {
	case opWrite, opCas, opRead, opPeek:
		return registerModel
	case opInc, opCount:
		return counterModel
	case opAdd, opElements:
		return setModel
	case opTxn:
		return listModel
	case opMove, opBalances:
		return bankModel
	case opPut, opCallAt:
		return putModel
	case opEmit:
		return eventModel
	case opPay:
		return payModel
	}
	return noModel
}

// key is a piece of a contract's state.
type key struct {
	model model
	name  id
}

// tx is one transaction to a contract as a block has it, or as its client tells it.
// Values are numbers of the Reader's names; 0 is nil, a register never written.
type tx struct {
	hash     id
	kind     op
	reverted bool
	key      int32 // number of the key that it reads or changes, -1 for none
	to       int32 // move: the account that receives
	value    id    // register: what it reads or writes, cas: the new value; otherwise all of its value
	old      id    // cas: the value it expects
	amount   int64 // inc and move
	element  id    // add: what it adds
	micro    []micro
}

// micro is a part of a :txn: an append, or a read of a list.
type micro struct {
	key   int32
	value id // what is appended
	reads bool
	list  []id
}

// same reports whether two tellings of a transaction agree.
func (t *tx) same(o *tx) bool {
	return t.hash == o.hash && t.kind == o.kind && t.reverted == o.reverted && t.key == o.key && t.value == o.value && t.old == o.old
}

// block is a block as replay needs it.
type block struct {
	told
	parent *block // nil for the first block of the walk, and for a gap
	known  bool   // some node told its transactions
	txs    []tx
	op     int // the op that told them, or that named the block
	traced bool
	canon  bool
	// Only off the canonical chain: what it leaves of each key that it changes.
	writes map[int32]int64
	lists  map[int32][]id
}

// keyOf numbers a key.
func (l *ledger) keyOf(m model, name id) int32 {
	k := key{m, name}
	n, ok := l.keys[k]
	if !ok {
		n = int32(len(l.keyList))
		l.keys[k] = n
		l.keyList = append(l.keyList, k)
	}
	return n
}

// readTxs decodes the :ops of a :txs completion: vectors of a hash, an operation,
// its parts and how it ended. ok is false when one cannot be read.
func (l *ledger) readTxs(v history.View) (txs []tx, ok bool) {
	if !v.IsSequence() {
		return nil, false
	}
	txs = make([]tx, 0, v.Len())
	for entry := range v.Elems() {
		n := entry.Len()
		if !entry.IsSequence() || n != 4 && n != 5 {
			return nil, false
		}
		hash := entry.First()
		f := hash.Next()
		value := f.Next()
		status := value.Next()
		t := tx{kind: opOf(string(f.Bytes()))}
		if n == 5 {
			change := status
			status = change.Next()
			t, ok = l.readChange(t.kind, value, change)
		} else {
			t, ok = l.readTx(t.kind, value)
		}
		if t.hash = l.r.of(hash.Bytes()); !ok || t.hash == 0 {
			return nil, false
		}
		switch {
		case status.Is("reverted"):
			t.reverted = true
		case !status.Is("ok"):
			return nil, false
		}
		txs = append(txs, t)
	}
	return txs, true
}

// readTx decodes the value of a transaction, of which the register's are
// [key change].
func (l *ledger) readTx(f op, v history.View) (t tx, ok bool) {
	t = tx{kind: f, key: -1, to: -1}
	switch f {
	case opWrite, opCas, opRead, opPeek:
		k, change, ok := v.Pair()
		if !ok {
			return t, false
		}
		return l.readChange(f, k, change)
	case opInc:
		t.amount, ok = v.Int()
		t.key = l.keyOf(counterModel, 0)
	case opAdd:
		var k, e history.View
		if k, e, ok = v.Pair(); ok {
			t.key, t.element = l.keyOf(setModel, l.r.value(k)), l.r.value(e)
		}
	case opPut:
		var k, e history.View
		if k, e, ok = v.Pair(); ok {
			t.key, t.element = l.keyOf(putModel, l.r.value(k)), l.r.value(e)
		}
	case opTxn:
		t.micro, ok = l.readMicro(v)
	case opMove:
		from, ok1 := v.Field("from")
		to, ok2 := v.Field("to")
		amount, _ := v.Field("amount")
		if t.amount, ok = amount.Int(); ok && ok1 && ok2 {
			t.key, t.to = l.keyOf(bankModel, l.r.value(from)), l.keyOf(bankModel, l.r.value(to))
		} else {
			ok = false
		}
	case opEmit, opPay:
		ok = true
	}
	t.value = l.r.value(v)
	return t, ok
}

// readChange decodes what a :read, :write or :cas does with its key.
func (l *ledger) readChange(f op, k, v history.View) (t tx, ok bool) {
	t = tx{kind: f, key: l.keyOf(registerModel, l.r.value(k)), to: -1}
	switch f {
	case opRead, opPeek:
		t.kind, t.value = opRead, l.r.value(v)
		return t, true
	case opWrite:
		t.value = l.r.value(v)
		return t, true
	case opCas:
		old, new, ok := v.Pair()
		if ok {
			t.old, t.value = l.r.value(old), l.r.value(new)
		}
		return t, ok
	}
	return t, false
}

// readMicro decodes [[:append k v] [:r k [v …]] …].
func (l *ledger) readMicro(v history.View) (list []micro, ok bool) {
	if !v.IsSequence() {
		return nil, false
	}
	for m := range v.Elems() {
		if !m.IsSequence() || m.Len() != 3 {
			return nil, false
		}
		f := m.First()
		k := f.Next()
		value := k.Next()
		one := micro{key: l.keyOf(listModel, l.r.value(k))}
		switch {
		case f.Is("append"):
			one.value = l.r.value(value)
		case f.Is("r"):
			one.reads = true
			if !value.IsNil() && !value.IsSequence() {
				return nil, false
			}
			for e := range value.Elems() {
				one.list = append(one.list, l.r.value(e))
			}
		default:
			return nil, false
		}
		list = append(list, one)
	}
	return list, true
}

// changes reports whether the transaction set the key.
func (t *tx) changes(k int32) bool {
	if t.reverted || t.kind == opRead {
		return false
	}
	if t.key == k || t.to == k {
		return true
	}
	for i := range t.micro {
		if t.micro[i].key == k && !t.micro[i].reads {
			return true
		}
	}
	return false
}

// describe renders what a transaction does, as its op would show it.
func (l *ledger) describe(t *tx) string {
	text := ""
	value := l.r.edn(t.value)
	if modelOf(t.kind) == registerModel {
		k := l.keyName(t.key)
		switch t.kind {
		case opRead:
			text = "read [" + k + " " + value + "]"
		case opWrite:
			text = "write [" + k + " " + value + "]"
		case opCas:
			text = "cas [" + k + " [" + l.r.edn(t.old) + " " + value + "]]"
		}
	} else {
		text = t.kind.String() + " " + value
	}
	if t.reverted {
		text += ", reverted"
	}
	return text
}

func (l *ledger) keyName(k int32) string {
	if k < 0 {
		return "nil"
	}
	return l.r.edn(l.keyList[k].name)
}

// noun is what a key is, for prose.
func (l *ledger) noun(k int32) string {
	name := l.keyName(k)
	switch l.keyList[k].model {
	case counterModel:
		return "the counter"
	case setModel:
		return "set " + name
	case listModel:
		return "list " + name
	case bankModel:
		return "account " + name
	}
	return "key " + name
}
