package nemesis

import (
	"context"
	"math/rand/v2"

	"github.com/jepgo/jepgo/devnet/rpc"
	"github.com/jepgo/jepgo/history"
)

const (
	rpcErrorStart = "start-rpc-error"
	rpcErrorStop  = "stop-rpc-error"
)

// rpcErrors are the ways to answer with an error. None of them is a lie: either
// the node was never asked, or the client can tell that it has no answer.
func rpcErrors() []struct {
	name string
	do   rpc.Action
} {
	return []struct {
		name string
		do   rpc.Action
	}{
		{"429", rpc.Action{Kind: rpc.Status, Status: 429}},
		{"503", rpc.Action{Kind: rpc.Status, Status: 503}},
		{"html", rpc.Action{Kind: rpc.Page}},
		{"truncated", rpc.Action{Kind: rpc.Cut}},
		{"jsonrpc", rpc.Action{Kind: rpc.Fail, Code: -32005, Message: "limit exceeded"}},
	}
}

func rpcErrorNames() []string {
	var ns []string
	for _, e := range rpcErrors() {
		ns = append(ns, e.name)
	}
	return ns
}

// rpcErrorFault answers requests to nodes with errors.
type rpcErrorFault struct {
	rpcFault
	needsRPC
	with string // "": drawn
}

func rpcErrorEntry() Entry {
	return Entry{
		Name: "rpc-error", Doc: "answer requests to the nodes' RPC with errors", Specs: specs(new(rpcErrorFault).own()...),
		Start: rpcErrorStart, Stop: rpcErrorStop, Color: "#C76F83",
		New: func(spec string) (Fault, error) {
			var f rpcErrorFault
			err := parseSpec(spec, f.own()...)
			return f, err
		},
	}
}

func (f *rpcErrorFault) own() []param { return f.params(oneOf(&f.with, rpcErrorNames()...)) }

func (f rpcErrorFault) Name() string { return f.name("rpc-error", f.with) }

func (rpcErrorFault) Start() string { return rpcErrorStart }
func (rpcErrorFault) Stop() string  { return rpcErrorStop }

func (f rpcErrorFault) Explain() string {
	return "Answers requests in the proxy before a node's RPC, without asking the node: 429 and 503 are HTTP statuses, " +
		"html is a gateway's page under status 200, jsonrpc is error -32005 (limit exceeded). " +
		"truncated asks the node, and ends its answer after half of the bytes. One is drawn where none is named, and 30 % of the requests are hit. " +
		"Over WebSocket a status closes the connection. " +
		"It bites when the proxy has given such an answer to a client. " + f.explain()
}

func (f rpcErrorFault) Possible(r Reach) error { return f.possible(f.Name(), r) }

func (f rpcErrorFault) Plan(ctx context.Context, net Net, rng *rand.Rand) (Application, error) {
	with := either(rng, f.with, rpcErrorNames()...)
	rule := rpc.Rule{Share: rpcShare}
	for _, e := range rpcErrors() {
		if e.name == with {
			rule.Do = e.do
		}
	}
	return f.plan(ctx, f.Name(), net, rng, rule, history.Keyword("with"), history.Text(with))
}
