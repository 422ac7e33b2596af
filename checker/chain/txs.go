package chain

import (
	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history"
)

// kind is what a transaction does to a register.
type kind uint8

const (
	txRead kind = iota + 1
	txWrite
	txCas
)

// tx is one register transaction as a block has it. Keys and values are numbers
// of the replay's checker.Values; 0 is nil, a register never written.
type tx struct {
	hash     string
	kind     kind
	reverted bool
	key      int32
	value    int32 // read: what its receipt reports; write: what it writes; cas: the new value
	old      int32 // cas: the value it expects
}

// block is a block as replay needs it.
type block struct {
	Block
	parent *block // nil for the first block of the walk, and for a gap
	known  bool   // some node told its transactions
	txs    []tx
	op     int // the op that told them, or that named the block
	traced bool
	canon  bool
	writes map[int32]int32 // key → value it leaves; only off the canonical chain
}

// readTxs decodes the :ops of a :txs completion: vectors of a hash, an operation
// and its parts. ok is false when one cannot be read.
func readTxs(v history.Value, values *checker.Values) (txs []tx, ok bool) {
	if v.Kind() != history.Vector && v.Kind() != history.List {
		return nil, false
	}
	txs = make([]tx, 0, len(v.Elems()))
	for _, entry := range v.Elems() {
		parts := entry.Elems()
		if len(parts) != 5 {
			return nil, false
		}
		t := tx{hash: parts[0].Text(), key: values.Number(parts[2])}
		switch parts[4].Text() {
		case "ok":
		case "reverted":
			t.reverted = true
		default:
			return nil, false
		}
		if t.kind, ok = readChange(parts[1].Text(), parts[3], values, &t); !ok || t.hash == "" {
			return nil, false
		}
		txs = append(txs, t)
	}
	return txs, true
}

// readChange decodes what a :read, :write or :cas does with its key.
func readChange(f string, v history.Value, values *checker.Values, t *tx) (kind, bool) {
	switch f {
	case "read":
		t.value = values.Number(v)
		return txRead, true
	case "write":
		t.value = values.Number(v)
		return txWrite, true
	case "cas":
		parts := v.Elems()
		if len(parts) != 2 || v.Kind() != history.Vector && v.Kind() != history.List {
			return 0, false
		}
		t.old, t.value = values.Number(parts[0]), values.Number(parts[1])
		return txCas, true
	}
	return 0, false
}

// readOp decodes a client's register op, of which value is [key change].
func readOp(f string, value history.Value, values *checker.Values) (t tx, ok bool) {
	parts := value.Elems()
	if len(parts) != 2 || value.Kind() != history.Vector && value.Kind() != history.List {
		return t, false
	}
	t.key = values.Number(parts[0])
	if f == "peek" {
		f = "read"
	}
	t.kind, ok = readChange(f, parts[1], values, &t)
	return t, ok
}

// describe renders what a transaction does, as its op would show it.
func (t *tx) describe(values *checker.Values) string {
	key, value := values.Value(t.key).String(), values.Value(t.value).String()
	text := ""
	switch t.kind {
	case txRead:
		text = "read [" + key + " " + value + "]"
	case txWrite:
		text = "write [" + key + " " + value + "]"
	case txCas:
		text = "cas [" + key + " [" + values.Value(t.old).String() + " " + value + "]]"
	}
	if t.reverted {
		text += ", reverted"
	}
	return text
}
