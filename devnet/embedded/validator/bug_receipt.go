package validator

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
)

const (
	gasAge     = 3 // blocks after which a receipt changes
	goneAge    = 6 // and after which it is gone
	wrongEvery = 3 // of the transactions one in so many, by its hash, has a false receipt
)

// listRead is the event of a read in the contract of the append workload.
var listRead = crypto.Keccak256Hash([]byte("Read(uint256,uint256,uint32[])"))

// receiptBugs are about what receipts say.
func receiptBugs() []Bug {
	return []Bug{
		{Name: "stale-read", Doc: fmt.Sprintf("some register reads by transaction report what the key held %d blocks earlier", staleBlocks),
			Targets: EveryValidator, Workloads: []string{"register"}, Checker: "linear", plant: newStaleRead},
		{Name: "receipt-changes", Doc: fmt.Sprintf("once a receipt is more than %d blocks old it says that more gas was used", gasAge), Targets: LastValidator,
			Workloads: []string{"transfer", "receipt"}, Checker: "immutable-by-hash",
			plant: aboutReceipts(func(node honest, r object) bool {
				r.set("gasUsed", hexutil.Uint64(r.number("gasUsed")+1))
				return node.head() > r.number("blockNumber")+gasAge
			})},
		{Name: "index-off", Doc: "receipts place transactions one too high in their blocks", Targets: LastValidator,
			Workloads: []string{"transfer", "receipt", "block"}, Checker: "index",
			plant: aboutReceipts(func(_ honest, r object) bool {
				r.set("transactionIndex", hexutil.Uint64(r.number("transactionIndex")+1))
				return true
			})},
		{Name: "receipt-gone", Doc: fmt.Sprintf("a receipt that is more than %d blocks old is not there any more", goneAge), Targets: LastValidator,
			Workloads: []string{"transfer", "receipt", "block"}, Checker: "index",
			plant: func(node honest) rewriter {
				return answers{"eth_getTransactionReceipt": func(_ context.Context, _ *call, honest json.RawMessage) any {
					if r := objectOf(honest); r == nil || node.head() <= r.number("blockNumber")+goneAge {
						return nil
					}
					return json.RawMessage("null")
				}}
			}},
		{Name: "wrong-block", Doc: fmt.Sprintf("one receipt in %d names the block below that of its transaction", wrongEvery), Targets: EveryValidator,
			Workloads: []string{"transfer", "block"}, Checker: "index",
			plant: aboutReceipts(func(node honest, r object) bool {
				block := node.header(r.number("blockNumber"))
				if block == nil || !unlucky(r) {
					return false
				}
				r.set("blockNumber", hexutil.Uint64(block.Number.Uint64()-1))
				r.set("blockHash", block.ParentHash)
				return true
			})},
		{Name: "list-doubles", Doc: fmt.Sprintf("one transaction in %d reads lists whose last element is there twice", wrongEvery), Targets: EveryValidator,
			Workloads: []string{"append"}, Checker: "replay", plant: aboutReceipts(doubleLists)},
		{Name: "list-short", Doc: fmt.Sprintf("one transaction in %d reads lists without their last element", wrongEvery), Targets: EveryValidator,
			Workloads: []string{"append"}, Checker: "list-append", plant: aboutReceipts(shortenLists)},
	}
}

// aboutReceipts changes receipts; lie says whether it has.
func aboutReceipts(lie func(node honest, r object) bool) func(honest) rewriter {
	return func(node honest) rewriter {
		return answers{"eth_getTransactionReceipt": func(_ context.Context, _ *call, honest json.RawMessage) any {
			r := objectOf(honest)
			// A receipt of a creation stays, so that there are contracts to test.
			if r == nil || string(r["contractAddress"]) != "null" || !lie(node, r) {
				return nil
			}
			return r
		}}
	}
}

// unlucky reports whether the transaction is one whose receipt is false, the same
// ones on every node.
func unlucky(receipt object) bool {
	var tx common.Hash
	return json.Unmarshal(receipt["transactionHash"], &tx) == nil && tx[31]%wrongEvery == 0
}

func doubleLists(_ honest, r object) bool {
	return aboutLists(r, func(list words) words { return append(list.add(1, 1), list[len(list)-32:]...) })
}

func shortenLists(_ honest, r object) bool {
	return aboutLists(r, func(list words) words { return list.add(1, -1)[:len(list)-32] })
}

// aboutLists changes the lists that a transaction read and found not empty: the
// place of the list, its length, its elements.
func aboutLists(r object, change func(words) words) (changed bool) {
	var logs []*types.Log
	if !unlucky(r) || json.Unmarshal(r["logs"], &logs) != nil {
		return false
	}
	for _, l := range logs {
		if len(l.Topics) == 3 && l.Topics[0] == listRead && words(l.Data).at(1) > 0 {
			l.Data = change(words(l.Data))
			changed = true
		}
	}
	r.set("logs", logs)
	return changed
}
