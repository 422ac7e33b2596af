package chain

import (
	"context"
	"fmt"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history"
)

// ReorgDepth returns the checker reorg-depth: no node's head leaves more blocks
// behind than Options.Depth says (reorg-too-deep). What is less deep, or where the
// depth is a guess (Options.Odd), is a warning, with its depth. A head that only falls to an ancestor took back no block for
// another: that is for head-regress. Two heads between which parents are missing
// are counted, not judged. What the left blocks had, and where it is now, is told in
// a few more warnings and stats. Over a restart of the node it is claimed too: what the
// network left behind does not depend on who died. O(heads × depth) time, 8 bytes
// for each head.
func ReorgDepth(o Options) checker.Checker {
	return checker.Streamed(func() checker.Stream { return NewReader().ReorgDepth(o) })
}

// ReorgDepth is ReorgDepth for a pass.
func (r *Reader) ReorgDepth(o Options) checker.Stream {
	return &reorgDepth{r: r, o: o, heads: newReorgs(r)}
}

type reorgDepth struct {
	r     *Reader
	o     Options
	heads *reorgs
	found findings
}

func (*reorgDepth) Name() string { return "reorg-depth" }

func (c *reorgDepth) Take(e *history.Event) {
	it := c.r.take(e)
	if it.f != opHead || !it.completes {
		return
	}
	for i := range it.sightings {
		if s := &it.sightings[i]; s.tag == latestTag {
			c.heads.head(s.node, s.block, it.at)
		}
	}
}

func (c *reorgDepth) Finish(ctx context.Context, src history.Source) checker.Result {
	count, gaps := 0, 0
	left := newAbandoned(c.r)
	var deepest int64
	for _, n := range c.r.byName() {
		if int(n) >= len(c.heads.heads) {
			continue
		}
		list := c.heads.heads[n]
		for i := 1; i < len(list); i++ {
			if ctx.Err() != nil {
				return checker.Ended(ctx, c.Name())
			}
			depth, ok := c.heads.depth(list[i-1].block, list[i].block)
			before, now := &c.r.blocks[list[i-1].block], &c.r.blocks[list[i].block]
			if !ok {
				gaps++
				continue
			}
			c.found.facts++
			if depth == 0 || before.n-depth == now.n {
				continue
			}
			count++
			left.branch(list[i-1].block, depth)
			deepest = max(deepest, depth)
			text := fmt.Sprintf("%s's head left %s behind: from %d %s (op %d) to %d %s (op %d)", c.r.nodeName(n), plural(int(depth), "block"),
				before.n, c.r.short(before.h), list[i-1].op, now.n, c.r.short(now.h), list[i].op)
			if depth <= c.o.Depth || c.o.Odd {
				c.found.warn("%s", text)
				continue
			}
			c.found.report("reorg-too-deep", []int{int(list[i-1].op), int(list[i].op)},
				saying("%s. Reorganisations of at most %s are expected here.", text, plural(int(c.o.Depth), "block")))
		}
	}
	moved := left.tell(&c.found)
	return c.found.result(src, c.Name(), fmt.Sprintf("%s in %s from head to head, deepest %d of at most %d", plural(count, "reorganisation"), plural(c.found.facts, "step"), deepest, c.o.Depth),
		"no node showed two heads that can be traced to each other, so nothing could be compared",
		append([]checker.Stat{
			{Name: "reorganisations", Value: fmt.Sprint(count)}, {Name: "deepest", Value: fmt.Sprint(deepest)},
			{Name: "steps with missing parents", Value: fmt.Sprint(gaps)},
		}, moved...))
}

// HeadRegress returns the checker head-regress: while a node runs, the number of
// its latest block does not fall by more than Options.Depth (head-fell). Over a
// restart a fall is a warning with its depth: a node may have to catch up. Heads
// that were asked for at the same time are not compared. O(n) time, O(nodes)
// memory.
func HeadRegress(o Options) checker.Checker {
	return checker.Streamed(func() checker.Stream { return NewReader().HeadRegress(o) })
}

// HeadRegress is HeadRegress for a pass.
func (r *Reader) HeadRegress(o Options) checker.Stream { return &headRegress{r: r, o: o} }

type headRegress struct {
	r     *Reader
	o     Options
	last  []served // node → its last head; h is 0 for none
	falls int
	found findings
}

func (*headRegress) Name() string { return "head-regress" }

func (c *headRegress) Take(e *history.Event) {
	it := c.r.take(e)
	if it.f != opHead || !it.completes || it.typ != history.OK || it.node < 0 || it.head[2].h == 0 {
		return
	}
	for int(it.node) >= len(c.last) {
		c.last = append(c.last, served{})
	}
	was, b := c.last[it.node], &it.head[2]
	if was.h != 0 && int(was.op) > it.began {
		return
	}
	c.last[it.node] = served{n: b.n, h: b.h, began: int32(it.began), op: int32(it.at)}
	if was.h == 0 {
		return
	}
	c.found.facts++
	fell := was.n - b.n
	if fell <= 0 {
		return
	}
	c.falls++
	text := fmt.Sprintf("%s's head fell by %s, from %d %s (op %d) to %d %s (op %d)", c.r.nodeName(it.node), plural(int(fell), "block"),
		was.n, c.r.short(was.h), was.op, b.n, c.r.short(b.h), it.at)
	at, died := c.r.endedBetween(it.node, int(was.began), it.at)
	switch {
	case died:
		c.found.warn("%s, over the end of its process (op %d)", text, at)
	case fell > c.o.Depth && !c.o.Odd:
		c.found.report("head-fell", []int{int(was.op), it.at}, saying("%s, though it ran all the time.", text))
	default:
		c.found.warn("%s", text)
	}
}

func (c *headRegress) Finish(ctx context.Context, src history.Source) checker.Result {
	if ctx.Err() != nil {
		return checker.Ended(ctx, c.Name())
	}
	return c.found.result(src, c.Name(), fmt.Sprintf("%s compared with the one before, %s", plural(c.found.facts, "head"), plural(c.falls, "fall")),
		"no node showed two heads, so nothing could be compared", nil)
}
