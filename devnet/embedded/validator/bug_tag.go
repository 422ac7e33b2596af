package validator

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"
)

const (
	backEvery  = 6 // at one head in so many the node goes back,
	backBlocks = 3 // so far
	stuckAfter = 8 // blocks from the first question for finalized, to the last head
	viewAge    = 4 // blocks that an old view is behind
	viewEvery  = 3 // of the views one in so many is old
	viewFar    = 9 // blocks that a view far behind is
)

// tagBugs are about which block a tag means.
func tagBugs() []Bug {
	return []Bug{
		{Name: "rewind", Doc: fmt.Sprintf("for %v after a restart latest, safe and finalized are %d blocks older than before it", rewindFor, rewindBlocks),
			Targets: EveryValidator, Workloads: []string{"head", "register"}, Nemesis: "kill", Checker: "finality", plant: newRewind},
		{Name: "head-back", Doc: fmt.Sprintf("at one head in %d the node's tags fall back by %d blocks until the next one", backEvery, backBlocks),
			Targets: LastValidator, Workloads: []string{"head"}, Checker: "head-regress",
			plant: func(node honest) rewriter {
				return tags{[]string{"latest", "safe", "finalized"}, func() (uint64, bool) {
					head := node.head()
					return head - min(head, backBlocks), head%backEvery == 0
				}}
			}},
		{Name: "head-stuck", Doc: fmt.Sprintf("%d blocks after the first question for finalized the node's head stands still", stuckAfter),
			Targets: LastValidator, Workloads: []string{"head"}, Checker: "liveness", plant: newStuck},
		{Name: "safe-ahead", Doc: "latest is two blocks below safe and finalized", Targets: LastValidator,
			Workloads: []string{"head"}, Checker: "finality",
			plant: func(node honest) rewriter {
				return tags{[]string{"latest"}, func() (uint64, bool) {
					head := node.head()
					return head - min(head, 2), true
				}}
			}},
		{Name: "final-lost", Doc: fmt.Sprintf("one question for finalized in %d is answered with no block", viewEvery), Targets: LastValidator,
			Workloads: []string{"head"}, Checker: "finality", plant: aboutFinal(func(object) any { return json.RawMessage("null") })},
		{Name: "final-changes", Doc: fmt.Sprintf("one question for finalized in %d is answered with a block of another hash", viewEvery), Targets: LastValidator,
			Workloads: []string{"head"}, Checker: "finality", plant: aboutFinal(func(b object) any {
				b.set("hash", crypto.Keccak256Hash([]byte("jepgo final"), b["hash"]))
				return b
			})},
		{Name: "old-view", Doc: fmt.Sprintf("one eth_call in %d at a tag is answered from %d blocks below it", viewEvery, viewAge), Targets: LastValidator,
			Workloads: []string{"head", "counter"}, Checker: "session",
			plant: func(node honest) rewriter { return &oldView{node, viewAge, every{n: viewEvery}} }},
		{Name: "views-behind", Doc: fmt.Sprintf("every eth_call at a tag is answered from %d blocks below it", viewFar), Targets: LastValidator,
			Workloads: []string{"head", "counter"}, Checker: "staleness", Says: Warns,
			plant: func(node honest) rewriter { return &oldView{node, viewFar, every{n: 1}} }},
	}
}

// meaning puts a height in the place of these tags, latest also where it is not
// written; it answers a question for the number of the head itself.
func meaning(c *call, height uint64, these ...string) *reply {
	if c.Method == "eth_blockNumber" {
		return result(hexutil.Uint64(height))
	}
	for i := range c.Params {
		if slices.Contains(these, c.text(i)) {
			c.Params[i] = result(hexutil.Uint64(height)).Result
		}
	}
	return nil
}

// tags is a lie about what tags mean; means says which block they do at the
// moment, and false for the right one.
type tags struct {
	these []string
	means func() (uint64, bool)
}

func (t tags) question(_ context.Context, c *call) *reply {
	if height, lies := t.means(); lies {
		return meaning(c, height, t.these...)
	}
	return nil
}

func (tags) answer(context.Context, *call, *reply) {}

// stuck is a node whose head stands still from some moment of the run on.
type stuck struct {
	node honest
	at   atomic.Uint64
}

func newStuck(node honest) rewriter { return &stuck{node: node} }

func (s *stuck) question(_ context.Context, c *call) *reply {
	if asksForFinal(c) {
		s.at.CompareAndSwap(0, s.node.head()+stuckAfter)
	}
	if at := s.at.Load(); at > 0 && s.node.head() > at {
		return meaning(c, at, "latest", "safe", "finalized")
	}
	return nil
}

func (*stuck) answer(context.Context, *call, *reply) {}

// asksForFinal reports whether a call is about the finalized block, which clients
// ask for once the network is up.
func asksForFinal(c *call) bool {
	return slices.ContainsFunc(c.Params, func(p json.RawMessage) bool { return string(p) == `"finalized"` })
}

// aboutFinal changes one finalized block in a few.
func aboutFinal(lie func(block object) any) func(honest) rewriter {
	return func(honest) rewriter {
		turns := every{n: viewEvery}
		return answers{"eth_getBlockByNumber": func(_ context.Context, c *call, honest json.RawMessage) any {
			if !asksForFinal(c) || !turns.time() {
				return nil
			}
			return lie(objectOf(honest))
		}}
	}
}

// oldView is a node that has some calls answered by one that is behind.
type oldView struct {
	node  honest
	age   uint64 // blocks
	turns every
}

func (v *oldView) question(_ context.Context, c *call) *reply {
	if c.Method == "eth_call" && !isObject(c, 1) && v.turns.time() {
		head := v.node.head()
		return meaning(c, head-min(head, v.age), "latest", "safe", "finalized")
	}
	return nil
}

func (*oldView) answer(context.Context, *call, *reply) {}
