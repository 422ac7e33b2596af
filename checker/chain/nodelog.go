package chain

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history"
)

// CrashLog returns the checker crash-log: every :line op is a line of a node's log
// that should never be there: a panic, a block that the node calls bad, a failure
// of consensus, a data race. Each is Invalid, with what the line says. Of logs
// without such lines a history tells nothing but that jepgo took samples of the
// nodes at the same time, so that counts as what was compared, one for each node.
// O(n) time, O(lines) memory.
func CrashLog() checker.Checker {
	return checker.Streamed(func() checker.Stream { return NewReader().CrashLog() })
}

// CrashLog is CrashLog for a pass.
func (r *Reader) CrashLog() checker.Stream {
	return &crashLog{r: r, watched: make(map[string]bool), kinds: make(map[string]int)}
}

type crashLog struct {
	r       *Reader
	watched map[string]bool
	kinds   map[string]int // node and kind → lines
	lines   int
	found   findings
}

func (*crashLog) Name() string { return "crash-log" }

func (c *crashLog) Take(e *history.Event) {
	c.r.take(e)
	if e.Process != history.Runner() || e.F != "line" && e.F != "sample" {
		return
	}
	name, _ := e.Value.Field("node")
	node := string(name.Bytes())
	c.watched[node] = true
	if e.F != "line" {
		return
	}
	field := func(key string) string {
		v, _ := e.Value.Field(key)
		return string(v.Bytes())
	}
	kind, at := field("kind"), e.Position
	c.lines++
	if c.kinds[node+" "+kind]++; c.kinds[node+" "+kind] > 1 {
		return // it is said once for each node and kind
	}
	c.found.report(cmp.Or(kind, "line"), []int{at}, saying("the log of %s says at %s: %s (op %d).", node, field("log"), field("text"), at)).nodes = []string{node}
}

func (c *crashLog) Finish(ctx context.Context, src history.Source) checker.Result {
	if ctx.Err() != nil {
		return checker.Ended(ctx, c.Name())
	}
	c.found.facts = len(c.watched) + c.lines
	var stats []checker.Stat
	for _, k := range slices.Sorted(maps.Keys(c.kinds)) {
		stats = append(stats, checker.Stat{Name: k, Value: fmt.Sprint(c.kinds[k])})
	}
	return c.found.result(src, c.Name(), fmt.Sprintf("no line of alarm in the logs of %s", plural(len(c.watched), "node")), "no node was watched", stats)
}

// ChainTime returns the checker chain-time: no block has a timestamp before its
// parent's (time-went-back). Equal ones are allowed: some chains make several
// blocks in a second. O(blocks) time; memory that of the Reader.
func ChainTime() checker.Checker {
	return checker.Streamed(func() checker.Stream { return NewReader().ChainTime() })
}

// ChainTime is ChainTime for a pass.
func (r *Reader) ChainTime() checker.Stream { return &chainTime{r: r} }

type chainTime struct {
	r     *Reader
	found findings
}

func (*chainTime) Name() string { return "chain-time" }

func (c *chainTime) Take(e *history.Event) { c.r.take(e) }

func (c *chainTime) Finish(ctx context.Context, src history.Source) checker.Result {
	if ctx.Err() != nil {
		return checker.Ended(ctx, c.Name())
	}
	for i := range c.r.blocks {
		b := &c.r.blocks[i]
		if b.ts == 0 || b.up < 0 || c.r.blocks[b.up].ts == 0 {
			continue
		}
		c.found.facts++
		if p := &c.r.blocks[b.up]; b.ts < p.ts {
			c.found.report("time-went-back", []int{int(p.stampOp), int(b.stampOp)}, saying("block %d %s has timestamp %d (op %d), before that of its parent %s, %d (op %d).",
				b.n, c.r.short(b.h), b.ts, b.stampOp, c.r.short(p.h), p.ts, p.stampOp))
		}
	}
	return c.found.result(src, c.Name(), fmt.Sprintf("timestamps of %s are not before their parents'", plural(c.found.facts, "block")),
		"no block and its parent told their timestamps, so nothing could be compared", nil)
}
