package chain

import (
	"context"
	"fmt"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history"
)

// Fork returns the checker fork. It compares everything that any node said about
// any block: in heads and the walks between them, block by block, in receipts,
// local reads and the transactions of blocks.
//
// On every network, one hash has one height, parent, state root and timestamp
// (hash-mismatch), and a block is one above its parent (bad-parent-link). Where
// finalTag calls a height final, all nodes and all times have one hash there
// (fork), also where only a later final block tells by its ancestors. With
// finalTag "latest" that is all there is; elsewhere the head may reorganise, and
// how often and how deep is measured.
//
// O(n) time and memory, and for reorganisations also their depth.
func Fork(finalTag string) checker.Checker { return fork{finalTag} }

type fork struct{ finalTag string }

func (fork) Name() string { return "fork" }

// claim is the first word on a final height.
type claim struct {
	id   int32
	op   int
	node string
}

func (c fork) Check(ctx context.Context, h *history.History) checker.Result {
	t := newTree()
	found := &findings{h: h}
	claims := make(map[int64]claim)
	splits := make(map[int64][]side)
	clashed := make(map[string]bool)
	reorgs := newReorgs(t)
	facts, finals := 0, 0
	for i := range h.Ops {
		if i%checker.CheckEvery == 0 && ctx.Err() != nil {
			return checker.Ended(ctx, c.Name())
		}
		eachSighting(h, i, func(s *sighting) {
			id, compared, bad := t.add(s)
			if compared {
				facts++
			}
			if bad != nil && !clashed[s.H+bad.field] {
				clashed[s.H+bad.field] = true
				found.report("hash-mismatch", fmt.Sprintf(
					"block %s has two different contents: %s says its %s is %s (op %d), %s says %s (op %d). A hash covers all of a block, so one of them did not serve the block that it names.",
					short(s.H), h.Ops[bad.op].Node, bad.field, short(bad.before), bad.op, s.node, short(bad.now), s.op), bad.op, s.op)
			}
			if s.tag == latestTag && h.Ops[i].F == "head" {
				reorgs.head(s.node, id, i)
			}
			if !s.final(c.finalTag) {
				return
			}
			now := claim{id, s.op, s.node}
			first, known := claims[s.N]
			if !known {
				claims[s.N] = now
				return
			}
			finals++
			if first.id == id {
				return
			}
			splits[s.N] = nil // forked; who has what is gathered below
		})
	}
	facts += c.links(h, t, found)
	facts += c.ancestry(t, claims, splits)
	c.gather(h, t, splits)
	c.reportSplits(t, found, splits)
	stats := []checker.Stat{
		{Name: "blocks", Value: fmt.Sprint(len(t.blocks))},
		{Name: "final heights", Value: fmt.Sprint(len(claims))},
	}
	stats = append(stats, reorgs.measure(ctx, found)...)
	if c.finalTag != "" && finals == 0 && found.count == 0 {
		facts = 0 // nothing final was said twice, and that is the point here
	}
	return found.result(c.Name(), facts,
		fmt.Sprintf("%s agree on %s, %s compared", nodesText(h), plural(len(t.blocks), "block"), plural(facts, "statement")),
		"no block was reported twice, so nothing could be compared", stats)
}

// links checks that every block is one above its parent.
func (c fork) links(h *history.History, t *tree, found *findings) (facts int) {
	for i := range t.blocks {
		b := &t.blocks[i]
		parent, known := t.height(b.parent)
		if !known || b.nOp < 0 {
			continue
		}
		facts++
		if parent+1 != b.N {
			p := &t.blocks[b.parent]
			found.report("bad-parent-link", fmt.Sprintf(
				"block %s at height %d (%s, op %d) names as its parent %s, which is at height %d (%s, op %d), not at %d.",
				short(b.H), b.N, h.Ops[b.parentOp].Node, b.parentOp, short(p.H), p.N, p.node, p.nOp, b.N-1),
				b.nOp, b.parentOp, p.nOp)
		}
	}
	return facts
}

// ancestry compares each final block with the ancestors of the highest one: two
// final blocks must lie on one chain also where no node reported both heights.
func (c fork) ancestry(t *tree, claims map[int64]claim, splits map[int64][]side) (facts int) {
	var top claim
	highest := int64(-1)
	for n, at := range claims {
		if n > highest {
			highest, top = n, at
		}
	}
	if highest < 0 {
		return 0
	}
	id := top.id
	for n := highest; ; n-- {
		if at, known := claims[n]; known && n < highest {
			facts++
			if _, told := splits[n]; at.id != id && !told {
				splits[n] = []side{{id: id, op: top.op, nodes: []string{top.node}, derived: true}}
			}
		}
		id = t.blocks[id].parent
		if height, known := t.height(id); !known || height != n-1 {
			return facts
		}
	}
}

func nodesText(h *history.History) string {
	nodes := make(map[string]bool)
	for i := range h.Ops {
		if op := &h.Ops[i]; op.Node != "" && op.Process.IsClient() {
			nodes[op.Node] = true
		}
	}
	if len(nodes) == 1 {
		return "all reports of one node"
	}
	return plural(len(nodes), "node")
}
