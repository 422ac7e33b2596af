package workloads

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/ethereum/go-ethereum/common"

	"github.com/jepgo/jepgo/client"
	"github.com/jepgo/jepgo/history"
)

// precompile is the workload of that name.
func precompile() Workload {
	return Workload{
		Name: "precompile",
		Ops:  []string{"precompile"}, Submits: true,
		Doc: "Clients create contracts whose creation code calls a precompiled contract in an unusual way and stores what comes " +
			"back, so that clients that disagree about it come to different state roots. overlap calls identity (address 4) with " +
			"an output area that overlaps its input, and stores the return data: what split the main network in August 2021 " +
			"(CVE-2021-39137). It needs head beside it, which compares the blocks.",
		New: newPrecompile,
	}
}

// precompileCases are creation codes by the name in the history.
var precompileCases = []struct{ name, code string }{
	{"overlap", "" +
		"6001600052" + "6002602052" + // memory: 1, 2
		"604060206040600060006004" + "5a" + "f1" + "50" + // call 4 with memory 0..64, output to 32..96
		"604060006080" + "3e" + // its return data to memory 128..192
		"608051600055" + "60a051600155" + "00"}, // stored in slots 0 and 1
}

const precompileGas = 300_000 // a creation and two first writes take about 110,000

// precompiles is the workload at work.
type precompiles struct {
	shareOnly
	env Env
}

func newPrecompile(_ context.Context, env Env) (Instance, error) {
	if len(env.Nodes) == 0 {
		return nil, errors.New("precompile workload has no nodes, want at least one")
	}
	return &precompiles{env: env}, nil
}

// Strong draws a :precompile.
func (p *precompiles) Strong(rng *rand.Rand) history.Op {
	return history.Op{F: "precompile", Value: history.Keyword(precompileCases[rng.IntN(len(precompileCases))].name)}
}

// Local draws nothing: there is nothing to read back.
func (p *precompiles) Local(*rand.Rand) (history.Op, bool) { return history.Op{}, false }

// Invoke performs a :precompile.
func (p *precompiles) Invoke(ctx context.Context, s *Sender, o history.Op) history.Op {
	for _, c := range precompileCases {
		if o.Value.Equal(history.Keyword(c.name)) {
			o, _ = s.Execute(ctx, o, client.Action{Data: common.FromHex(c.code), Gas: precompileGas})
			return o
		}
	}
	return failed(o, client.Refused, fmt.Sprintf("value %s is no case of a precompiled contract", o.Value))
}
