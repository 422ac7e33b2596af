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
// never explained. So are lines of other kinds.
//
// Nor may a node's process end by itself, as :exit ops tell: with an exit status of
// its own, or by a signal that it brought on itself, such as SIGSEGV (process-ended).
// It is no anomaly where a fault of the node explains it, one that ends processes
// among them, or where a line told of the same. A process that was told to end, by
// SIGKILL, SIGTERM or SIGINT, or that ended in order, is a warning where no fault
// of jepgo's did it: something else on the machine did, such as the kernel when
// memory ran out.
//
// Facts are the lines of logs that were read (:watched) and the ends; it is left
// out where there are none. O(n) time, O(lines) memory.
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
	ends  []processEnd
	kinds map[string]int // node and kind → lines
	found findings
}

type logLine struct {
	node, kind, text, log string
	at                    int
	time                  int64
}

type processEnd struct {
	node, state string
	at          int
	time        int64
}

func (*crashLog) Name() string { return "crash-log" }

func (c *crashLog) Take(e *history.Event) {
	c.r.take(e)
	if e.Process != history.Runner() || e.F != "line" && e.F != "watched" && e.F != "exit" {
		return
	}
	field := func(key string) string {
		v, _ := e.Value.Field(key)
		return string(v.Bytes())
	}
	if e.F == "exit" {
		c.ends = append(c.ends, processEnd{field("node"), field("state"), e.Position, e.Time})
		return
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
	return c.excuseAt(l.node, l.time)
}

// excuseAt returns the fault that explains that the node breaks down at that time.
func (c *crashLog) excuseAt(node string, at int64) (fault, bool) {
	for _, f := range c.r.faults() {
		reaches, lasting := explains(f.kind)
		if !reaches {
			continue
		}
		if lasting {
			f.to = always
		}
		if f.hits(node, at, int64(excuseAfter)) {
			return f, true
		}
	}
	return fault{}, false
}

// noticeAfter is how long after its end a process may be seen to have ended.
const noticeAfter = time.Second

// meant returns the fault that was in force when the process ended, and ends
// processes. Those of clocks never do themselves: they let a node end by its own
// rules.
func (c *crashLog) meant(e *processEnd) (fault, bool) {
	for _, f := range c.r.faults() {
		if f.restarts && f.hits(e.node, e.time, int64(noticeAfter)) && (!e.told() || !strings.HasPrefix(f.kind, "clock-")) {
			return f, true
		}
	}
	return fault{}, false
}

// told is whether somebody told the process to end, or it ended in order: all but
// an exit status of its own, and a signal that is for what went wrong.
func (e *processEnd) told() bool {
	if status, exited := strings.CutPrefix(e.state, "exit status "); exited {
		return status == "0"
	}
	signal, ended := strings.CutPrefix(e.state, "signal: ")
	signal = strings.TrimSuffix(signal, " (core dumped)")
	return !ended || slices.Contains([]string{"killed", "terminated", "interrupt", "hangup"}, signal)
}

// logged is whether a line of alarm tells of the end, too: one of the node's from
// the same moment.
func (c *crashLog) logged(e *processEnd) bool {
	return slices.ContainsFunc(c.lines, func(l logLine) bool {
		return l.node == e.node && l.kind != "data-race" && l.time >= e.time-int64(loggedBefore) && l.time <= e.time+int64(loggedBefore)
	})
}

// loggedBefore is how far apart the end of a process and its last lines may be seen.
const loggedBefore = 2 * time.Second

// judgeEnds says which processes ended without a fault that ends them.
func (c *crashLog) judgeEnds() {
	for i := range c.ends {
		e := &c.ends[i]
		if _, ok := c.meant(e); ok {
			continue
		}
		f, excused := c.excuseAt(e.node, e.time)
		switch {
		case e.told():
			what := "no fault did that"
			if excused {
				what = f.kind + " was in force, which does not do that"
			}
			c.kinds[e.node+" ended from outside"]++
			who := "something outside of jepgo did, such as the kernel when memory runs out"
			if strings.HasPrefix(e.state, "exit ") {
				who = "it ended in order by itself, or something outside of jepgo told it to"
			}
			c.found.warn("the process of %s ended (%s, op %d), and %s: %s", e.node, e.state, e.at, what, who)
		case excused:
			c.kinds[e.node+" process-ended, under a fault"]++
			c.found.warn("the process of %s ended by itself (%s, op %d), which %s (op %d) explains", e.node, e.state, e.at, f.kind, f.op)
		case c.logged(e):
		default:
			c.kinds[e.node+" process-ended"]++
			c.found.report("process-ended", []int{e.at}, saying("the process of %s ended by itself (%s, op %d), and no fault of its own was in force that would explain it.", e.node, e.state, e.at)).nodes = []string{e.node}
		}
	}
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
	c.judgeEnds()
	if c.found.facts == 0 && len(c.kinds) == 0 {
		return checker.Result{Checker: c.Name(), LeftOut: true, Reason: "no line of a node's log was read"}
	}
	c.found.facts += len(c.ends)
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
	return c.found.result(src, c.Name(), fmt.Sprintf("%s of %s read, %s of alarm; %s of processes looked at", plural(int(c.read), "line"), plural(len(c.logs), "log"), plural(len(c.lines), "line"), plural(len(c.ends), "end")), "no line was read", stats)
}
