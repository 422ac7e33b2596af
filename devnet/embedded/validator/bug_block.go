package validator

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"
)

const (
	lieEvery    = 4  // of the blocks, one in so many is lied about
	clockFalls  = 60 // seconds that a timestamp falls back
	reorgAfter  = 3  // blocks after the first question for finalized, a branch begins,
	reorgBlocks = 6  // and at so many it is given up
	haltHeight  = 16 // the last block of a chain that stops
)

// blockBugs are about what blocks are.
func blockBugs() []Bug {
	return []Bug{
		{Name: "fork", Doc: fmt.Sprintf("from block %d on the node serves other blocks than everybody else, with hashes and parents that fit together", forkHeight),
			Targets: LastValidator, Workloads: []string{"head", "register"}, Checker: "fork", plant: newFork},
		{Name: "reorg", Doc: fmt.Sprintf("%d blocks after the first question for finalized the node serves blocks of its own, and gives them up when they are %d", reorgAfter, reorgBlocks),
			Targets: LastValidator, Workloads: []string{"head"}, Checker: "reorg-depth", plant: newReorg},
		{Name: "split", Doc: fmt.Sprintf("%d blocks after the first question for finalized the node serves blocks of its own, and its head stands still at the %dth", reorgAfter, stuckAfter-reorgAfter+1),
			Targets: LastValidator, Workloads: []string{"head"}, Checker: "converge", plant: newSplit},
		{Name: "wrong-root", Doc: fmt.Sprintf("one block in %d has another state root on this node, under the same hash", lieEvery),
			Targets: LastValidator, Workloads: []string{"head", "block"}, Checker: "state-agree",
			plant: func(honest) rewriter {
				return aboutBlocks(func(n uint64, b object) bool {
					b.set("stateRoot", crypto.Keccak256Hash([]byte("jepgo root"), b["hash"]))
					return n%lieEvery == 0
				})
			}},
		{Name: "wrong-parent", Doc: fmt.Sprintf("one block in %d has another parent on this node, under the same hash", lieEvery),
			Targets: LastValidator, Workloads: []string{"head", "block"}, Checker: "fork",
			plant: func(honest) rewriter {
				return aboutBlocks(func(n uint64, b object) bool {
					b.set("parentHash", crypto.Keccak256Hash([]byte("jepgo parent"), b["parentHash"]))
					return n%lieEvery == 0
				})
			}},
		{Name: "body-short", Doc: fmt.Sprintf("one block in %d lacks its last transaction on this node", lieEvery),
			Targets: LastValidator, Workloads: []string{"transfer", "block"}, Checker: "immutable-by-hash",
			plant: func(honest) rewriter {
				return aboutBlocks(func(n uint64, b object) bool {
					txs := b.list("transactions")
					if len(txs) == 0 || n%lieEvery != 0 {
						return false
					}
					b.set("transactions", txs[:len(txs)-1])
					return true
				})
			}},
		{Name: "body-repeats", Doc: fmt.Sprintf("one block in %d ends with the transactions of the block below it, once more", lieEvery),
			Targets: EveryValidator, Workloads: []string{"transfer", "block"}, Checker: "exactly-once", plant: repeatBodies},
		{Name: "halt", Doc: fmt.Sprintf("the chain stops at block %d", haltHeight),
			Targets: EveryValidator, Workloads: []string{"head", "block"}, Checker: "liveness", plant: newHalt},
		{Name: "clock-falls", Doc: fmt.Sprintf("the timestamp of one block in %d is before that of its parent", lieEvery),
			Targets: EveryValidator, Workloads: []string{"head", "block"}, Checker: "chain-time",
			plant: func(honest) rewriter {
				return aboutBlocks(func(n uint64, b object) bool {
					b.set("timestamp", hexutil.Uint64(b.number("timestamp")-clockFalls))
					return n%lieEvery == 0
				})
			}},
	}
}

// aboutBlocks changes blocks wherever they are asked for; lie says whether it has.
func aboutBlocks(lie func(n uint64, b object) bool) answers {
	change := func(_ context.Context, _ *call, honest json.RawMessage) any {
		if b := objectOf(honest); b != nil && lie(b.number("number"), b) {
			return b
		}
		return nil
	}
	return answers{"eth_getBlockByNumber": change, "eth_getBlockByHash": change}
}

// repeatBodies lets a transaction be in two blocks of one chain.
func repeatBodies(node honest) rewriter {
	change := func(ctx context.Context, c *call, honest json.RawMessage) any {
		b := objectOf(honest)
		if b == nil || b.number("number")%lieEvery != 0 || len(c.Params) < 2 {
			return nil
		}
		raw, err := node.ask(ctx, "eth_getBlockByHash", b["parentHash"], c.Params[1])
		below := objectOf(raw).list("transactions")
		if err != nil || len(below) == 0 {
			return nil
		}
		b.set("transactions", append(b.list("transactions"), below...))
		return b
	}
	return answers{"eth_getBlockByNumber": change, "eth_getBlockByHash": change}
}

// halt hides what is above a height.
type halt struct{ node honest }

func newHalt(node honest) rewriter { return halt{node} }

func (h halt) question(_ context.Context, c *call) *reply {
	if h.node.head() <= haltHeight {
		return nil
	}
	var n hexutil.Uint64
	if c.Method == "eth_getBlockByNumber" && len(c.Params) > 0 && json.Unmarshal(c.Params[0], &n) == nil && n > haltHeight {
		return result(nil)
	}
	return meaning(c, haltHeight, "latest", "safe", "finalized")
}

func (halt) answer(context.Context, *call, *reply) {}
