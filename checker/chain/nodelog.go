package chain

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history"
)

// CrashLog returns the checker crash-log: no node's log has a line that should
// never be there, as :line ops tell: :panic, :bad-block (the node calls a block
// invalid, which its own network made), :consensus-failure or :data-race. Each is
// Invalid, on every network, with what the line says. What a fault of jepgo's own
// explains is a warning: one of the node's disk, power, clock, files or memory that
// was in force at most a minute before, or that no undo brings back; a data race is
// never explained. So are lines of other kinds. Facts are the lines of logs that
// were read (:watched); it is left out where no log was. O(n) time, O(lines)
// memory.
func CrashLog() checker.Checker {
	return checker.Streamed(func() checker.Stream { return NewReader().CrashLog() })
}

// CrashLog is CrashLog for a pass.
func (r *Reader) CrashLog() checker.Stream {
	return &crashLog{r: r, logs: make(map[string]bool), kinds: make(map[string]int)}
}

// excuseAfter is how long after its end a fault explains a line.
const excuseAfter = time.Minute

type crashLog struct {
	r     *Reader
	logs  map[string]bool
	read  int64 // lines
	lines []logLine
	kinds map[string]int // node and kind → lines
	found findings
}

type logLine struct {
	node, kind, text, log string
	at                    int
	time                  int64
}

func (*crashLog) Name() string { return "crash-log" }

func (c *crashLog) Take(e *history.Event) {
	c.r.take(e)
	if e.Process != history.Runner() || e.F != "line" && e.F != "watched" {
		return
	}
	field := func(key string) string {
		v, _ := e.Value.Field(key)
		return string(v.Bytes())
	}
	l := logLine{field("node"), field("kind"), field("text"), field("log"), e.Position, e.Time}
	if e.F == "watched" {
		v, _ := e.Value.Field("lines")
		if n, ok := v.Int(); ok && n > 0 {
			c.read += n
			c.logs[l.log] = true
		}
		return
	}
	if len(c.lines) < maxLines {
		c.lines = append(c.lines, l)
	}
}

// maxLines bounds the lines that are kept.
const maxLines = 10_000

// excuse returns the fault that explains a line.
func (c *crashLog) excuse(l *logLine) (fault, bool) {
	if l.kind == "data-race" {
		return fault{}, false
	}
	for _, f := range c.r.faults() {
		reaches, lasting := explains(f.kind)
		if !reaches {
			continue
		}
		after := int64(excuseAfter)
		if lasting {
			f.to = always
		}
		if f.hits(l.node, l.time, after) {
			return f, true
		}
	}
	return fault{}, false
}

// explains reports whether a fault of that kind explains that a node ends with a
// panic or calls blocks bad, and whether it does for ever, as what it destroyed
// stays so.
func explains(kind string) (reaches, lasting bool) {
	if destroys(kind) || kind == "disk-flip" || kind == "power" {
		return true, true
	}
	for _, name := range []string{"disk-", "clock-", "memory-"} {
		if strings.HasPrefix(kind, name) {
			return true, false
		}
	}
	return false, false
}

func (c *crashLog) Finish(ctx context.Context, src history.Source) checker.Result {
	if ctx.Err() != nil {
		return checker.Ended(ctx, c.Name())
	}
	c.found.facts = int(c.read) + len(c.lines)
	if c.found.facts == 0 {
		return checker.Result{Checker: c.Name(), LeftOut: true, Reason: "no line of a node's log was read"}
	}
	for i := range c.lines {
		l := &c.lines[i]
		text := fmt.Sprintf("the log of %s says at %s: %s (op %d)", l.node, l.log, l.text, l.at)
		f, excused := c.excuse(l)
		kind := l.node + " " + l.kind
		if excused {
			kind += ", under a fault"
		}
		if c.kinds[kind]++; c.kinds[kind] > 1 {
			continue // it is said once for each node and kind
		}
		switch {
		case excused:
			c.found.warn("%s, which %s (op %d) explains", text, f.kind, f.op)
		case slices.Contains([]string{"panic", "bad-block", "consensus-failure", "data-race"}, l.kind):
			c.found.report(l.kind, []int{l.at}, saying("%s.", text)).nodes = []string{l.node}
		default:
			c.found.warn("%s", text)
		}
	}
	var stats []checker.Stat
	for _, k := range slices.Sorted(maps.Keys(c.kinds)) {
		stats = append(stats, checker.Stat{Name: k, Value: fmt.Sprint(c.kinds[k])})
	}
	return c.found.result(src, c.Name(), fmt.Sprintf("%s of %s read, %s of alarm", plural(int(c.read), "line"), plural(len(c.logs), "log"), plural(len(c.lines), "line")), "no line was read", stats)
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
