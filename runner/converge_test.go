package runner

import (
	"testing"
	"time"

	"github.com/jepgo/jepgo/checker/chain"
	"github.com/jepgo/jepgo/history"
	"github.com/jepgo/jepgo/history/historytest"
)

// TestConvergeWaitsAsLongAsLivenessAllows: else a node that stands still could never
// be called stuck, where blocks are slow or a fault was long.
func TestConvergeWaitsAsLongAsLivenessAllows(t *testing.T) {
	faults := historytest.Read(t, `
{:type :info :process :nemesis :f :kill :value ["n1"] :time 1000000000}
{:type :info :process :nemesis :f :kill :value {:targets ["n1"] :evidence {"n1" "dead"}} :time 2000000000}
{:type :info :process :nemesis :f :start :value ["n1"] :time 300000000000}
{:type :info :process :nemesis :f :start :value {:targets ["n1"] :evidence {"n1" "up"}} :time 301000000000}
`).Ops
	for _, c := range []struct {
		block  time.Duration
		faults []history.Op
	}{{time.Second, nil}, {15 * time.Second, nil}, {time.Second, faults}} {
		run := &test{blockTime: c.block, faults: c.faults}
		bound := run.convergeBound(t.Context())
		if allowed := chain.RecoveryTime(c.block, longest(c.faults)); bound < allowed || bound < leastConverge {
			t.Errorf("blocks of %v, %d ops of faults: waits for %v, though %v are allowed", c.block, len(c.faults), bound, allowed)
		}
	}
	if got := longest(faults); got != 5*time.Minute {
		t.Errorf("the longest fault took %v", got)
	}
}
