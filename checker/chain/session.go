package chain

import (
	"context"
	"fmt"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history"
)

// Session returns the checker session: what one client process sees of one node.
//
//   - The heights that its local reads (:peek) at one tag are answered from never
//     fall (monotonic-reads).
//   - After a transaction of its own (:write, :cas, :read) was included at height
//     n, as this node told, a later local read at latest on this node is answered
//     from height n or above (read-your-writes).
//
// Both are claimed for every tag where the history's profile is bft, and only for
// finalized where it is pos; elsewhere, and when the nemesis killed the node in
// between, they are warnings. A local read on another node promises nothing.
//
// O(n) time, O(processes) memory.
func Session() checker.Checker { return session{} }

type session struct{}

func (session) Name() string { return "session" }

// point is a height that a client has seen, and where.
type point struct {
	n         int64
	hash      string
	began, op int
}

// view is a client at a node, for one tag; the tag is "" for its transactions.
type view struct {
	process   history.Process
	node, tag string
}

func (c session) Check(ctx context.Context, h *history.History) checker.Result {
	finalTag := finalTagOf(h)
	restarts := readRestarts(h)
	found := &findings{h: h}
	opened := make(map[history.Process]int)
	seen := make(map[view]point)
	facts, peeks, unplaced := 0, 0, 0
	// compare holds a read against a point that the client had reached before.
	compare := func(name, rule, tag string, was, now point, node string) {
		facts++
		if now.n >= was.n {
			return
		}
		first, second := &h.Ops[was.op], &h.Ops[now.op]
		text := fmt.Sprintf("process %s on %s: %s: its %s of %s at %s came from height %d %s (op %d), after its %s of %s at height %d %s (op %d).",
			second.Process, node, rule, second.F, second.Value, tag, now.n, short(now.hash), now.op,
			first.F, first.Value, was.n, short(was.hash), was.op)
		kill, restarted := restarts.between(node, was.began, now.op)
		switch {
		case restarted:
			found.warn("%s %s was killed in between (op %d).", text, node, kill)
		case finalTag == latestTag || finalTag != "" && tag == finalTag:
			found.report(name, text, was.op, now.op)
		default:
			found.warn("%s", text)
		}
	}
	for i := range h.Ops {
		if i%checker.CheckEvery == 0 && ctx.Err() != nil {
			return checker.Ended(ctx, c.Name())
		}
		op := &h.Ops[i]
		if !op.Process.IsClient() {
			continue
		}
		if op.Type == history.Invoke {
			opened[op.Process] = i
			continue
		}
		began, known := opened[op.Process]
		delete(opened, op.Process)
		if !known {
			began = i
		}
		if op.Type != history.OK || op.Tag == pendingTag {
			continue
		}
		isPeek := op.F == "peek"
		if !isPeek && op.F != "write" && op.F != "cas" && op.F != "read" {
			continue
		}
		place, ok := ReadPlace(op)
		if !ok {
			unplaced++
			continue
		}
		now := point{place.N, place.H, began, i}
		own := view{op.Process, op.Node, ""}
		if !isPeek {
			if was, known := seen[own]; !known || now.n > was.n {
				seen[own] = now
			}
			continue
		}
		peeks++
		at := view{op.Process, op.Node, op.Tag}
		if was, known := seen[at]; known {
			compare("monotonic-reads", "local reads went back", op.Tag, was, now, op.Node)
		}
		seen[at] = now
		if was, known := seen[own]; known && op.Tag == latestTag {
			compare("read-your-writes", "it does not see its own transaction", op.Tag, was, now, op.Node)
			if now.n < was.n {
				delete(seen, own)
			}
		}
	}
	return found.result(c.Name(), facts,
		fmt.Sprintf("%s went forward for every client of every node", plural(facts, "comparison")),
		"no client read twice from one node, so nothing could be compared",
		[]checker.Stat{
			{Name: "local reads", Value: fmt.Sprint(peeks)},
			{Name: "answers without a block", Value: fmt.Sprint(unplaced)},
		})
}
