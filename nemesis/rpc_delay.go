package nemesis

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/jepgo/jepgo/devnet/rpc"
	"github.com/jepgo/jepgo/history"
)

const (
	rpcDelayStart = "start-rpc-delay"
	rpcDelayStop  = "stop-rpc-delay"

	sideRequest  = "request"
	sideResponse = "response"
)

// rpcDelayFault holds back requests to nodes, or their answers.
type rpcDelayFault struct {
	rpcFault
	needsRPC
	delay time.Duration // 0: drawn
	side  string        // "": drawn
}

func rpcDelayEntry() Entry {
	return Entry{
		Name: "rpc-delay", Doc: "hold back requests to the nodes' RPC, or the answers", Specs: specs(new(rpcDelayFault).own()...),
		Start: rpcDelayStart, Stop: rpcDelayStop, Color: "#D9C06A",
		New: func(spec string) (Fault, error) {
			var f rpcDelayFault
			err := parseSpec(spec, f.own()...)
			return f, err
		},
	}
}

func (f *rpcDelayFault) own() []param {
	return f.params(duration(&f.delay, "a delay such as 500ms", time.Millisecond, time.Minute), oneOf(&f.side, sideRequest, sideResponse))
}

func (f rpcDelayFault) Name() string {
	delay := ""
	if f.delay > 0 {
		delay = f.delay.String()
	}
	return f.name("rpc-delay", delay, f.side)
}

func (rpcDelayFault) Start() string { return rpcDelayStart }
func (rpcDelayFault) Stop() string  { return rpcDelayStop }

func (f rpcDelayFault) Explain() string {
	return "Holds back requests in the proxy before a node's RPC, or the answers to them, after the node has done what was asked; " +
		"without a delay in its name it draws one from 100 ms to 3 s. The chain sees none of it. " +
		"It bites when the proxy has held back a request of a client and measured that it took no less than asked. " + f.explain()
}

func (f rpcDelayFault) Possible(r Reach) error { return f.possible(f.Name(), r) }

func (f rpcDelayFault) Plan(ctx context.Context, net Net, rng *rand.Rand) (Application, error) {
	delay, side := either(rng, f.delay, 100*time.Millisecond, 300*time.Millisecond, time.Second, 3*time.Second), either(rng, f.side, sideRequest, sideResponse)
	return f.plan(ctx, f.Name(), net, rng,
		rpc.Rule{Do: rpc.Action{Kind: rpc.Delay, Delay: delay, After: side == sideResponse}},
		history.Keyword("delay-ms"), history.FloatOf(millis(delay)), history.Keyword("side"), history.Keyword(side))
}

// either is what was asked for, or one of the choices. It draws in any case, so
// that what is drawn next stays the same.
func either[T comparable](rng *rand.Rand, asked T, choices ...T) T {
	var none T
	if c := choices[rng.IntN(len(choices))]; asked == none {
		return c
	}
	return asked
}
