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
// A node that is far behind is a warning: one of which half of at least ten reads
// at latest, asked while no fault was in force nor had been for 20 seconds, were
// answered from five blocks behind or more, and five seconds.
//
// O(n log blocks) time, 48 bytes for each read, 24 for each new height.
func Staleness() checker.Checker {
	return checker.Streamed(func() checker.Stream { return NewReader().Staleness() })
}

// Staleness is Staleness for a pass.
func (r *Reader) Staleness() checker.Stream {
	return &staleness{r: r, byTag: make(map[tag]*ages), latest: make(map[int32][]aged)}
}

type staleness struct {
	r      *Reader
	record []shown
	byTag  map[tag]*ages
	latest map[int32][]aged // node → its reads at latest
	found  findings
}

// What of a node's reads is far behind.
const (
	farReads  = 10 // of so many at least, half
	farBlocks = 5
	farTime   = 5 * time.Second
)

// aged is one read.
type aged struct {
	asked, behind int64
	age           time.Duration
	op            int
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
		c.found.facts++
		a := c.byTag[it.tag]
		if a == nil {
			a = &ages{worst: it.at}
			c.byTag[it.tag] = a
		}
		before := len(c.record) // what was shown by the time it was asked
		for before > 0 && c.record[before-1].op >= it.began {
			before--
		}
		behind, age := a.add(c.record[:before], it.place.n, it.begun, it.at)
		if it.tag == latestTag && it.begun >= 0 {
			c.latest[it.node] = append(c.latest[it.node], aged{it.begun, behind, age, it.at})
		}
	}
	for i := range it.sightings {
		if n := it.sightings[i].n; len(c.record) == 0 || n > c.record[len(c.record)-1].n {
			c.record = append(c.record, shown{n, it.time, it.at})
		}
	}
}

func (c *staleness) Finish(ctx context.Context, src history.Source) checker.Result {
	if ctx.Err() != nil {
		return checker.Ended(ctx, c.Name())
	}
	var stats []checker.Stat
	for _, tag := range slices.SortedFunc(maps.Keys(c.byTag), func(a, b tag) int { return cmp.Compare(a.String(), b.String()) }) {
		stats = append(stats, c.byTag[tag].stat(tag.String()))
	}
	stirred := c.r.stirred(int64(calmAfter))
	for _, node := range slices.Sorted(maps.Keys(c.latest)) {
		c.farBehind(node, slices.DeleteFunc(c.latest[node], func(a aged) bool {
			i := sort.Search(len(stirred), func(i int) bool { return stirred[i].to >= a.asked })
			return i < len(stirred) && stirred[i].from <= a.asked
		}))
	}
	return c.found.result(src, c.Name(), fmt.Sprintf("age of %s measured", plural(c.found.facts, "local read")),
		"history has no local read that names its block", stats)
}

// farBehind warns of a node half of whose reads are.
func (c *staleness) farBehind(node int32, reads []aged) {
	far, worst := 0, aged{}
	for _, a := range reads {
		if a.behind < farBlocks || a.age < farTime {
			continue
		}
		if far++; a.behind > worst.behind {
			worst = a
		}
	}
	if len(reads) < farReads || 2*far < len(reads) {
		return
	}
	c.found.warnOf([]int{worst.op}, saying(
		"%d of %d local reads at latest on %s, while no fault was in force, were answered from %d blocks or more behind what had been shown by then, and %v or more (the worst: %d blocks, %v, op %d)",
		far, len(reads), c.r.nodeName(node), farBlocks, farTime, worst.behind, worst.age.Round(time.Millisecond), worst.op))
}

// add measures a read that was answered from height n, against what had been
// shown before it was asked.
func (a *ages) add(before []shown, n, asked int64, op int) (behind int64, age time.Duration) {
	newer := sort.Search(len(before), func(i int) bool { return before[i].n > n })
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
	return behind, age
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
