package nemesis

import (
	"context"
	"math/rand/v2"
	"strings"

	"github.com/jepgo/jepgo/devnet/rpc"
	"github.com/jepgo/jepgo/history"
)

const (
	rpcCorruptStart = "start-rpc-corrupt"
	rpcCorruptStop  = "stop-rpc-corrupt"
)

// lie is one way to falsify answers.
type lie struct {
	name, doc, methods string
	drawn              bool // also where none is named: every workload asks for such
	do                 rpc.Action
}

// lies is the library of rpc-corrupt. To add one, add a line.
func lies() []lie {
	const blocks, receipts = "eth_getBlockBy*", "eth_getTransactionReceipt"
	edit := func(path string, do rpc.Operation) rpc.Action {
		return rpc.Action{Kind: rpc.Corrupt, Edits: []rpc.Edit{{Path: path, Do: do}}}
	}
	set := func(path, value string) rpc.Action {
		return rpc.Action{Kind: rpc.Corrupt, Edits: []rpc.Edit{{Path: path, Do: rpc.SetField, Value: value}}}
	}
	return []lie{
		{"wrong-hash", "a block with another hash", blocks, true, edit("hash", rpc.FlipHex)},
		{"wrong-parent", "a block with another parent", blocks, true, edit("parentHash", rpc.FlipHex)},
		{"wrong-root", "a block with another state root", blocks, true, edit("stateRoot", rpc.FlipHex)},
		{"wrong-author", "a block by another author", blocks, false, edit("miner", rpc.FlipHex)},
		{"wrong-difficulty", "a block of another difficulty", blocks, false,
			rpc.Action{Kind: rpc.Corrupt, Edits: []rpc.Edit{{Path: "difficulty", Do: rpc.FlipHex}, {Path: "totalDifficulty", Do: rpc.FlipHex}}}},
		{"null-block", "no block", blocks, true, set("", "null")},
		{"no-transactions", "a block without its transactions", blocks, false,
			rpc.Action{Kind: rpc.Corrupt, Edits: []rpc.Edit{{Path: "transactions", Do: rpc.TruncateArray}}}},
		{"missing-field", "a block without a hash", blocks, true, edit("hash", rpc.DeleteField)},
		{"oversized-hex", "a block number of over 32 bytes", blocks, true, edit("number", rpc.OversizeHex)},
		{"malformed-hex", "a block hash with a digit that is none", blocks, true, edit("hash", rpc.MalformHex)},
		{"negative-hex", "a block number below 0", blocks, true, edit("number", rpc.NegateHex)},
		{"nested", "a block hash within a hundred arrays", blocks, true, edit("hash", rpc.NestValue)},
		{"wrong-status", "a receipt with another status", receipts, false, set("status", `"0x0"`)},
		{"no-logs", "a receipt without its logs", receipts, false,
			rpc.Action{Kind: rpc.Corrupt, Edits: []rpc.Edit{{Path: "logs", Do: rpc.TruncateArray}}}},
		{"wrong-state", "another result of a call", "eth_call", false, edit("", rpc.FlipHex)},
		{"wrong-chain-id", "another chain id", "eth_chainId", false, set("", `"0xbad"`)},
		{"wrong-id", "an answer to a request that nobody made", "", true, rpc.Action{Kind: rpc.WrongID}},
	}
}

func lieNames(drawn bool) []string {
	var ns []string
	for _, l := range lies() {
		if l.drawn || !drawn {
			ns = append(ns, l.name)
		}
	}
	return ns
}

// rpcCorruptFault falsifies answers.
type rpcCorruptFault struct {
	rpcFault
	needsRPC
	lie string // "": drawn
}

func rpcCorruptEntry() Entry {
	return Entry{
		Name: "rpc-corrupt", Doc: "falsify answers of the nodes' RPC", Specs: specs(new(rpcCorruptFault).own()...),
		Start: rpcCorruptStart, Stop: rpcCorruptStop, Color: "#8E5AA8", Lies: true,
		New: func(spec string) (Fault, error) {
			var f rpcCorruptFault
			err := parseSpec(spec, f.own()...)
			return f, err
		},
	}
}

func (f *rpcCorruptFault) own() []param { return f.params(oneOf(&f.lie, lieNames(false)...)) }

func (f rpcCorruptFault) Name() string { return f.name("rpc-corrupt", f.lie) }

func (rpcCorruptFault) Start() string { return rpcCorruptStart }
func (rpcCorruptFault) Stop() string  { return rpcCorruptStop }

func (f rpcCorruptFault) Explain() string {
	var parts []string
	for _, l := range lies() {
		if f.lie == "" || f.lie == l.name {
			parts = append(parts, l.name+" ("+l.doc+")")
		}
	}
	return "Changes one thing in answers, in the proxy before a node's RPC, and no other byte: " + strings.Join(parts, "; ") + ". " +
		"Where none is named it draws one that clients ask for often, and 30 % of the requests are hit. " + lieText +
		"It bites when an answer to a client was changed: one without the field does not count. " + f.explain()
}

func (f rpcCorruptFault) Possible(r Reach) error { return f.possible(f.Name(), r) }

func (f rpcCorruptFault) Plan(ctx context.Context, net Net, rng *rand.Rand) (Application, error) {
	name := either(rng, f.lie, lieNames(true)...)
	rule := rpc.Rule{Share: rpcShare}
	for _, l := range lies() {
		if l.name == name {
			rule.Do, rule.Methods = l.do, l.methods
		}
	}
	return f.plan(ctx, f.Name(), net, rng, rule, history.Keyword("lie"), history.Keyword(name))
}
