package runner

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/checker/chain"
	"github.com/jepgo/jepgo/client"
	"github.com/jepgo/jepgo/history"
)

// leastConverge is how long convergence is waited for at least after every fault is
// undone: the slowest honest way back is a peer's re-dial after its back-off (35 s
// in devp2p), and a few rounds of consensus on a busy machine.
const leastConverge = 90 * time.Second

// convergeBound is as long as the checker liveness lets a network take, and a
// quarter more, or it could never say that a node is stuck.
func (t *test) convergeBound(ctx context.Context) time.Duration {
	if t.blockTime == 0 {
		if err := t.findBlockTime(ctx); err != nil {
			t.log.Warn("block time is not known", "error", err)
		}
	}
	return max(leastConverge, chain.RecoveryTime(t.blockTime, longest(t.faults))*5/4)
}

// longest is how long the longest of some faults was in force.
func longest(ops []history.Op) (lasted time.Duration) {
	for _, f := range checker.Faults(&history.History{Ops: ops}) {
		if f.Undone >= 0 {
			lasted = max(lasted, time.Duration(ops[f.Undone].Time-ops[f.Request].Time))
		}
	}
	return lasted
}

// convergeBlocks is how many blocks every node must add after the heal.
const convergeBlocks = 2

// converge waits until every node has added blocks since the heal and all of
// them agree on a recent block, and records what it saw. It waits no longer when
// those that give no answer have no process and all others went forward. Not to converge is
// not an error of the run: it is for the checkers to judge.
func (t *test) converge(ctx context.Context) error {
	start := time.Now()
	bound := t.convergeBound(ctx)
	bounded, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	t.log.Info("waiting until the nodes agree", "bound", bound)
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	var target int64 = -1
	heads := map[string]int64{}
	converged, forked := false, false
	var apart split
	gone := false // what is missing does not run, and all the others went forward
	for !converged && !forked && !gone && bounded.Err() == nil {
		err := t.heads(bounded, heads)
		if silent := t.silent(heads); err == nil || bounded.Err() == nil && t.dead(silent) {
			if target < 0 {
				target = convergeBlocks
				for _, n := range heads {
					target = max(target, n+convergeBlocks)
				}
			}
			low := lowest(heads)
			if gone = len(silent) > 0 && low >= target; len(silent) == 0 {
				apart.look(bounded, t, low)
			}
			if len(silent) == 0 && low >= target {
				same, answered := t.agree(bounded, low)
				converged = same
				// Where latest is final, two blocks at one height will never become
				// one: there is nothing to wait for.
				forked = answered && !same && t.profile.FinalTag == client.Latest
			}
		}
		if converged || forked || gone {
			break
		}
		select {
		case <-bounded.Done():
		case <-tick.C:
		}
	}
	took := time.Since(start)
	if converged {
		t.log.Info("nodes agree", "took", took.Round(time.Millisecond))
	} else {
		what := "nodes do not come together"
		if forked {
			what = "nodes are on different chains, and will stay so"
		}
		said := []any{"took", took.Round(time.Millisecond), "bound", bound, "heads", fmt.Sprint(heads)}
		if silent := t.silent(heads); len(silent) > 0 {
			said = append(said, "no-answer-from", strings.Join(silent, ","), "runs", !t.dead(silent))
		}
		t.log.Warn(what, said...)
	}
	var kvs []history.Value
	for _, c := range t.clients {
		if n, ok := heads[c.Name()]; ok {
			kvs = append(kvs, history.Text(c.Name()), history.Int(n))
		}
	}
	said := []history.Value{
		history.Keyword("converged"), history.Flag(converged),
		history.Keyword("forked"), history.Flag(forked),
		history.Keyword("bound"), history.Int(int64(bound)),
		history.Keyword("took"), history.Int(int64(took)),
		history.Keyword("heads"), history.MapOf(kvs...),
	}
	if !converged && apart.hashes != nil {
		said = append(said, history.Keyword("split"), apart.value())
	}
	return t.journal.note("converge", history.MapOf(said...))
}

// split is one height at which nodes were seen with different blocks, and not with
// one block since.
type split struct {
	height      int64
	since, last time.Time              // when it was seen first, and last
	hashes      map[string]common.Hash // by node, as seen last; nil for no split
}

// look asks every node again for its block at the height of the split, or at low
// where there is none yet. Where some node does not answer, nothing was seen.
func (s *split) look(ctx context.Context, t *test, low int64) {
	height := low
	if s.hashes != nil {
		height = s.height
	}
	hashes, answered := t.hashesAt(ctx, height)
	switch {
	case !answered:
	case alike(hashes):
		*s = split{}
	case s.hashes == nil:
		*s = split{height, time.Now(), time.Now(), hashes}
	default:
		s.hashes, s.last = hashes, time.Now()
	}
}

func (s *split) value() history.Value {
	var kvs []history.Value
	for _, name := range slices.Sorted(maps.Keys(s.hashes)) {
		kvs = append(kvs, history.Text(name), history.Text(s.hashes[name].Hex()))
	}
	return history.MapOf(
		history.Keyword("n"), history.Int(s.height),
		history.Keyword("lasted"), history.Int(int64(s.last.Sub(s.since))),
		history.Keyword("hashes"), history.MapOf(kvs...))
}

func alike(hashes map[string]common.Hash) bool {
	var first common.Hash
	for _, first = range hashes {
		break
	}
	for _, h := range hashes {
		if h != first {
			return false
		}
	}
	return true
}

// heads asks every node for its latest block number.
func (t *test) heads(ctx context.Context, heads map[string]int64) error {
	var errs []error
	for _, c := range t.clients {
		h, err := c.HeaderAt(ctx, client.Latest)
		if ctx.Err() != nil {
			return ctx.Err() // no node is to blame
		}
		if err != nil {
			delete(heads, c.Name())
			errs = append(errs, err)
			continue
		}
		heads[c.Name()] = int64(h.Number)
	}
	return errors.Join(errs...)
}

// silent lists the nodes that have no head.
func (t *test) silent(heads map[string]int64) (names []string) {
	for _, c := range t.clients {
		if _, answered := heads[c.Name()]; !answered {
			names = append(names, c.Name())
		}
	}
	return names
}

// dead is whether some nodes, but not all, have no process any more, which nobody will
// start again. Of an attached network nobody knows.
func (t *test) dead(names []string) bool {
	if t.net.own == nil || len(names) == 0 || len(names) == len(t.clients) {
		return false
	}
	for _, name := range names {
		if _, up := t.net.own.Identity(name); up {
			return false
		}
	}
	return true
}

// agree reports whether every node has the same block at height n; answered is
// false when some node did not say.
func (t *test) agree(ctx context.Context, n int64) (same, answered bool) {
	hashes, answered := t.hashesAt(ctx, n)
	return answered && alike(hashes), answered
}

// hashesAt asks every node for its block at height n; answered is false when some
// node did not say.
func (t *test) hashesAt(ctx context.Context, n int64) (hashes map[string]common.Hash, answered bool) {
	hashes = make(map[string]common.Hash)
	for _, c := range t.clients {
		answer := c.Headers(ctx, []uint64{uint64(n)})[0]
		if answer.Err != nil {
			return nil, false
		}
		hashes[c.Name()] = answer.Value.Hash
	}
	return hashes, true
}

func lowest(heads map[string]int64) int64 {
	low, first := int64(0), true
	for _, n := range heads {
		if first || n < low {
			low, first = n, false
		}
	}
	return low
}
