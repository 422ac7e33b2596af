package workloads

import (
	"bytes"
	"context"
	"fmt"
	"math/big"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/jepgo/jepgo/client"
	"github.com/jepgo/jepgo/history"
)

const (
	quietAfter   = time.Second            // an op of a stream ends then, with nothing
	servedWithin = time.Second            // for the node to serve a head that it announced
	servedPoll   = 50 * time.Millisecond  // between questions for it
	mostServed   = 4                      // heads of one op that are asked for, the newest
	resubscribe  = 500 * time.Millisecond // from a failure to the next attempt
	lastEvents   = 5                      // ops of each stream in the end, at most
)

// Streams of the sub workload.
const (
	headStream = "heads"
	logStream  = "logs"
)

// streamLost is the class of an op of a stream that was open and is not any more.
const streamLost = "stream-lost"

// sub is the workload of that name.
func sub() Workload {
	return Workload{
		Name:  "sub",
		Ops:   []string{"events"},
		Needs: Offers{WS: true},
		Doc: "Two WebSocket subscriptions for each node, newHeads and the logs of all contracts of the run, each a client of its own " +
			"that writes down what arrives, subscribes again after a loss, and then says so. Of the heads that a node announces " +
			"the newest are asked for by hash at once.",
		New: newSub,
	}
}

// subs is the workload at work.
type subs struct {
	env     Env
	threads []*streamThread
}

func newSub(_ context.Context, env Env) (Instance, error) {
	if len(env.Nodes) == 0 || len(env.WS) != len(env.Nodes) {
		return nil, fmt.Errorf("sub workload has %d nodes with %d WebSockets, want one for each", len(env.Nodes), len(env.WS))
	}
	return &subs{env: env}, nil
}

// Threads returns two clients for each node; one where no workload has a contract.
func (w *subs) Threads() []Thread {
	var out []Thread
	addresses := w.env.Book.addresses()
	for i, n := range w.env.Nodes {
		t := &streamThread{node: n, url: w.env.WS[i], patience: w.env.OpTimeout, stream: headStream, what: []any{"newHeads"}}
		w.threads = append(w.threads, t)
		if len(addresses) > 0 {
			w.threads = append(w.threads, &streamThread{
				node: n, url: w.env.WS[i], patience: w.env.OpTimeout, stream: logStream,
				what: []any{"logs", map[string]any{"address": addresses}},
			})
		}
	}
	for _, t := range w.threads {
		out = append(out, t)
	}
	return out
}

// Final lets each stream tell what still arrives, and ends it.
func (w *subs) Final() []Thread {
	var out []Thread
	for _, t := range w.threads {
		t.bounded, t.left = true, lastEvents
		out = append(out, t)
	}
	return out
}

// Closing returns nothing.
func (w *subs) Closing() []Thread { return nil }

// streamThread is one subscription at one node.
type streamThread struct {
	node     *client.Client
	url      string
	patience time.Duration
	stream   string
	what     []any

	open    *client.Stream // nil before it is subscribed, and after a loss
	bounded bool           // in the end: no more ops than left
	left    int
}

// Interval is none: an op ends when something has arrived.
func (t *streamThread) Interval() time.Duration { return time.Nanosecond }

// Next returns an :events op. In the end there are a few more of them, until one
// finds nothing, and then the stream is closed.
func (t *streamThread) Next() (history.Op, bool) {
	if t.bounded {
		if t.left--; t.left < 0 {
			t.close()
			return history.Op{}, false
		}
	}
	return history.Op{F: "events", Value: history.Keyword(t.stream), Node: t.node.Name()}, true
}

// Crash is never called: reads are not in doubt.
func (t *streamThread) Crash() error { return nil }

func (t *streamThread) close() {
	if t.open != nil {
		t.open.Close()
		t.open = nil
	}
}

// Invoke performs an :events op: it subscribes where that is not done, and then
// waits until something arrives, a second at the most.
func (t *streamThread) Invoke(life context.Context, o history.Op) history.Op {
	ctx, cancel := context.WithTimeout(life, t.patience)
	defer cancel()
	opened := false
	if t.open == nil {
		var err error
		if t.open, err = t.node.Subscribe(ctx, life, t.url, t.what...); err != nil {
			t.open = nil
			rest(ctx, resubscribe) // trying again at once would only fill the history
			return conclude(o, client.ReadOutcome(err))
		}
		opened = true
	}
	wait, done := context.WithTimeout(ctx, quietAfter)
	defer done()
	events, hashes, err := t.gather(wait)
	if err != nil {
		t.close()
		out := client.ReadOutcome(err)
		rest(ctx, resubscribe)
		return failed(o, streamLost, out.Class+": "+out.Text)
	}
	if len(events) == 0 {
		t.left = 0 // in the end this is enough
	}
	o.Type = history.OK
	o.Value = history.MapOf(history.Keyword("stream"), history.Keyword(t.stream), history.Keyword("events"), history.Vec(events...))
	if opened {
		o.Set(openedKey, history.Flag(true))
	}
	if served := t.served(ctx, hashes); len(served) > 0 {
		o.Set(servedKey, history.Vec(served...))
	}
	return o
}

// Keys of the extras of an :events op.
const (
	openedKey = "opened"
	servedKey = "served"
)

// gather waits for events and renders them. hashes are those of new heads.
func (t *streamThread) gather(ctx context.Context) (events []history.Value, hashes []common.Hash, err error) {
	if t.stream == headStream {
		heads, err := t.open.Heads(ctx)
		for _, h := range heads {
			hashes = append(hashes, h.Hash)
			events = append(events, history.Vec(history.Int(int64(h.Number)), history.Text(h.Hash.Hex()), history.Text(h.Parent.Hex())))
		}
		return events, hashes, err
	}
	logs, err := t.open.Logs(ctx)
	for _, l := range logs {
		parts := []history.Value{
			history.Int(int64(l.Number)), history.Text(l.BlockHash.Hex()), history.Int(l.Index), history.Text(l.Tx.Hex()), element(l.Log),
		}
		if l.Removed {
			parts = append(parts, history.Flag(true))
		}
		events = append(events, history.Vec(parts...))
	}
	return events, nil, err
}

// element is the number of an Emitted event, as the log workload makes them, nil
// for any other log.
func element(l client.Log) history.Value {
	if len(l.Topics) != 1 || len(l.Data) != 32 || !bytes.Equal(l.Topics[0][:], crypto.Keccak256([]byte("Emitted(uint256)"))) {
		return history.Value{}
	}
	return history.BigOf(new(big.Int).SetBytes(l.Data))
}

// served asks the node for the newest heads that it announced. Where it does not
// answer at all nothing is said.
func (t *streamThread) served(ctx context.Context, hashes []common.Hash) []history.Value {
	var out []history.Value
	grace := time.Now().Add(servedWithin)
	for _, h := range hashes[max(0, len(hashes)-mostServed):] {
		if is, known := t.serves(ctx, h, grace); known {
			out = append(out, history.Vec(history.Text(h.Hex()), history.Flag(is)))
		}
	}
	return out
}

// serves asks for a block until the node has it. That it does not is known only
// where the node says so when the time for it is over.
func (t *streamThread) serves(ctx context.Context, hash common.Hash, grace time.Time) (is, known bool) {
	for {
		late := time.Now().After(grace)
		_, err := t.node.HeaderByHash(ctx, hash)
		switch {
		case err == nil:
			return true, true
		case client.ReadOutcome(err).Class != client.Absent:
			return false, false
		case late:
			return false, true
		}
		rest(ctx, servedPoll)
	}
}
