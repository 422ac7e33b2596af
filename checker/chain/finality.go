package chain

import (
	"context"
	"fmt"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history"
)

// Finality returns the checker finality. For each node by itself, from its :head
// ops:
//
//   - the number at a final tag never falls (finality-reverted): finalized where
//     finalTag is "finalized", all of finalized and latest where it is "latest";
//   - the hash at a final height never changes, also over a restart
//     (finality-changed);
//   - finalized ≤ safe ≤ latest in one batch (tag-order). A batch is no snapshot,
//     and a node may move its tags one by one, which takes a while on a busy
//     machine: it counts when all heads of that node are so over three blocks, or
//     for very long;
//   - safe and finalized do not vanish once served (tag-lost).
//
// When the nemesis killed the node in between, a lower finalized is an anomaly
// only where finalTag is "latest", and a lower latest or a lost tag a warning: a
// node may have to catch up first. So is either over the end of a node whose data
// the nemesis had destroyed before (wipe, rollback, a file or a torn write). Ops that
// overlap on one node are not compared with each other. Where finalTag is "" only
// the order of tags is claimed, and the rest are warnings.
//
// O(n) time, O(final heights) memory for each node.
func Finality(finalTag string) checker.Checker {
	return checker.Streamed(func() checker.Stream { return NewReader().Finality(finalTag) })
}

// Finality is Finality for a pass.
func (r *Reader) Finality(finalTag string) checker.Stream {
	return &finality{r: r, finalTag: tagOf([]byte(finalTag)), opened: make(map[history.Process][3]served)}
}

type finality struct {
	r          *Reader
	finalTag   tag
	opened     map[history.Process][3]served // what the node had answered before the op began
	nodes      []watched                     // by number
	watched    int
	heads      int
	unrepeated int
	found      findings
}

func (*finality) Name() string { return "finality" }

// served is the last answer of a node for one tag.
type served struct {
	n         int64
	h         id
	began, op int32 // its invocation and completion
	lost      bool  // since then the node served no such block
}

// watched is what is known of one node.
type watched struct {
	tags     [3]served        // by headTags; h is 0 for what was never served
	final    map[int64]served // first word on each final height
	disorder disorder
}

func (c *finality) Take(e *history.Event) {
	it := c.r.take(e)
	if it.f != opHead || !it.client {
		return
	}
	node := c.node(it.node)
	if it.typ == history.Invoke {
		c.opened[it.process] = node.tags
		return
	}
	before, known := c.opened[it.process]
	delete(c.opened, it.process)
	if it.typ != history.OK || !it.isHead {
		return
	}
	if !known {
		before = node.tags
	}
	c.head(it, node, &before)
}

func (c *finality) Finish(ctx context.Context, src history.Source) checker.Result {
	if ctx.Err() != nil {
		return checker.Ended(ctx, c.Name())
	}
	return c.found.result(src, c.Name(),
		fmt.Sprintf("what %s called final stayed so over %s", plural(c.watched, "node"), plural(c.heads, "head")),
		"no node served two heads, so nothing could be compared",
		[]checker.Stat{
			{Name: "heads", Value: fmt.Sprint(c.heads)},
			{Name: "batches out of order that were not repeated", Value: fmt.Sprint(c.unrepeated)},
		})
}

// node returns what is known of a node; those without a name are one.
func (c *finality) node(n int32) *watched {
	for int(n)+1 >= len(c.nodes) {
		c.nodes = append(c.nodes, watched{})
	}
	w := &c.nodes[n+1]
	if w.final == nil {
		w.final = make(map[int64]served)
		c.watched++
	}
	return w
}

// head judges one head against what the node had said before it was asked.
func (c *finality) head(it *item, n *watched, before *[3]served) {
	c.heads++
	c.order(it, n)
	for t := range it.head {
		b := &it.head[t]
		now := served{n: b.n, h: b.h, began: int32(it.began), op: int32(it.at)}
		if before[t].h != 0 {
			c.found.facts++
			c.progress(it.node, headTags[t], &before[t], &now)
		}
		if b.h != 0 && c.isFinal(headTags[t]) {
			c.keeps(it.node, n, &now)
		}
		// What overlaps the last answer must not lower the mark it set.
		after := now.began >= n.tags[t].op
		switch {
		case b.h == 0:
			n.tags[t].lost = n.tags[t].lost || after
		case after || n.tags[t].h == 0 || b.n > n.tags[t].n:
			n.tags[t] = now
		}
	}
}

