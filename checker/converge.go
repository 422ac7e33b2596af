package checker

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jepgo/jepgo/history"
)

// Converge returns the checker converge: after the heal, all nodes must have
// reached one head within the bound that the run set itself. Where they did not,
// final reads say nothing about durability, so the answer is Unknown; where, with
// all nodes answering and no fault in force, they had different blocks at one
// height for half a minute (ten blocks' time, where that is more) and to the end,
// the network is split: Invalid, on any network. (A chain that may reorganise does so at its head, within a few blocks'
// time; a node that is behind has the blocks of the others below its head.) Only
// the last :converge op counts. O(n) time.
func Converge() Checker { return Streamed(ConvergeStream) }

// ConvergeStream is Converge for a history that passes by. It keeps the ops of
// jepgo and its nemesis only.
func ConvergeStream() Stream { return &converge{} }

type converge struct{ ours }

func (*converge) Name() string { return "converge" }

func (c *converge) Take(e *history.Event) { c.take(e) }

func (c *converge) Finish(ctx context.Context, src history.Source) Result {
	if ctx.Err() != nil {
		return Ended(ctx, c.Name())
	}
	r := Result{Checker: c.Name(), Reason: because(c.endsEarly(), "history has no :converge op, so final reads cannot be trusted")}
	info, _ := c.readTest()
	for n := len(c.ops) - 1; n >= 0; n-- {
		i, op := c.at[n], &c.ops[n]
		if op.F != "converge" || op.Process != history.Runner() {
			continue
		}
		field, _ := op.Value.Field("converged")
		converged, known := field.Flag()
		bound := time.Duration(intOf(op.Value, "bound"))
		took := time.Duration(intOf(op.Value, "took"))
		r.Stats = []Stat{{Name: "took", Value: took.String()}, {Name: "bound", Value: bound.String()}}
		switch {
		case !known:
			r.Reason = fmt.Sprintf("converge op %d does not say whether the nodes converged", i)
		case !converged:
			r.Facts = 1
			r.Reason = fmt.Sprintf("nodes did not reach one head after the heal, in %v of at most %v (op %d): %s",
				took.Round(time.Millisecond), bound, i, heads(op.Value, info.Nodes))
			if forked(op.Value) {
				r.Reason = fmt.Sprintf("nodes are on different chains after the heal, and where latest is final they stay there (op %d): %s", i, heads(op.Value, info.Nodes))
			}
			if text, nodes, facts := splitOf(op.Value, info); text != "" {
				r.Verdict, r.Facts = Invalid, facts
				r.Reason = text
				r.Anomalies = []Anomaly{{Name: "split", Message: text, Nodes: nodes, Witness: RefsFrom(src, i)}}
			}
		default:
			r.Verdict, r.Facts = Valid, 1
			r.Reason = fmt.Sprintf("nodes reached one head %v after the heal", took.Round(time.Millisecond))
		}
		return r
	}
	return r
}

// For so long nodes must have had different blocks at one height for it to be more
// than a reorganisation under way: longer than any peer waits to dial again, and
// longer than ten blocks take.
const (
	leastSplit  = 36 * time.Second
	splitBlocks = 10
)

// splitOf says how the nodes are split for good; text is "" when they are not.
func splitOf(v history.Value, info TestInfo) (text string, nodes []string, facts int) {
	field, _ := v.Field("split")
	hashes, _ := field.Field("hashes")
	elems := hashes.Elems()
	lasted := time.Duration(intOf(field, "lasted"))
	if hashes.Kind() != history.Map || lasted < max(leastSplit, splitBlocks*info.Bounds.BlockTime) {
		return "", nil, 0
	}
	by := make(map[string][]string)
	for i := 0; i+1 < len(elems); i += 2 {
		nodes = append(nodes, elems[i].Text())
		by[elems[i+1].Text()] = append(by[elems[i+1].Text()], elems[i].Text())
	}
	if len(by) < 2 {
		return "", nil, 0
	}
	var parts []string
	for _, hash := range sortedKeys(by) {
		parts = append(parts, fmt.Sprintf("%s on %s", hash, strings.Join(by[hash], ", ")))
	}
	return fmt.Sprintf("the network is split: block %d is %s; nothing was in force, and in %v they did not come together (heads: %s)",
		intOf(field, "n"), strings.Join(parts, ", and "), lasted.Round(time.Second), heads(v, info.Nodes)), nodes, len(nodes)
}

// forked is whether the nodes were seen with different blocks at one height.
func forked(v history.Value) bool {
	field, _ := v.Field("forked")
	yes, _ := field.Flag()
	return yes
}

// heads tells the head of each of the nodes, and which did not answer.
func heads(v history.Value, nodes []string) string {
	field, _ := v.Field("heads")
	elems := field.Elems()
	var parts []string
	silent := slices.Clone(nodes)
	level := len(elems) > 2
	for i := 0; field.Kind() == history.Map && i+1 < len(elems); i += 2 {
		parts = append(parts, fmt.Sprintf("%s at %s", elems[i].Text(), elems[i+1]))
		level = level && elems[i+1].Equal(elems[1])
		silent = slices.DeleteFunc(silent, func(n string) bool { return n == elems[i].Text() })
	}
	if len(parts) == 0 {
		return "heads unknown"
	}
	if len(silent) > 0 {
		return fmt.Sprintf("%s, and no answer from %s", strings.Join(parts, ", "), strings.Join(silent, ", "))
	}
	switch {
	case level && forked(v):
		return strings.Join(parts, ", ") + ", with different blocks"
	case level:
		return strings.Join(parts, ", ") + ", and no block follows"
	}
	return strings.Join(parts, ", ")
}
