package chain

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history"
)

// A commit holds the votes that came in time, so a validator that is a little
// slower than the others is missing from many: only one that is missing from most,
// over a stretch without faults, is worth a word.
const (
	calmAfter   = 20 * time.Second // after a fault, a node may have to catch up
	leastCommit = 10               // of a stretch
)

// Participation returns the checker participation: a validator of the set at a
// height signs its commit. A commit needs the votes of two thirds only, so a
// validator is named, as a warning, when in some stretch of the run without any
// fault, from 20 seconds after the last one on, it is absent from more than half of
// at least ten commits. It is left out where no stretch has as many. Heights are
// put into a stretch by when nodes were first seen at them. O(votes) time and
// memory.
func Participation() checker.Checker {
	return checker.Streamed(func() checker.Stream { return NewReader().Participation() })
}

// Participation is Participation for a pass.
func (r *Reader) Participation() checker.Stream {
	return &participation{r: r, commits: make(map[int64]*commit), sets: make(map[int64][]id), top: -1}
}

type participation struct {
	r       *Reader
	commits map[int64]*commit
	sets    map[int64][]id
	reached []reached // rising
	top     int64
	found   findings
}

// reached is when a height was seen first.
type reached struct{ n, time int64 }

type commit struct {
	at     int
	signed map[id]bool
}

func (*participation) Name() string { return "participation" }

func (c *participation) Take(e *history.Event) {
	it := c.r.take(e)
	if !it.f.isConsensus() || !it.completes || it.typ != history.OK {
		return
	}
	field, _ := it.value.Field("n")
	n, ok := field.Int()
	if !ok {
		return
	}
	if n > c.top {
		c.top = n
		c.reached = append(c.reached, reached{n, it.time})
	}
	switch it.f {
	case opVotes:
		rows, _ := it.value.Field("signed")
		if !rows.IsSequence() {
			return
		}
		k := c.commits[n]
		if k == nil {
			k = &commit{at: it.at, signed: make(map[id]bool)}
			c.commits[n] = k
		}
		for row := range rows.Elems() {
			if row.IsSequence() && row.Len() >= 2 {
				who := row.First()
				// What any node shows of a commit counts: each has seen votes of its own.
				k.signed[c.r.of(who.Bytes())] = k.signed[c.r.of(who.Bytes())] || !who.Next().Is("absent")
			}
		}
	case opValidators:
		rows, _ := it.value.Field("set")
		if c.sets[n] != nil || !rows.IsSequence() {
			return
		}
		set := []id{}
		for row := range rows.Elems() {
			if who, power, pair := row.Pair(); pair {
				if p, ok := power.Int(); !ok || p > 0 {
					set = append(set, c.r.of(who.Bytes()))
				}
			}
		}
		c.sets[n] = set
	}
}

// within returns the heights that were made in a stretch: above the highest that
// was seen before it, and two more, as nobody asks at every moment.
func (c *participation) within(s span64) (from, to int64) {
	from, to = -1, -1
	for _, m := range c.reached {
		if m.time <= s.from {
			from = m.n + 3
		}
		if m.time < s.to {
			to = m.n
		}
	}
	if from < 0 {
		return 0, -1
	}
	return from, to
}

func (c *participation) Finish(ctx context.Context, src history.Source) checker.Result {
	if ctx.Err() != nil {
		return checker.Ended(ctx, c.Name())
	}
	type count struct{ signed, absent, firstOp int }
	total := make(map[id]*count)
	stretches := 0
	for _, s := range c.r.calm(int64(calmAfter)) {
		from, to := c.within(s)
		here := make(map[id]*count)
		commits := 0
		for n := from; n <= to; n++ {
			k := c.commits[n]
			if k == nil {
				continue
			}
			commits++
			tell := func(who id, signed bool) {
				h := here[who]
				if h == nil {
					h = &count{firstOp: -1}
					here[who] = h
				}
				if signed {
					h.signed++
				} else if h.absent++; h.firstOp < 0 {
					h.firstOp = k.at
				}
			}
			for who, signed := range k.signed {
				tell(who, signed)
			}
			for _, who := range c.sets[n] {
				if _, listed := k.signed[who]; !listed {
					tell(who, false)
				}
			}
		}
		if commits < leastCommit {
			continue
		}
		stretches++
		c.found.facts += commits
		for who, h := range here {
			t := total[who]
			if t == nil {
				t = &count{}
				total[who] = t
			}
			t.signed, t.absent = t.signed+h.signed, t.absent+h.absent
			if all := h.signed + h.absent; all >= leastCommit && 2*h.absent > all {
				c.found.warnOf([]int{h.firstOp}, saying("validator %s signed %d of %d commits from height %d to %d, while no fault was in force (the first without it is op %d)",
					c.r.short(who), h.signed, all, from, to, h.firstOp))
			}
		}
	}
	if stretches == 0 {
		return checker.Result{Checker: c.Name(), LeftOut: true, Reason: fmt.Sprintf(
			"no stretch of the run, from %v after a fault on, has %d commits of which the votes were asked for", calmAfter, leastCommit)}
	}
	var stats []checker.Stat
	for who, t := range total {
		stats = append(stats, checker.Stat{Name: "commits signed by " + c.r.short(who), Value: fmt.Sprintf("%d of %d", t.signed, t.signed+t.absent)})
	}
	slices.SortFunc(stats, func(a, b checker.Stat) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(c.found.warnings, func(a, b finding) int { return cmp.Compare(a.say(nil), b.say(nil)) })
	return c.found.result(src, c.Name(), fmt.Sprintf("%s of %s without faults, signed by %s", plural(c.found.facts, "commit"), plural(stretches, "stretch"), plural(len(total), "validator")),
		"nothing could be compared", stats)
}