// isFinal reports whether the network calls that tag final. What a node calls
// finalized is final on any network that serves it.
func (c *finality) isFinal(t tag) bool { return t == finalizedTag || t == c.finalTag }

// progress compares two answers for one tag, the second asked after the first
// was there.
func (c *finality) progress(node int32, t tag, was, now *served) {
	if now.h != 0 && now.n >= was.n || now.h == 0 && was.lost {
		return
	}
	kill, restarted := c.r.endedBetween(node, int(was.began), int(now.op))
	over, name := "", c.r.nodeName(node)
	positions := []int{int(was.op), int(now.op)}
	if restarted {
		over = fmt.Sprintf(" after it was killed (op %d)", kill)
		positions = append(positions, kill)
	}
	if now.h == 0 {
		text := fmt.Sprintf("%s served no %s block%s (op %d), though it had served %d %s before (op %d).", name, t, over, now.op, was.n, c.r.short(was.h), was.op)
		if restarted || c.finalTag == noTag || t == latestTag {
			c.found.warn("%s", text)
		} else {
			c.found.report("tag-lost", positions, saying("%s", text))
		}
		return
	}
	text := fmt.Sprintf("%s's %s block fell from %d %s (op %d) to %d %s (op %d)%s.",
		name, t, was.n, c.r.short(was.h), was.op, now.n, c.r.short(now.h), now.op, over)
	claimed := c.finalTag != noTag && c.isFinal(t)
	forgiven := restarted && (t == latestTag || c.finalTag != latestTag)
	if claimed && restarted && !forgiven {
		var f fault
		if f, forgiven = c.r.destroyedBefore(node, int(now.op)); forgiven {
			text = fmt.Sprintf("%s Its data was destroyed by the fault %s (op %d).", text, f.kind, f.op)
		}
	}
	if !claimed || forgiven {
		if t == finalizedTag || restarted {
			c.found.warn("%s", text)
		}
		return
	}
	c.found.report("finality-reverted", positions, saying("%s", text))
}

// keeps compares a final block with what the node said of that height before.
func (c *finality) keeps(node int32, n *watched, now *served) {
	first, known := n.final[now.n]
	if !known {
		n.final[now.n] = *now
		return
	}
	c.found.facts++
	if first.h == now.h {
		return
	}
	n.final[now.n] = *now
	text := fmt.Sprintf("%s changed its final block at height %d: first it was %s (op %d), then %s (op %d).",
		c.r.nodeName(node), now.n, c.r.short(first.h), first.op, c.r.short(now.h), now.op)
	if c.finalTag == noTag {
		c.found.warn("%s", text)
		return
	}
	c.found.report("finality-changed", []int{int(first.op), int(now.op)}, saying("%s", text))
}

// order checks finalized ≤ safe ≤ latest.
func (c *finality) order(it *item, n *watched) {
	wrong := ""
	last := -1
	for t := range it.head {
		b := &it.head[t]
		if b.h == 0 {
			continue
		}
		if last >= 0 && it.head[last].n > b.n {
			wrong = fmt.Sprintf("%s %d above %s %d", headTags[last], it.head[last].n, headTags[t], b.n)
		}
		last = t
	}
	d := &n.disorder
	if wrong == "" {
		if d.heads > 0 {
			c.unrepeated++
		}
		*d = disorder{}
		return
	}
	d.heads++
	if now := it.head[last].h; len(d.at) == 0 || now != d.latest {
		d.at, d.latest = append(d.at, it.at), now
	}
	if len(d.at) < orderBlocks && d.heads < orderHeads {
		return
	}
	if d.at[len(d.at)-1] != it.at {
		d.at = append(d.at, it.at)
	}
	c.found.report("tag-order", d.at, saying("%s served %s in one batch (op %d), and an impossible order in all of the %d batches since op %d.",
		c.r.nodeName(it.node), wrong, it.at, d.heads, d.at[0]))
	*d = disorder{}
}

// disorder is a row of heads whose tags were out of order.
type disorder struct {
	heads  int
	at     []int // the first of each block
	latest int32 // the block at latest
}

// So long a row is no race any more: over so many blocks, or so many heads where
// there are no new blocks.
const (
	orderBlocks = 3
	orderHeads  = 40
)
