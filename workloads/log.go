package workloads

import (
	"context"
	"fmt"
	"math/big"
	"math/rand/v2"
	"sync/atomic"

	"github.com/ethereum/go-ethereum/common"

	"github.com/jepgo/jepgo/client"
	"github.com/jepgo/jepgo/history"
)

// logWorkload is the workload log.
func logWorkload() Workload {
	return Workload{
		Name: "log",
		Ops:  []string{"emit", "logs"}, Submits: true,
		Doc: "Transactions that emit an event with a unique number, and queries (eth_getLogs) for the events of one block by its hash, or " +
			"of some heights. A query for heights counts only when the node had the last of them. At the end every node is asked " +
			"for the events of the whole run.",
		New: newLog,
	}
}

const (
	longestRange = 8  // heights of a query in the main phase
	finalRange   = 64 // heights of a query in the end
	finalBlocks  = 20 // blocks that are asked for by hash in the end
)

// logging is the workload at work.
type logging struct {
	shareOnly
	env      Env
	contract *contract
	given    atomic.Int64 // elements handed out: 1 to given
	places   *places
}

func newLog(ctx context.Context, env Env) (Instance, error) {
	c, err := deployed(ctx, env, "Log")
	if err != nil {
		return nil, err
	}
	w := &logging{env: env, contract: c, places: newPlaces(c)}
	env.Book.Add(c.address, c.height, w.decode)
	return w, nil
}

// Strong draws an :emit.
func (w *logging) Strong(*rand.Rand) history.Op {
	return history.Op{F: "emit", Value: history.Int(w.given.Add(1))}
}

// Local draws a :logs.
func (w *logging) Local(rng *rand.Rand) (history.Op, bool) {
	at := w.places.draw(rng)
	if rng.IntN(2) == 0 {
		return logsAt(at.hash), true
	}
	from := at.number - min(at.number, rng.Uint64N(longestRange))
	return logsBetween(max(from, w.contract.height), at.number), true
}

func logsAt(hash common.Hash) history.Op {
	return history.Op{F: "logs", Value: history.MapOf(history.Keyword("at"), history.Text(hash.Hex()))}
}

func logsBetween(from, to uint64) history.Op {
	return history.Op{F: "logs", Value: history.MapOf(
		history.Keyword("from"), history.Int(int64(from)), history.Keyword("to"), history.Int(int64(to)))}
}

// Final asks every node for all logs, by heights, and for those of the newest
// blocks by hash.
func (w *logging) Final() []Thread {
	var ops [][]history.Op
	last := w.places.newest().number
	for from := w.contract.height; from <= last; from += finalRange {
		ops = append(ops, []history.Op{logsBetween(from, min(last, from+finalRange-1))})
	}
	for _, at := range w.places.last(finalBlocks) {
		ops = append(ops, []history.Op{logsAt(at.hash)})
	}
	return finalReads(w.env, w, ops)
}

// Invoke performs an :emit or :logs.
func (w *logging) Invoke(ctx context.Context, s *Sender, o history.Op) history.Op {
	if o.F == "logs" {
		return w.query(ctx, s.node, o)
	}
	e, ok := o.Value.Int()
	if !ok {
		return failed(o, client.Refused, fmt.Sprintf("value %s of an emit is no number", o.Value))
	}
	do, err := w.contract.call(callGas, "log", unsigned(e))
	if err != nil {
		return failed(o, client.Refused, err.Error())
	}
	o, receipt := s.Execute(ctx, o, do)
	if o.Type != history.OK {
		return o
	}
	w.places.add(receipt.Number, receipt.BlockHash)
	for _, l := range w.contract.events(receipt, "Emitted") {
		if n, ok := emitted(l); ok && n.Cmp(unsigned(e)) == 0 && l.Index >= 0 {
			o.Set(logKey, history.Int(l.Index))
			break
		}
	}
	return o
}

// logKey is the extra of an :emit that says where its event is. A receipt that
// lacks the event has none.
const logKey = "log"

// emitted reads an event.
func emitted(l client.Log) (*big.Int, bool) {
	if len(l.Topics) != 1 || len(l.Data) != 32 {
		return nil, false
	}
	return new(big.Int).SetBytes(l.Data), true
}

// query performs a :logs.
func (w *logging) query(ctx context.Context, n *client.Client, o history.Op) history.Op {
	var logs []client.BlockLog
	if at, ok := o.Value.Field("at"); ok {
		hash := common.HexToHash(at.Text())
		var err error
		if logs, err = n.LogsOf(ctx, w.contract.address, hash); err != nil {
			return unread(o, err)
		}
		w.places.put(&o, hash)
	} else {
		from, okFrom := heightOf(o.Value, "from")
		to, okTo := heightOf(o.Value, "to")
		if !okFrom || !okTo || from > to {
			return failed(o, client.Refused, fmt.Sprintf("value %s is neither {:at hash} nor {:from n :to m}", o.Value))
		}
		answer, err := n.LogsBetween(ctx, w.contract.address, from, to)
		if err != nil {
			return unread(o, err)
		}
		logs = answer.Logs
		hash := answer.After.Hash
		if answer.Before.Hash != hash {
			hash = common.Hash{} // replaced meanwhile: of which chain they are is open
		}
		place(&o, to, hash)
	}
	entries := make([]history.Value, len(logs))
	for i, l := range logs {
		e, ok := emitted(l.Log)
		if !ok || l.Topics[0] != w.contract.abi.Events["Emitted"].ID {
			return failed(o, client.Malformed, fmt.Sprintf("log %d of block %d is none that the contract can emit", l.Index, l.Number))
		}
		entries[i] = history.Vec(history.Int(int64(l.Number)), history.Text(l.BlockHash.Hex()), history.Int(l.Index),
			history.Text(l.Tx.Hex()), history.BigOf(e))
	}
	o.Type = history.OK
	kvs := append([]history.Value(nil), o.Value.Elems()...)
	o.Value = history.MapOf(append(kvs, history.Keyword("logs"), history.Vec(entries...))...)
	return o
}

func heightOf(v history.Value, name string) (uint64, bool) {
	field, _ := v.Field(name)
	n, ok := field.Int()
	return uint64(n), ok && n >= 0
}

// decode reads a transaction to the contract.
func (w *logging) decode(tx client.BlockTx) (Meaning, bool) {
	method, args, ok := w.contract.decode(tx)
	if !ok || method != "log" {
		return nil, false
	}
	e, ok := args[0].(*big.Int)
	if !ok {
		return nil, false
	}
	return does("emit", history.BigOf(e)), true
}
