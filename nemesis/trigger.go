package nemesis

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jepgo/jepgo/usage"
)

// trigger is the moment at which a fault starts: what follows the @ in
// --nemesis. Which fields count is its kind's to say.
type trigger struct {
	kind    string
	n       uint64        // height=, after=, epoch=, op=
	d       time.Duration // stall=, time=, every=
	node    string        // proposer=, and where a node may be named
	process int64         // op=: of one client process, or allProcesses
	metric  string
	above   bool // metric: fires above value, else below
	value   float64
}

// triggerKind is one kind of moment. A new kind is a line in triggerKinds.
type triggerKind struct {
	name string
	doc  string // its values, for help and errors
	// again says that it fires more than once in a run.
	again bool
	read  func(t *trigger, text string) bool
	show  func(t trigger) string
	// needs says what must be within reach for it, "" where it is.
	needs func(r Reach) string
	due   func(c clue, t trigger) (bool, error)
}

func triggerKinds() []triggerKind {
	return []triggerKind{
		{
			name: "height", doc: "height=50: when the highest head has reached block 50",
			read: readNumber, show: showNumber, needs: needsChain, due: dueHeight,
		}, {
			name: "after", doc: "after=3: each time, 3 blocks after the fault before it in the list was undone", again: true,
			read: readNumber, show: showNumber, needs: needsChain, due: dueAfter,
		}, {
			name: "proposer", doc: "proposer=n2: when node n2 proposes the next block",
			read: readProposer, show: func(t trigger) string { return t.node }, needs: needsProposers, due: dueProposer,
		}, {
			name: "epoch", doc: "epoch=32: each time the head passes a multiple of 32", again: true,
			read: readNumber, show: showNumber, needs: needsChain, due: dueEpoch,
		}, {
			name: "op", doc: "op=100 or op=p3:100: after 100 completed operations of all clients, or of client process 3",
			read: readOp, show: showOp, needs: needsOps, due: dueOp,
		}, {
			name: "stall", doc: "stall=10s or stall=n2:10s: when the highest head, or that of n2, has not moved for 10 seconds",
			read: readStall, show: showStall, needs: needsChain, due: dueStall,
		}, {
			name: "metric", doc: "metric=NAME>100, metric=NAME<5 or metric=n2:NAME>100: when a Prometheus series of any node, or of n2, is seen above or below",
			read: readMetric, show: showMetric, needs: needsMetrics, due: dueMetric,
		}, {
			name: "time", doc: "time=30s: 30 seconds after the main phase began",
			read: readDuration, show: showDuration, needs: needsNothing, due: dueTime,
		}, {
			name: "every", doc: "every=20s: every 20 seconds of the main phase", again: true,
			read: readDuration, show: showDuration, needs: needsNothing, due: dueEvery,
		},
	}
}

// Lengths describes what may follow the + of a fault in --nemesis.
func Lengths() string {
	return "kill+10s, kill@height=50+5blocks: how long it stays in force, a time or a number of blocks; without it, the interval of the run. " +
		"Right after a colon a + is the sign of a number: clock-bump:+10s is a jump of ten seconds, clock-bump+10s one that stays so long"
}

// Waiting says what becomes of a moment that comes at the wrong time, for help.
func Waiting() string {
	return "One fault is in force at a time. A moment that comes meanwhile waits for the other to be undone; of those that come again and again (epoch, every), what passed meanwhile is left out"
}

// Triggers describes what may follow the @ of a fault in --nemesis, one line
// each, for help.
func Triggers() []string {
	var docs []string
	for _, k := range triggerKinds() {
		docs = append(docs, k.doc)
	}
	return docs
}

func (t trigger) of() triggerKind {
	for _, k := range triggerKinds() {
		if k.name == t.kind {
			return k
		}
	}
	return triggerKind{} // not reached: only parseTrigger makes triggers
}

// String renders the trigger as parseTrigger reads it.
func (t trigger) String() string { return t.kind + "=" + t.of().show(t) }

// parseTrigger reads height=50.
func parseTrigger(text string) (trigger, error) {
	name, value, _ := strings.Cut(text, "=")
	var known []string
	for _, k := range triggerKinds() {
		if k.name != name {
			known = append(known, k.name)
			continue
		}
		t := trigger{kind: name}
		if !k.read(&t, value) {
			return trigger{}, fmt.Errorf("trigger %q: expected %s", text, k.doc)
		}
		return t, nil
	}
	return trigger{}, fmt.Errorf("trigger %q: unknown; %sexpected one of %s, with = and a value", text, usage.Meant(name, known), list(known))
}

