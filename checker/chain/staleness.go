package chain

import (
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
// each ok :peek, by its tag: how many blocks lay between the block that it was
// answered from and the newest block that any node had shown in a completed op
// before the read was invoked; and for how long, by :time, some newer block had
// been shown by then.
//
// O(n log blocks) time, 16 bytes for each read and each new height.
func Staleness() checker.Checker { return staleness{} }

type staleness struct{}

func (staleness) Name() string { return "staleness" }

// shown is a height that was higher than all before it when a node showed it.
type shown struct {
	n    int64
	time int64
}

// ages are the measures of one tag.
type ages struct {
	blocks []int64
	times  []time.Duration
	most   int64
	worst  int // the op that was most blocks behind
}

func (c staleness) Check(ctx context.Context, h *history.History) checker.Result {
	var record []shown
	invoked := make(map[history.Process]struct{ at, heights int })
	byTag := make(map[string]*ages)
	facts := 0
	for i := range h.Ops {
		if i%checker.CheckEvery == 0 && ctx.Err() != nil {
			return checker.Ended(ctx, c.Name())
		}
		op := &h.Ops[i]
		if !op.Process.IsClient() {
			continue
		}
		if op.Type == history.Invoke {
			if op.F == "peek" {
				invoked[op.Process] = struct{ at, heights int }{i, len(record)}
			}
			continue
		}
		asked, known := invoked[op.Process]
		delete(invoked, op.Process)
		if place, ok := ReadPlace(op); ok && known && op.Type == history.OK && op.F == "peek" && op.Tag != pendingTag {
			facts++
			a := byTag[op.Tag]
			if a == nil {
				a = &ages{worst: i}
				byTag[op.Tag] = a
			}
			a.add(record[:asked.heights], place.N, h.Ops[asked.at].Time, i)
		}
		eachSighting(h, i, func(s *sighting) {
			if len(record) == 0 || s.N > record[len(record)-1].n {
				record = append(record, shown{s.N, op.Time})
			}
		})
	}
	r := checker.Result{Checker: c.Name(), Facts: facts, Reason: "history has no local read that names its block"}
	if facts > 0 {
		r.Verdict = checker.Valid
		r.Reason = fmt.Sprintf("age of %s measured", plural(facts, "local read"))
	}
	for _, tag := range slices.Sorted(maps.Keys(byTag)) {
		r.Stats = append(r.Stats, byTag[tag].stat(tag))
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
