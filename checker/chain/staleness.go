package chain

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sort"
	"time"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history"
)

// Staleness returns the checker staleness, which measures and never accuses:
// local reads are answered from the state of one node, so they may be old. For
// each ok :peek, :count, :elements, :balances and :account, by its tag: how many
// blocks lay between the block that it was answered from and the newest block
// that any node had shown in a completed op before the read was invoked; and for
// how long, by :time, some newer block had been shown by then.
//
// O(n log blocks) time, 16 bytes for each read and each new height.
func Staleness() checker.Checker {
	return checker.Streamed(func() checker.Stream { return NewReader().Staleness() })
}

// Staleness is Staleness for a pass.
func (r *Reader) Staleness() checker.Stream { return &staleness{r: r, byTag: make(map[tag]*ages)} }

type staleness struct {
	r      *Reader
	record []shown
	byTag  map[tag]*ages
	facts  int
}

func (*staleness) Name() string { return "staleness" }

// shown is a height that was higher than all before it when a node showed it.
type shown struct {
	n    int64
	time int64
	op   int
}

// ages are the measures of one tag.
type ages struct {
	blocks []int64
	times  []time.Duration
	most   int64
	worst  int // the op that was most blocks behind
}

func (c *staleness) Take(e *history.Event) {
	it := c.r.take(e)
	if !it.completes {
		return
	}
	if it.known && it.placed && it.typ == history.OK && it.f.isLocalRead() && it.tag != pendingTag && !(it.f == opAccount && it.tag == noTag) {
		c.facts++
		a := c.byTag[it.tag]
		if a == nil {
			a = &ages{worst: it.at}
			c.byTag[it.tag] = a
		}
		before := len(c.record) // what was shown by the time it was asked
		for before > 0 && c.record[before-1].op >= it.began {
			before--
		}
		a.add(c.record[:before], it.place.n, it.begun, it.at)
	}
	for i := range it.sightings {
		if n := it.sightings[i].n; len(c.record) == 0 || n > c.record[len(c.record)-1].n {
			c.record = append(c.record, shown{n, it.time, it.at})
		}
	}
}

func (c *staleness) Finish(ctx context.Context, _ history.Source) checker.Result {
	if ctx.Err() != nil {
		return checker.Ended(ctx, c.Name())
	}
	r := checker.Result{Checker: c.Name(), Facts: c.facts, Reason: "history has no local read that names its block"}
	if c.facts > 0 {
		r.Verdict = checker.Valid
		r.Reason = fmt.Sprintf("age of %s measured", plural(c.facts, "local read"))
	}
	for _, tag := range slices.SortedFunc(maps.Keys(c.byTag), func(a, b tag) int { return cmp.Compare(a.String(), b.String()) }) {
		r.Stats = append(r.Stats, c.byTag[tag].stat(tag.String()))
	}
	return r
}

// add measures a read that was answered from height n, against what had been
// shown before it was asked.
func (a *ages) add(before []shown, n, asked int64, op int) {
	newer := sort.Search(len(before), func(i int) bool { return before[i].n > n })
	var behind int64
	var age time.Duration
	if newer < len(before) {
		behind = before[len(before)-1].n - n
		if since := before[newer].time; since >= 0 && asked >= since {
			age = time.Duration(asked - since)
		}
	}
	if behind > a.most {
		a.most, a.worst = behind, op
	}
	a.blocks = append(a.blocks, behind)
	a.times = append(a.times, age)
}

func (a *ages) stat(tag string) checker.Stat {
	slices.Sort(a.blocks)
	slices.Sort(a.times)
	ms := func(q float64) string {
		return fmt.Sprintf("%.1f", float64(checker.Quantile(a.times, q))/float64(time.Millisecond))
	}
	if tag == "" {
		tag = "no tag"
	}
	return checker.Stat{Name: "local reads at " + tag, Value: fmt.Sprintf(
		"%d; blocks behind p50 %d, p99 %d, max %d (op %d); ms behind p50 %s, p99 %s, max %s",
		len(a.blocks), checker.Quantile(a.blocks, 0.5), checker.Quantile(a.blocks, 0.99), a.most, a.worst,
		ms(0.5), ms(0.99), ms(1))}
}