// possible says why it can never fire with that reach.
func (t trigger) possible(r Reach) error {
	if missing := t.of().needs(r); missing != "" {
		return fmt.Errorf("trigger %q: %s", t, missing)
	}
	if n, _ := strconv.Atoi(strings.TrimPrefix(t.node, "n")); n > r.Nodes {
		return fmt.Errorf("trigger %q: node %q: there are %d nodes", t, t.node, r.Nodes)
	}
	if r.Time > 0 && t.d >= r.Time {
		return fmt.Errorf("trigger %q: the main phase is over after %v; expected less, or a longer --time", t, r.Time)
	}
	return nil
}

func needsNothing(Reach) string { return "" }

func needsChain(r Reach) string {
	if r.Chain {
		return ""
	}
	return "this network does not tell its heights"
}

func needsProposers(r Reach) string {
	if r.Proposers {
		return ""
	}
	return noProposers
}

func needsOps(r Reach) string {
	if r.Ops {
		return ""
	}
	return "nobody counts the clients' operations here"
}

func needsMetrics(r Reach) string {
	if r.Metrics {
		return ""
	}
	return "this network does not tell its nodes' Prometheus endpoints"
}

func readNumber(t *trigger, text string) bool {
	n, err := strconv.ParseUint(text, 10, 63)
	t.n = n
	return err == nil && n > 0
}

func showNumber(t trigger) string { return strconv.FormatUint(t.n, 10) }

func readDuration(t *trigger, text string) bool {
	d, err := time.ParseDuration(text)
	t.d = d
	return err == nil && d > 0 && isDigit(text[0])
}

func showDuration(t trigger) string { return t.d.String() }

func readProposer(t *trigger, text string) bool {
	t.node = text
	return isNode(text)
}

// readNode takes a node's name and a colon off the front, where there are any.
func readNode(t *trigger, text string) (rest string) {
	if node, rest, ok := strings.Cut(text, ":"); ok && isNode(node) {
		t.node = node
		return rest
	}
	return text
}

func showNode(t trigger) string {
	if t.node == "" {
		return ""
	}
	return t.node + ":"
}

func readStall(t *trigger, text string) bool { return readDuration(t, readNode(t, text)) }
func showStall(t trigger) string             { return showNode(t) + showDuration(t) }

// allProcesses stands for every client process in Net.Ops.
const allProcesses = -1

func readOp(t *trigger, text string) bool {
	t.process = allProcesses
	if text, of := strings.CutPrefix(text, "p"); of {
		process, n, _ := strings.Cut(text, ":")
		p, err := strconv.ParseUint(process, 10, 31)
		t.process = int64(p)
		return err == nil && readNumber(t, n)
	}
	return readNumber(t, text)
}

func showOp(t trigger) string {
	if t.process == allProcesses {
		return showNumber(t)
	}
	return fmt.Sprintf("p%d:%d", t.process, t.n)
}

func readMetric(t *trigger, text string) bool {
	at := strings.IndexAny(text, "<>")
	if at < 0 {
		return false
	}
	t.metric, t.above = readNode(t, text[:at]), text[at] == '>'
	value := text[at+1:]
	for i := range len(value) {
		// No exponents: a + begins a length.
		if c := value[i]; !isDigit(c) && c != '.' && (c != '-' || i > 0) {
			return false
		}
	}
	f, err := strconv.ParseFloat(value, 64)
	t.value = f
	return err == nil && isMetric(t.metric)
}

func showMetric(t trigger) string {
	sign := "<"
	if t.above {
		sign = ">"
	}
	return showNode(t) + t.metric + sign + strconv.FormatFloat(t.value, 'f', -1, 64)
}

// isMetric holds a name to what Prometheus allows.
func isMetric(name string) bool {
	for i := range len(name) {
		c := name[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c == ':'
		if !letter && (i == 0 || !isDigit(c)) {
			return false
		}
	}
	return name != ""
}

// isNode reports whether it is the name of a node: n1, n2, …
func isNode(text string) bool {
	digits, ok := strings.CutPrefix(text, "n")
	n, err := strconv.ParseUint(digits, 10, 31)
	return ok && err == nil && n > 0 && isDigit(digits[0])
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
