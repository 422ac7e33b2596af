package nemesis

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"

	"github.com/jepgo/jepgo/devnet/rpc"
	"github.com/jepgo/jepgo/history"
)

const (
	rpcStaleStart = "start-rpc-stale"
	rpcStaleStop  = "stop-rpc-stale"
	mostStale     = 10_000
)

// rpcStaleFault answers as of some blocks ago.
type rpcStaleFault struct {
	rpcFault
	needsRPC
	blocks uint64 // 0: drawn
}

func rpcStaleEntry() Entry {
	return Entry{
		Name: "rpc-stale", Doc: "answer requests to the nodes' RPC as of some blocks ago", Specs: specs(new(rpcStaleFault).own()...),
		Start: rpcStaleStart, Stop: rpcStaleStop, Color: "#A3A847", Lies: true,
		New: func(spec string) (Fault, error) {
			var f rpcStaleFault
			err := parseSpec(spec, f.own()...)
			return f, err
		},
	}
}

func (f *rpcStaleFault) own() []param {
	doc := fmt.Sprintf("a number of blocks from 1 to %d", mostStale)
	return f.params(param{doc: doc, take: func(part string) (bool, error) {
		n, err := strconv.ParseUint(part, 10, 64)
		if err != nil {
			return false, nil
		}
		if n < 1 || n > mostStale {
			return true, fmt.Errorf("%q: expected %s", part, doc)
		}
		f.blocks = n
		return true, nil
	}})
}

func (f rpcStaleFault) Name() string {
	blocks := ""
	if f.blocks > 0 {
		blocks = strconv.FormatUint(f.blocks, 10)
	}
	return f.name("rpc-stale", blocks)
}

func (rpcStaleFault) Start() string { return rpcStaleStart }
func (rpcStaleFault) Stop() string  { return rpcStaleStop }

// lieText is what every fault that lies says of itself.
const lieText = "This is a lie of the RPC layer, not of the chain, and a checker that calls it a violation is right: " +
	"it shows what clients and checkers do about a node that lies, and is no part of all. "

func (f rpcStaleFault) Explain() string {
	return "Answers in the proxy before a node's RPC as of some blocks ago, 1, 3 or 10 where no number is named: " +
		"latest, safe and finalized become older numbers on the way to the node, the block number is answered accordingly, " +
		"newer blocks, receipts and transactions are null, and new heads come later. " +
		"State asked for by the number of a newer block is not hidden. With a share, answers jump back and forth. " + lieText +
		"It bites when a client was given an answer that was behind the node's head at that moment, by so many blocks. " + f.explain()
}

func (f rpcStaleFault) Possible(r Reach) error { return f.possible(f.Name(), r) }

func (f rpcStaleFault) Plan(ctx context.Context, net Net, rng *rand.Rand) (Application, error) {
	blocks := either(rng, f.blocks, 1, 3, 10)
	return f.plan(ctx, f.Name(), net, rng, rpc.Rule{Do: rpc.Action{Kind: rpc.Stale, Blocks: blocks}},
		history.Keyword("blocks"), history.Int(int64(blocks)))
}
