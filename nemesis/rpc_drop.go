package nemesis

import (
	"context"
	"math/rand/v2"

	"github.com/jepgo/jepgo/devnet/rpc"
	"github.com/jepgo/jepgo/history"
)

const (
	rpcDropStart = "start-rpc-drop"
	rpcDropStop  = "stop-rpc-drop"
	dropHang     = "hang"
	rpcShare     = 0.3 // of the requests, by default: clients go on, and fail often
)

// rpcDropFault loses requests to nodes, or their answers.
type rpcDropFault struct {
	rpcFault
	needsRPC
	side string // "": drawn
}

func rpcDropEntry() Entry {
	return Entry{
		Name: "rpc-drop", Doc: "lose requests to the nodes' RPC, or only the answers", Specs: specs(new(rpcDropFault).own()...),
		Start: rpcDropStart, Stop: rpcDropStop, Color: "#C98B5B",
		New: func(spec string) (Fault, error) {
			var f rpcDropFault
			err := parseSpec(spec, f.own()...)
			return f, err
		},
	}
}

func (f *rpcDropFault) own() []param {
	return f.params(oneOf(&f.side, sideRequest, sideResponse, dropHang))
}

func (f rpcDropFault) Name() string { return f.name("rpc-drop", f.side) }

func (rpcDropFault) Start() string { return rpcDropStart }
func (rpcDropFault) Stop() string  { return rpcDropStop }

func (f rpcDropFault) Explain() string {
	return "Loses requests in the proxy before a node's RPC: request closes the connection before the node has seen anything; " +
		"response does so when the node has answered, so that what was asked is done and only the news is lost; " +
		"hang is request with the connection left open and silent. One of them is drawn where none is named, and 30 % of the requests are hit. " +
		"Of a batch only the element is lost, of a WebSocket subscription a single announcement: the checker sub does not hold that against the node. " +
		"It bites when the proxy has lost a request of a client, or, for response, an answer that the node had given. " + f.explain()
}

func (f rpcDropFault) Possible(r Reach) error { return f.possible(f.Name(), r) }

func (f rpcDropFault) Plan(ctx context.Context, net Net, rng *rand.Rand) (Application, error) {
	side := either(rng, f.side, sideRequest, sideResponse, dropHang)
	return f.plan(ctx, f.Name(), net, rng,
		rpc.Rule{Share: rpcShare, Do: rpc.Action{Kind: rpc.Drop, After: side == sideResponse, Hang: side == dropHang}},
		history.Keyword("side"), history.Keyword(side))
}
