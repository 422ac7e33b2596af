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
// O(n + blocks) time, and for reorganisations also their depth; O(blocks) memory.
func Fork(finalTag string) checker.Checker {
	return checker.Streamed(func() checker.Stream { return NewReader().Fork(finalTag) })
}

// Fork is Fork for a pass: 12 bytes for each node and final height beyond what
// the Reader holds.
func (r *Reader) Fork(finalTag string) checker.Stream {
	return &fork{r: r, finalTag: tagOf([]byte(finalTag)), at: make(map[int64]int32), reorgs: newReorgs(r)}
}

type fork struct {
	r        *Reader
	finalTag tag
	at       map[int64]int32 // final height → place in heights
	heights  [][]claim
	lastN    int64 // a short cut past at
	last     int32
	finals   int
	reorgs   *reorgs
	found    findings
}

func (*fork) Name() string { return "fork" }

// claim is the first word of a node on a final height, and on each block there.
type claim struct {
	block, op, node int32
}

func (c *fork) Take(e *history.Event) {
	it := c.r.take(e)
	if !it.completes {
		return
	}
	for i := range it.sightings {
		s := &it.sightings[i]
		if s.compared {
			c.found.facts++
		}
		if s.clash != nil {
			c.clash(s)
		}
		if s.tag == latestTag && it.f == opHead {
			c.reorgs.head(s.node, s.block, it.at)
		}
		if s.final(c.finalTag) {
			c.claim(s)
		}
	}
}

func (c *fork) clash(s *sighting) {
	field, before, now := s.clash.values(&c.r.names, s)
	hash, node, op, at := c.r.short(s.h), c.r.nodeName(s.node), int(s.clash.op), s.op
	c.found.report("hash-mismatch", []int{op, at}, func(look ops) string {
		return fmt.Sprintf(
			"block %s has two different contents: %s says its %s is %s (op %d), %s says %s (op %d). A hash covers all of a block, so one of them did not serve the block that it names.",
			hash, look(op).Node, field, short(before), op, node, short(now), at)
	})
}

// claim notes what is said of a final height.
func (c *fork) claim(s *sighting) {
	at := c.last
	if len(c.heights) == 0 || s.n != c.lastN {
		known := false
		if at, known = c.at[s.n]; !known {
			at = int32(len(c.heights))
			c.at[s.n] = at
			c.heights = append(c.heights, nil)
		}
		c.lastN, c.last = s.n, at
	}
	list := c.heights[at]
	if len(list) > 0 {
		c.finals++
	}
	for i := range list {
		if list[i].node == s.node && list[i].block == s.block {
			return
		}
	}
	if list == nil {
		list = make([]claim, 0, len(c.r.nodeNames)) // one of each, unless it is forked
	}
	c.heights[at] = append(list, claim{s.block, int32(s.op), s.node})
}

func (c *fork) Finish(ctx context.Context, src history.Source) checker.Result {
	if ctx.Err() != nil {
		return checker.Ended(ctx, c.Name())
	}
	c.links()
	splits := make(map[int64][]side)
	for n, at := range c.at {
		for _, claim := range c.heights[at] {
			if claim.block != c.heights[at][0].block {
				splits[n] = nil // forked; who has what is gathered below
			}
		}
	}
	c.ancestry(splits)
	c.gather(splits)
	c.reportSplits(splits)
	stats := []checker.Stat{
		{Name: "blocks", Value: fmt.Sprint(len(c.r.blocks))},
		{Name: "final heights", Value: fmt.Sprint(len(c.at))},
	}
	stats = append(stats, c.reorgs.measure(ctx, &c.found)...)
	if c.finalTag != noTag && c.finals == 0 && c.found.count == 0 {
		c.found.facts = 0 // nothing final was said twice, and that is the point here
	}
	return c.found.result(src, c.Name(),
		fmt.Sprintf("%s %s, %s compared", c.r.nodesText(), c.said(), plural(c.found.facts, "statement")),
		"no block was reported twice, so nothing could be compared", stats)
}

// links checks that every block is one above its parent.
func (c *fork) links() {
	for i := range c.r.blocks {
		b := &c.r.blocks[i]
		parent, known := c.r.height(b.up)
		if !known || b.nOp < 0 {
			continue
		}
		c.found.facts++
		if parent+1 != b.n {
			p := &c.r.blocks[b.up]
			c.found.report("bad-parent-link", []int{int(b.nOp), int(b.parentOp), int(p.nOp)}, func(look ops) string {
				return fmt.Sprintf(
					"block %s at height %d (%s, op %d) names as its parent %s, which is at height %d (%s, op %d), not at %d.",
					c.r.short(b.h), b.n, look(int(b.parentOp)).Node, b.parentOp, c.r.short(p.h), p.n, c.r.nodeName(p.node), p.nOp, b.n-1)
			})
		}
	}
}

// ancestry compares each final block with the ancestors of the highest one: two
// final blocks must lie on one chain also where no node reported both heights.
func (c *fork) ancestry(splits map[int64][]side) {
	var top claim
	highest := int64(-1)
	for n, at := range c.at {
		if n > highest {
			highest, top = n, c.heights[at][0]
		}
	}
	if highest < 0 {
		return
	}
	block := top.block
	for n := highest; ; n-- {
		if at, known := c.at[n]; known && n < highest {
			c.found.facts++
			if _, told := splits[n]; c.heights[at][0].block != block && !told {
				splits[n] = []side{{block: block, op: int(top.op), nodes: []string{c.r.nodeName(top.node)}, derived: true}}
			}
		}
		block = c.r.blocks[block].up
		if height, known := c.r.height(block); !known || height != n-1 {
			return
		}
	}
}

func (r *Reader) nodesText() string {
	nodes := 0
	for _, yes := range r.spoken {
		if yes {
			nodes++
		}
	}
	if nodes == 1 {
		return "all reports of one node"
	}
	return plural(nodes, "node")
}

// said is what nodes said when no anomaly was found: that they agree on blocks,
// which is more than agreeing on what each block is.
func (c *fork) said() string {
	heights, placed := make(map[int64]bool), 0 // blocks of which a height was told: of a parent it may not be
	for i := range c.r.blocks {
		if b := &c.r.blocks[i]; b.nOp >= 0 {
			heights[b.n] = true
			placed++
		}
	}
	all := plural(len(c.r.blocks), "block")
	if placed > len(heights) {
		return fmt.Sprintf("do not contradict each other on any of %s, some of them at one height", all)
	}
	return "agree on " + all
}
