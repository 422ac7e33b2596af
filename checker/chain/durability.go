package chain

import (
	"context"
	"fmt"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history"
)

// Durability returns the checker durability: a transaction that was seen at the
// level at which the network promises to keep it is on the chain at the end. That
// level is the answer itself where Options.FinalTag is latest; where it is
// finalized, a finalized block at or above the one that the answer named, on its
// branch. A transaction that moved to another block is still there. What was
// never that sure and is gone is a warning.
//
// The end is the chain below the highest block of the final reads, as far as the
// lists of all its blocks are known; what lies outside of that is counted, not
// judged. O(n + transactions) time; memory that of the Reader.
func Durability(o Options) checker.Checker {
	return checker.Streamed(func() checker.Stream { return NewReader().Durability(o) })
}

// Durability is Durability for a pass.
func (r *Reader) Durability(o Options) checker.Stream {
	return &durability{r: r, finalTag: tagOf([]byte(o.FinalTag)), finals: make(map[int32]int32)}
}

type durability struct {
	r                     *Reader
	finalTag              tag
	finals                map[int32]int32 // finalized blocks → the first op that told it
	there, moved, outside int
	found                 findings
}

func (*durability) Name() string { return "durability" }

func (c *durability) Take(e *history.Event) {
	it := c.r.take(e)
	if !it.completes || c.finalTag == latestTag || c.finalTag == noTag {
		return
	}
	for i := range it.sightings {
		if s := &it.sightings[i]; s.final(c.finalTag) {
			if _, known := c.finals[s.block]; !known {
				c.finals[s.block] = int32(s.op)
			}
		}
	}
}

func (c *durability) Finish(ctx context.Context, src history.Source) checker.Result {
	if ctx.Err() != nil {
		return checker.Ended(ctx, c.Name())
	}
	e := c.r.end()
	sure := c.finalBlocks()
	for i := range c.r.acks.n {
		a := c.r.acks.at(i)
		if a.typ != history.OK || a.h == 0 {
			continue
		}
		at, ok := c.r.onChain(a.tx)
		switch {
		case ok && c.r.blocks[c.r.bodies[at.body].block].h == a.h:
			c.there++
			continue
		case ok:
			c.there++
			c.moved++
			continue
		case a.n < e.full || a.n > e.top:
			c.outside++
			continue
		}
		c.there++
		level, final := "latest", c.finalTag == latestTag
		if b := c.r.find(a.h); !final && b >= 0 {
			_, final = sure[b]
			level = c.finalTag.String()
		}
		block := e.block(a.n)
		now := c.r.bodyAt(block)
		if now == nil {
			continue
		}
		text := fmt.Sprintf("%s of %s is gone: %s had it in block %d %s (op %d), the chain has %s there in the end (op %d), and no block from %d to %d lists it.",
			a.f, c.r.short(a.tx), c.r.nodeName(a.node), a.n, c.r.short(a.h), a.at, c.r.short(c.r.blocks[block].h), now.op, e.full, e.top)
		if !final {
			c.found.warn("%s It was not final.", text)
			continue
		}
		positions := []int{int(a.at), int(now.op)}
		if op, ok := sure[c.r.find(a.h)]; ok {
			positions = append(positions, int(op))
		}
		c.found.reportTxs("lost-transaction", []string{c.r.say(a.tx)}, positions, saying("%s It was final (%s).", text, level))
	}
	c.found.facts = c.there
	return c.found.result(src, c.Name(),
		fmt.Sprintf("%s looked for on the chain from %d to %d", plural(c.there, "acknowledged transaction"), e.full, e.top),
		"no acknowledged transaction lies in a block whose list is known in the end, so nothing could be looked for",
		[]checker.Stat{
			{Name: "transactions looked for", Value: fmt.Sprint(c.there)},
			{Name: "moved to another block", Value: fmt.Sprint(c.moved)},
			{Name: "outside of the lists that are known", Value: fmt.Sprint(c.outside)},
		})
}

// finalBlocks adds to the blocks that were shown as final those below them.
func (c *durability) finalBlocks() map[int32]int32 {
	all := make(map[int32]int32, len(c.finals))
	for b, op := range c.finals {
		for up := b; up >= 0; up = c.r.blocks[up].up {
			if was, known := all[up]; known && was <= op {
				break
			}
			all[up] = op
		}
	}
	return all
}
