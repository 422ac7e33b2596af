package workloads

import (
	"github.com/ethereum/go-ethereum/common"

	"github.com/jepgo/jepgo/client"
	"github.com/jepgo/jepgo/history"
)

// conclude completes an op as the outcome says.
func conclude(o history.Op, out client.Outcome) history.Op {
	o.Type, o.Error = out.Type, out.Value()
	return o
}

// failed completes an op that did not happen.
func failed(o history.Op, class, text string) history.Op {
	return conclude(o, client.Outcome{Type: history.Fail, Class: class, Text: text})
}

// place notes which block an op was answered from.
func place(o *history.Op, height uint64, hash common.Hash) {
	o.Set(history.HeightKey, history.Int(int64(height)))
	if hash != (common.Hash{}) {
		o.Set(history.HashKey, history.Text(hash.Hex()))
	}
}

// blockValue renders a header as B of the history.
func blockValue(h client.Header) history.Value {
	return history.MapOf(
		history.Keyword("n"), history.Int(int64(h.Number)),
		history.Keyword("h"), history.Text(h.Hash.Hex()),
		history.Keyword("parent"), history.Text(h.Parent.Hex()),
		history.Keyword("root"), history.Text(h.Root.Hex()),
		history.Keyword("ts"), history.Int(int64(h.Time)))
}

// keyOf reads the key of [key value].
func keyOf(v history.Value) (int64, bool) {
	parts := v.Elems()
	if len(parts) != 2 {
		return 0, false
	}
	return parts[0].Int()
}
