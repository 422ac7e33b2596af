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
)

// blockBugs are about what blocks are.
func blockBugs() []Bug {
	return []Bug{
		{Name: "fork", Doc: fmt.Sprintf("from block %d on the node serves other blocks than everybody else, with hashes and parents that fit together", forkHeight),
			Targets: LastValidator, Workloads: []string{"head", "register"}, Checker: "fork", plant: newFork},
		{Name: "reorg", Doc: fmt.Sprintf("%d blocks after the first question for finalized the node serves blocks of its own, and gives them up when they are %d", reorgAfter, reorgBlocks),
			Targets: LastValidator, Workloads: []string{"head"}, Checker: "reorg-depth", plant: newReorg},
		{Name: "wrong-root", Doc: fmt.Sprintf("one block in %d has another state root on this node, under the same hash", lieEvery),
			Targets: LastValidator, Workloads: []string{"head", "block"}, Checker: "state-agree",
			plant: func(honest) rewriter {
				return aboutBlocks(func(n uint64, b object) bool {
					b.set("stateRoot", crypto.Keccak256Hash([]byte("jepgo root"), b["hash"]))
					return n%lieEvery == 0
				})
			}},
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
