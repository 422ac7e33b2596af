package chain

import (
	"context"
	"fmt"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history"
)

// Equivocation returns the checker equivocation: no validator signs for two blocks
// in one round of one height (equivocation), and no height is committed with two
// blocks (commit-fork), as :votes tell from any node at any time. It holds on every
// network that has such votes. O(votes) time, 40 bytes for each vote.
func Equivocation() checker.Checker {
	return checker.Streamed(func() checker.Stream { return NewReader().Equivocation() })
}

// Equivocation is Equivocation for a pass.
func (r *Reader) Equivocation() checker.Stream {
	return &equivocation{r: r, votes: make(map[vote]called), commits: make(map[int64]called), seen: make(map[id]*presence)}
}

type equivocation struct {
	r       *Reader
	votes   map[vote]called
	commits map[int64]called
	seen    map[id]*presence
	found   findings
}

type vote struct {
	n   int64
	r   int32
	who id
}

// presence is how often a validator signed.
type presence struct{ signed, absent int }

func (*equivocation) Name() string { return "equivocation" }

func (c *equivocation) Take(e *history.Event) {
	it := c.r.take(e)
	if it.f != opVotes || !it.completes || it.typ != history.OK {
		return
	}
	height, _ := it.value.Field("n")
	block, _ := it.value.Field("h")
	round, _ := it.value.Field("round")
	signed, _ := it.value.Field("signed")
	n, ok := height.Int()
	h := c.r.of(block.Bytes())
	at, _ := round.Int()
	if !ok || h == 0 {
		return
	}
	now := called{h, int32(it.at), it.node}
	if was, known := c.commits[n]; !known {
		c.commits[n] = now
	} else if c.found.facts++; was.value != h {
		c.found.report("commit-fork", []int{int(was.at), it.at}, saying("height %d is committed with block %s on %s (op %d) and with %s on %s (op %d).",
			n, c.r.short(was.value), c.r.nodeName(was.node), was.at, c.r.short(h), c.r.nodeName(it.node), it.at))
	}
	if !signed.IsSequence() {
		return
	}
	for row := range signed.Elems() {
		if !row.IsSequence() || row.Len() < 2 {
			continue
		}
		who := row.First()
		v := vote{n, int32(at), c.r.of(who.Bytes())}
		commit := who.Next().Is("commit")
		was, known := c.votes[v]
		if !known {
			p := c.seen[v.who]
			if p == nil {
				p = &presence{}
				c.seen[v.who] = p
			}
			if who.Next().Is("absent") {
				p.absent++
			} else {
				p.signed++
			}
		}
		if !commit {
			continue
		}
		mine := now
		if row.Len() >= 3 { // what it signed, which may not be what was committed
			if signed := c.r.of(who.Next().Next().Bytes()); signed != 0 {
				mine.value = signed
			}
		}
		if !known {
			c.votes[v] = mine
			c.found.facts++
			continue
		}
		if was.value != mine.value {
			c.found.report("equivocation", []int{int(was.at), it.at}, saying("validator %s signed two blocks in round %d of height %d: %s (%s, op %d) and %s (%s, op %d).",
				c.r.short(v.who), at, n, c.r.short(was.value), c.r.nodeName(was.node), was.at, c.r.short(mine.value), c.r.nodeName(it.node), it.at))
		}
	}
}

func (c *equivocation) Finish(ctx context.Context, src history.Source) checker.Result {
	if ctx.Err() != nil {
		return checker.Ended(ctx, c.Name())
	}
	return c.found.result(src, c.Name(), fmt.Sprintf("%s of %s on %s, none of them double", plural(len(c.votes), "vote"), plural(len(c.seen), "validator"), plural(len(c.commits), "height")),
		"no :votes are in the history, so nothing could be compared", nil)
}
