package chain

import (
	"context"
	"fmt"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history"
)

// Session returns the checker session: what one client process sees of one node.
//
//   - The heights that its local reads (:peek, :count, :elements, :balances,
//     :account) at one tag are answered from never
//     fall (monotonic-reads).
//   - After a transaction of its own (:write, :cas, :read, …) was included at height
//     n, as this node told, a later local read at latest on this node is answered
//     from height n or above (read-your-writes).
//
// Both are claimed for every tag where the history's profile is bft, and only for
// finalized where it is pos; elsewhere, and when the nemesis killed the node in
// between, they are warnings. A local read on another node promises nothing.
//
// O(n) time, O(processes) memory.
func Session() checker.Checker {
	return checker.Streamed(func() checker.Stream { return NewReader().Session() })
}

// Session is Session for a pass.
func (r *Reader) Session() checker.Stream { return &session{r: r, seen: make(map[view]point)} }

type session struct {
	r               *Reader
	seen            map[view]point
	peeks, unplaced int
	found           findings
}

func (*session) Name() string { return "session" }

// point is a height that a client has seen, and where.
type point struct {
	n         int64
	hash      id
	began, op int32
}

// view is a client at a node, for the local reads at one tag or for its
// transactions.
type view struct {
	process history.Process
	node    int32
	txs     bool
	tag     tag
}

// compare holds a read against a point that the client had reached before.
func (c *session) compare(name, rule string, it *item, was, now point) {
	c.found.facts++
	if now.n >= was.n {
		return
	}
	finalTag, node, tag := c.r.finalTag(), c.r.nodeName(it.node), it.tag
	kill, restarted := c.r.endedBetween(it.node, int(was.began), it.at)
	positions := []int{int(was.op), int(now.op)}
	hash, before := c.r.short(now.hash), c.r.short(was.hash)
	say := func(look ops) string {
		first, second := look(int(was.op)), look(int(now.op))
		text := fmt.Sprintf("process %s on %s: %s: its %s of %s at %s came from height %d %s (op %d), after its %s of %s at height %d %s (op %d).",
			second.Process, node, rule, second.F, second.Value, tag, now.n, hash, now.op,
			first.F, first.Value, was.n, before, was.op)
		if restarted {
			text += fmt.Sprintf(" %s was killed in between (op %d).", node, kill)
		}
		return text
	}
	if !restarted && finalTag != noTag && (finalTag == latestTag || tag == finalTag) {
		c.found.report(name, positions, say)
	} else {
		c.found.warnOf(positions, say)
	}
}

func (c *session) Take(e *history.Event) {
	it := c.r.take(e)
	if !it.completes || it.typ != history.OK || it.tag == pendingTag {
		return
	}
	isRead := it.f.isLocalRead()
	if !isRead && !it.f.isTx() {
		return
	}
	if !it.placed {
		c.unplaced++
		return
	}
	now := point{it.place.n, it.place.h, int32(it.began), int32(it.at)}
	own := view{process: it.process, node: it.node, txs: true}
	if !isRead {
		if was, known := c.seen[own]; !known || now.n > was.n {
			c.seen[own] = now
		}
		return
	}
	if it.f == opAccount && it.tag == noTag {
		return // asked at a block of the asker's choice
	}
	c.peeks++
	at := view{process: it.process, node: it.node, tag: it.tag}
	if was, known := c.seen[at]; known {
		c.compare("monotonic-reads", "local reads went back", it, was, now)
	}
	c.seen[at] = now
	if was, known := c.seen[own]; known && it.tag == latestTag {
		c.compare("read-your-writes", "it does not see its own transaction", it, was, now)
		if now.n < was.n {
			delete(c.seen, own)
		}
	}
}

func (c *session) Finish(ctx context.Context, src history.Source) checker.Result {
	if ctx.Err() != nil {
		return checker.Ended(ctx, c.Name())
	}
	return c.found.result(src, c.Name(),
		fmt.Sprintf("%s went forward for every client of every node", plural(c.found.facts, "comparison")),
		"no client read twice from one node, so nothing could be compared",
		[]checker.Stat{
			{Name: "local reads", Value: fmt.Sprint(c.peeks)},
			{Name: "answers without a block", Value: fmt.Sprint(c.unplaced)},
		})
}
