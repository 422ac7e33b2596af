package validator

import (
	"context"
	"encoding/json"
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"
)

const wrongViews = 3 // of the views one in so many is false

// stateBugs are about what accounts and contracts hold.
func stateBugs() []Bug {
	sometimes := fmt.Sprintf("one view in %d", wrongViews)
	return []Bug{
		{Name: "no-views", Doc: "every eth_call is refused", Targets: EveryValidator,
			Workloads: []string{"head", "counter"}, Checker: "stats", Says: Unsure, plant: func(honest) rewriter { return noViews{} }},
		{Name: "counter-lost", Doc: sometimes + " of the counter is one too low", Targets: LastValidator,
			Workloads: []string{"counter"}, Checker: "replay",
			plant: views("count()", wrongViews, func(w words) words { return w.add(0, -1) })},
		{Name: "counter-twice", Doc: "the counter counts one more for each block of the chain", Targets: EveryValidator,
			Workloads: []string{"counter", "block"}, Checker: "exactly-once",
			plant: views("count()", 1, func(w words) words { return w.add(0, w.at(1)) })},
		{Name: "counter-over", Doc: "the counter counts a thousand too many", Targets: EveryValidator,
			Workloads: []string{"counter"}, Checker: "counter",
			plant: views("count()", 1, func(w words) words { return w.add(0, 1000) })},
		{Name: "set-short", Doc: sometimes + " of a set lacks its first element", Targets: LastValidator,
			Workloads: []string{"set"}, Checker: "replay", plant: views("elements(uint256)", wrongViews, withoutFirst)},
		{Name: "set-lost", Doc: "each set lacks the element that was added first", Targets: EveryValidator,
			Workloads: []string{"set"}, Checker: "set-full", plant: views("elements(uint256)", 1, withoutFirst)},
		{Name: "bank-made", Doc: sometimes + " of the accounts has a coin too many", Targets: LastValidator,
			Workloads: []string{"bank"}, Checker: "bank", plant: views("balances()", wrongViews, func(w words) words { return w.add(4, 1) })},
		{Name: "bank-moved", Doc: sometimes + " of the accounts has a coin in the wrong one", Targets: LastValidator,
			Workloads: []string{"bank"}, Checker: "replay",
			plant: views("balances()", wrongViews, func(w words) words {
				if w.at(4) == 0 {
					return nil
				}
				return w.add(4, -1).add(5, 1)
			})},
		{Name: "hash-ignored", Doc: "calls at the hash of a block are answered from the latest one", Targets: LastValidator,
			Workloads: []string{"call-at"}, Checker: "call-at", plant: func(honest) rewriter { return hashIgnored{} }},
		{Name: "state-differs", Doc: "calls at the hash of a block find the state of the one below it", Targets: EveryValidator,
			Workloads: []string{"call-at"}, Checker: "replay", plant: func(node honest) rewriter { return below{node} }},
		{Name: "nonce-behind", Doc: "the count of an account's transactions at the hash of a block is one too low", Targets: EveryValidator,
			Workloads: []string{"transfer", "block"}, Checker: "nonce", plant: func(honest) rewriter {
				return answers{"eth_getTransactionCount": func(_ context.Context, c *call, honest json.RawMessage) any {
					var n hexutil.Uint64
					if !isObject(c, 1) || json.Unmarshal(honest, &n) != nil || n == 0 {
						return nil
					}
					return n - 1
				}}
			}},
		{Name: "account-differs", Doc: "accounts have a wei too many on this node at the hash of a block", Targets: LastValidator,
			Workloads: []string{"transfer", "block"}, Checker: "state-agree", plant: func(honest) rewriter {
				return answers{"eth_getBalance": func(_ context.Context, c *call, honest json.RawMessage) any {
					var wei hexutil.Big
					if !isObject(c, 1) || json.Unmarshal(honest, &wei) != nil {
						return nil
					}
					return (*hexutil.Big)(new(big.Int).Add(wei.ToInt(), common.Big1))
				}}
			}},
	}
}

// isObject reports whether a parameter is one, such as {"blockHash": …}.
func isObject(c *call, i int) bool { return i < len(c.Params) && objectOf(c.Params[i]) != nil }

// words is what a call returned. The views of the workloads' contracts end with
// the number of the block and its parent; lists begin with their place, so their
// length is word 3.
type words []byte

func (w words) at(i int) int64 {
	if len(w) < 32*(i+1) {
		return 0
	}
	return new(big.Int).SetBytes(w[32*i : 32*(i+1)]).Int64()
}

// add changes a word, unless it would go below zero.
func (w words) add(i int, n int64) words {
	if len(w) < 32*(i+1) || w.at(i)+n < 0 {
		return nil
	}
	copy(w[32*i:], common.BigToHash(big.NewInt(w.at(i)+n)).Bytes())
	return w
}

// withoutFirst leaves the first element of a list of two or more out.
func withoutFirst(w words) words {
	if w.at(3) < 2 {
		return nil
	}
	w = w.add(3, -1)
	return append(w[:4*32], w[5*32:]...)
}

// views lies about one answer in n to calls of a contract's method. Nil is the
// truth.
func views(signature string, n uint64, lie func(words) words) func(honest) rewriter {
	want := hexutil.Encode(crypto.Keccak256([]byte(signature))[:4])
	return func(honest) rewriter {
		turns := every{n: n}
		return answers{"eth_call": func(_ context.Context, c *call, honest json.RawMessage) any {
			var what struct {
				Input string `json:"input"`
			}
			var data hexutil.Bytes
			if len(c.Params) == 0 || json.Unmarshal(c.Params[0], &what) != nil || len(what.Input) < len(want) || what.Input[:len(want)] != want ||
				json.Unmarshal(honest, &data) != nil || len(data) == 0 || !turns.time() {
				return nil
			}
			if said := lie(words(data)); said != nil {
				return hexutil.Bytes(said)
			}
			return nil
		}}
	}
}

// hashIgnored takes latest for the hash of a block.
type hashIgnored struct{}

func (hashIgnored) question(_ context.Context, c *call) *reply {
	if c.Method == "eth_call" && isObject(c, 1) {
		c.Params[1] = json.RawMessage(`"latest"`)
	}
	return nil
}

func (hashIgnored) answer(context.Context, *call, *reply) {}

// below takes the parent for a block that is named by its hash.
type below struct{ node honest }

func (b below) question(ctx context.Context, c *call) *reply {
	if c.Method != "eth_call" || !isObject(c, 1) {
		return nil
	}
	var at struct {
		Hash string `json:"blockHash"`
	}
	if json.Unmarshal(c.Params[1], &at) != nil {
		return nil
	}
	raw, err := b.node.ask(ctx, "eth_getBlockByHash", at.Hash, false)
	block := objectOf(raw)
	if err != nil || block == nil {
		return nil // the node says itself that there is none
	}
	c.Params[1] = result(map[string]json.RawMessage{"blockHash": block["parentHash"]}).Result
	return nil
}

func (below) answer(context.Context, *call, *reply) {}

// noViews runs no calls.
type noViews struct{}

func (noViews) question(_ context.Context, c *call) *reply {
	if c.Method != "eth_call" {
		return nil
	}
	return &reply{Error: &rpcError{Code: -32000, Message: "no view of the state"}}
}

func (noViews) answer(context.Context, *call, *reply) {}
