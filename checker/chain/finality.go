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
//     so it only counts when the next head of that node repeats it;
//   - safe and finalized do not vanish once served (tag-lost).
//
// When the nemesis killed the node in between, a lower finalized is an anomaly
// only where finalTag is "latest", and a lower latest or a lost tag a warning: a
// node may have to catch up first. Ops that overlap on one node are not compared
// with each other. Where finalTag is "" only the order of tags is claimed, and
// the rest are warnings.
//
// O(n) time, O(final heights) memory for each node.
func Finality(finalTag string) checker.Checker { return finality{finalTag} }

type finality struct{ finalTag string }

func (finality) Name() string { return "finality" }

// served is the last answer of a node for one tag.
type served struct {
	Block
	began, op int  // its invocation and completion
	lost      bool // since then the node served no such block
}

// watched is what is known of one node.
type watched struct {
	tags     [3]served        // by tagNames; H is empty for what was never served
	final    map[int64]served // first word on each final height
	disorder int              // the last head, when its tags were out of order, else -1
}

func (c finality) Check(ctx context.Context, h *history.History) checker.Result {
	w := finalityWalk{c: c, found: &findings{h: h}, restarts: readRestarts(h), nodes: make(map[string]*watched)}
	type open struct {
		began  int
		before [3]served // what the node had answered before this op began
	}
	opened := make(map[history.Process]open)
	for i := range h.Ops {
		if i%checker.CheckEvery == 0 && ctx.Err() != nil {
			return checker.Ended(ctx, c.Name())
		}
		op := &h.Ops[i]
		if op.F != "head" || !op.Process.IsClient() {
			continue
		}
		node := w.node(op.Node)
		if op.Type == history.Invoke {
			opened[op.Process] = open{i, node.tags}
			continue
		}
		o, known := opened[op.Process]
		delete(opened, op.Process)
		head, ok := ReadHead(op.Value)
		if op.Type != history.OK || !ok {
			continue
		}
		if !known {
			o = open{i, node.tags}
		}
		w.head(op.Node, node, &head, o.began, i, o.before)
	}
	return w.found.result(c.Name(), w.facts,
		fmt.Sprintf("what %s called final stayed so over %s", plural(len(w.nodes), "node"), plural(w.heads, "head")),
		"no node served two heads, so nothing could be compared",
		[]checker.Stat{
			{Name: "heads", Value: fmt.Sprint(w.heads)},
			{Name: "batches out of order that were not repeated", Value: fmt.Sprint(w.unrepeated)},
		})
}

type finalityWalk struct {
	c          finality
	found      *findings
	restarts   restarts
	nodes      map[string]*watched
	facts      int
	heads      int
	unrepeated int
}

func (w *finalityWalk) node(name string) *watched {
	n := w.nodes[name]
	if n == nil {
		n = &watched{final: make(map[int64]served), disorder: -1}
		w.nodes[name] = n
	}
	return n
}

// head judges one head against what the node had said before it was asked.
func (w *finalityWalk) head(name string, n *watched, head *Head, began, op int, before [3]served) {
	w.heads++
	w.order(name, n, head, op)
	for t, b := range head.tags() {
		now := served{Block: *b, began: began, op: op}
		if before[t].H != "" {
			w.facts++
			w.progress(name, t, &before[t], &now)
		}
		if b.H != "" && w.isFinal(t) {
			w.keeps(name, n, &now)
		}
		// What overlaps the last answer must not lower the mark it set.
		after := began >= n.tags[t].op
		switch {
		case b.H == "":
			n.tags[t].lost = n.tags[t].lost || after
		case after || n.tags[t].H == "" || b.N > n.tags[t].N:
			n.tags[t] = now
		}
	}
}

// isFinal reports whether the network calls that tag final. What a node calls
// finalized is final on any network that serves it.
func (w *finalityWalk) isFinal(t int) bool {
	return tagNames[t] == finalizedTag || tagNames[t] == w.c.finalTag
}

// progress compares two answers for one tag, the second asked after the first
// was there.
func (w *finalityWalk) progress(name string, t int, was, now *served) {
	tag := tagNames[t]
	kill, restarted := w.restarts.between(name, was.began, now.op)
	over := ""
	if restarted {
		over = fmt.Sprintf(" after it was killed (op %d)", kill)
	}
	positions := []int{was.op, now.op}
	if restarted {
		positions = append(positions, kill)
	}
	if now.H == "" {
		if was.lost {
			return
		}
		text := fmt.Sprintf("%s served no %s block%s (op %d), though it had served %d %s before (op %d).", name, tag, over, now.op, was.N, short(was.H), was.op)
		if restarted || w.c.finalTag == "" || tag == latestTag {
			w.found.warn("%s", text)
		} else {
			w.found.report("tag-lost", text, positions...)
		}
		return
	}
	if now.N >= was.N {
		return
	}
	text := fmt.Sprintf("%s's %s block fell from %d %s (op %d) to %d %s (op %d)%s.",
		name, tag, was.N, short(was.H), was.op, now.N, short(now.H), now.op, over)
	claimed := w.c.finalTag != "" && w.isFinal(t)
	forgiven := restarted && (tag == latestTag || w.c.finalTag != latestTag)
	if !claimed || forgiven {
		if tag == finalizedTag || restarted {
			w.found.warn("%s", text)
		}
		return
	}
	w.found.report("finality-reverted", text, positions...)
}

// keeps compares a final block with what the node said of that height before.
func (w *finalityWalk) keeps(name string, n *watched, now *served) {
	first, known := n.final[now.N]
	if !known {
		n.final[now.N] = *now
		return
	}
	w.facts++
	if first.H == now.H {
		return
	}
	n.final[now.N] = *now
	text := fmt.Sprintf("%s changed its final block at height %d: first it was %s (op %d), then %s (op %d).",
		name, now.N, short(first.H), first.op, short(now.H), now.op)
	if w.c.finalTag == "" {
		w.found.warn("%s", text)
		return
	}
	w.found.report("finality-changed", text, first.op, now.op)
}

// order checks finalized ≤ safe ≤ latest.
func (w *finalityWalk) order(name string, n *watched, head *Head, op int) {
	wrong := ""
	var last *Block
	lastTag := ""
	for t, b := range head.tags() {
		if b.H == "" {
			continue
		}
		if last != nil && last.N > b.N {
			wrong = fmt.Sprintf("%s %d above %s %d", lastTag, last.N, tagNames[t], b.N)
		}
		last, lastTag = b, tagNames[t]
	}
	before := n.disorder
	if wrong == "" {
		if before >= 0 {
			w.unrepeated++
		}
		n.disorder = -1
		return
	}
	n.disorder = op
	if before >= 0 {
		w.found.report("tag-order", fmt.Sprintf("%s served %s in one batch (op %d), and an impossible order in the batch before it too (op %d).",
			name, wrong, op, before), before, op)
		n.disorder = -1
	}
}
