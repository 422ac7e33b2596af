package chain

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history"
)

// Sub returns the checker sub, of WebSocket subscriptions:
//
//   - sub-chain: an announced head is one above its parent, and names the parent
//     that every other node tells of it. That heads are left out is no fault: the
//     walk over parents fills them in, and one height twice is a reorganisation.
//   - sub-removed: a log of a block that the chain left behind is announced again
//     as removed, by the stream that announced it, if that stream lasted until the
//     node's stream had logs of settled blocks above.
//   - sub-complete: a stream of heads that goes on keeps up: at the end of a batch
//     it has announced what its node showed as its head before the fourth-last
//     batch began, or a block above. A stream of logs repeats none (the same log
//     twice without a removal).
//   - sub-complete, where every block is final: between the first and the last
//     logs of a stream it has those of every :emit that was acknowledged.
//   - sub-causality, a warning: an announced head that the node did not serve
//     within the grace. Where every block is final and the chain has another block
//     there in the end, it is invalid: nobody ever had it.
//
// A stream that was lost or opened anew begins again. What is missing in a stream
// while a fault of the node's RPC is in force, which may lose or delay what the node
// announced, is a warning. O(n + events) time, 40 bytes
// for each log that is announced.
func Sub(o Options) checker.Checker {
	return checker.Streamed(func() checker.Stream { return NewReader().Sub(o) })
}

// Sub is Sub for a pass.
func (r *Reader) Sub(o Options) checker.Stream {
	return &sub{r: r, o: o, live: make(map[streamKey]*liveStream)}
}

type sub struct {
	r                           *Reader
	o                           Options
	live                        map[streamKey]*liveStream
	ended                       []*liveStream
	tops                        []top // node → its highest head
	heads, logN, served, unserv int
	unserved                    []unserved
	excused                     map[[2]int]bool // node and op of the fault that was warned of
	found                       findings
}

type streamKey struct {
	node  int32
	heads bool
}

// liveStream is a subscription from its opening to its loss.
type liveStream struct {
	node  int32
	top   int64 // the highest height that it announced, -1 for none
	seen  [4]top
	batch int
	lag   bool                 // it was reported
	logs  map[[2]id]*announced // block and number in it
}

// unserved is an announced head that the node did not have.
type unserved struct {
	h        id
	at, node int32
}

type announced struct {
	n       int64
	at      int32
	tx      id
	removed bool
}

func (*sub) Name() string { return "sub" }

func (c *sub) Take(e *history.Event) {
	it := c.r.take(e)
	if !it.completes || it.node < 0 {
		return
	}
	for int(it.node) >= len(c.tops) {
		c.tops = append(c.tops, top{-1, -1})
	}
	switch {
	case it.f == opHead && it.typ == history.OK && it.head[2].h != 0:
		c.tops[it.node] = top{it.head[2].n, int32(it.at)}
	case it.f == opEvents && it.typ != history.OK:
		for _, heads := range []bool{true, false} { // its value says which, but a lost stream may have none
			if kind := it.value; kind.Is("heads") && !heads || kind.Is("logs") && heads {
				continue
			}
			c.lose(streamKey{it.node, heads})
		}
	case it.f == opEvents:
		c.batch(it)
	}
}

func (c *sub) lose(k streamKey) {
	if s := c.live[k]; s != nil {
		c.ended = append(c.ended, s)
		delete(c.live, k)
	}
}

func (c *sub) batch(it *item) {
	kind, _ := it.value.Field("stream")
	events, ok := it.value.Field("events")
	if !ok || !events.IsSequence() {
		return
	}
	k := streamKey{it.node, kind.Is("heads")}
	if it.opened {
		c.lose(k)
	}
	s := c.live[k]
	if s == nil {
		s = &liveStream{node: it.node, top: -1, logs: make(map[[2]id]*announced)}
		for i := range s.seen {
			s.seen[i] = top{-1, -1}
		}
		c.live[k] = s
	}
	if k.heads {
		c.headBatch(it, s, events)
	} else {
		for row := range events.Elems() {
			c.log(it, s, row)
		}
	}
	for pair := range it.served.Elems() {
		h, ok, isPair := pair.Pair()
		if yes, isFlag := ok.Flag(); isPair && isFlag {
			if c.served++; !yes {
				c.unserv++
				c.unserved = append(c.unserved, unserved{c.r.of(h.Bytes()), int32(it.at), it.node})
				c.found.warn("%s announced block %s and did not serve it within the grace (op %d)", c.r.nodeName(it.node), short(string(h.Bytes())), it.at)
			}
		}
	}
}

func (c *sub) headBatch(it *item, s *liveStream, events history.View) {
	for i := range it.sightings {
		x := &it.sightings[i]
		c.heads++
		s.top = max(s.top, x.n)
		if x.clash != nil && (x.clash.field == parentField || x.clash.field == heightField) {
			field, before, now := x.clash.values(&c.r.names, x)
			c.found.report("sub-chain", []int{int(x.clash.op), it.at}, saying(
				"%s announced block %s with the %s %s (op %d), which is %s elsewhere (op %d).", c.r.nodeName(it.node), c.r.short(x.h), field, short(now), it.at, short(before), x.clash.op))
		} else if up, known := c.r.height(c.r.blocks[x.block].up); known && up+1 != x.n {
			c.found.report("sub-chain", []int{it.at}, saying("%s announced block %s at height %d on a parent at height %d (op %d).", c.r.nodeName(it.node), c.r.short(x.h), x.n, up, it.at))
		}
	}
	due := s.seen[s.batch%len(s.seen)]
	s.seen[s.batch%len(s.seen)] = c.tops[it.node]
	s.batch++
	if s.top < 0 || due.n < 0 || s.lag {
		return
	}
	c.found.facts++
	if _, died := c.r.endedBetween(it.node, int(due.op), it.at); !died && due.n > s.top {
		s.lag = true
		said := fmt.Sprintf("%s showed block %d as its head (op %d), and four batches later its stream of heads has announced none above %d (op %d)", c.r.nodeName(it.node), due.n, due.op, s.top, it.at)
		if !c.excuse(it.node, int(due.op), it.at, said) {
			c.found.report("sub-complete", []int{int(due.op), it.at}, saying("%s.", said))
		}
	}
}

// excuse warns, once for each node and fault, where a fault of the node's RPC between
// those positions explains what was said.
func (c *sub) excuse(node int32, from, to int, said string) bool {
	f, ok := c.r.answersChanged(node, from, to)
	if !ok {
		return false
	}
	if k := [2]int{int(node), f.op}; !c.excused[k] {
		if c.excused == nil {
			c.excused = make(map[[2]int]bool)
		}
		c.excused[k] = true
		c.found.warn("%s, which %s (op %d) explains", said, f.kind, f.op)
	}
	return true
}

// log reads [n "0xh" i "0xtx" e removed?].
func (c *sub) log(it *item, s *liveStream, row history.View) {
	if !row.IsSequence() || row.Len() < 4 {
		return
	}
	first := row.First()
	h := first.Next()
	i := h.Next()
	tx := i.Next()
	n, _ := first.Int()
	number, _ := i.Int()
	removed := false
	if row.Len() > 5 {
		removed, _ = tx.Next().Next().Flag()
	}
	c.logN++
	k := [2]id{c.r.of(h.Bytes()), int32(number)}
	was := s.logs[k]
	switch {
	case removed && was != nil:
		was.removed = true
	case removed:
	case was == nil || was.removed:
		s.logs[k] = &announced{n: n, at: int32(it.at), tx: c.r.of(tx.Bytes())}
		s.top = max(s.top, n)
	default:
		c.found.report("sub-complete", []int{int(was.at), it.at}, saying("%s announced log %d of block %d %s twice (ops %d and %d).",
			c.r.nodeName(it.node), number, n, c.r.short(k[0]), was.at, it.at))
	}
}

func (c *sub) Finish(ctx context.Context, src history.Source) checker.Result {
	if ctx.Err() != nil {
		return checker.Ended(ctx, c.Name())
	}
	streams := c.ended
	for _, s := range c.live {
		streams = append(streams, s)
	}
	e := c.r.end()
	for _, s := range streams {
		for k, l := range s.logs {
			b := c.r.find(k[0])
			canon := e.block(l.n)
			if b < 0 || canon < 0 {
				continue
			}
			c.found.facts++
			if e.canon[b] || l.removed || l.n > c.o.settled(min(s.top, e.tipN)) {
				continue
			}
			c.found.reportTxs("sub-removed", []string{c.r.say(l.tx)}, []int{int(l.at), int(c.r.blocks[canon].nOp)}, saying(
				"%s announced log %d of block %d %s (op %d) and never that it was removed, though the chain has %s there (op %d) and the stream went on to %d.",
				c.r.nodeName(s.node), k[1], l.n, c.r.short(k[0]), l.at, c.r.short(c.r.blocks[canon].h), c.r.blocks[canon].nOp, s.top))
		}
	}
	if c.o.FinalTag == latestTag.String() {
		c.phantoms(e)
		c.leftOut(e, streams)
	}
	c.found.facts += c.heads
	return c.found.result(src, c.Name(), fmt.Sprintf("%s and %s announced as the chain has them", plural(c.heads, "head"), plural(c.logN, "log")),
		"no stream announced anything, so nothing could be compared",
		[]checker.Stat{
			{Name: "heads announced", Value: fmt.Sprint(c.heads)}, {Name: "logs announced", Value: fmt.Sprint(c.logN)},
			{Name: "heads asked for once announced", Value: fmt.Sprintf("%d, %d not served within the grace", c.served, c.unserv)},
		})
}

// phantoms looks for announced heads that no node had.
func (c *sub) phantoms(e *ending) {
	for _, u := range c.unserved {
		b := c.r.find(u.h)
		if b < 0 || e.canon[b] {
			continue
		}
		n, known := c.r.height(b)
		other := e.block(n)
		if !known || other < 0 || n > c.o.settled(e.tipN) {
			continue
		}
		c.found.report("sub-causality", []int{int(u.at), int(c.r.blocks[other].nOp)}, saying(
			"%s announced block %d %s and did not serve it within the grace (op %d), and the chain has %s there (op %d).",
			c.r.nodeName(u.node), n, c.r.short(u.h), u.at, c.r.short(c.r.blocks[other].h), c.r.blocks[other].nOp))
	}
}

// leftOut looks in the streams of logs for every acknowledged :emit between what
// they began and ended with.
func (c *sub) leftOut(e *ending, streams []*liveStream) {
	for _, s := range streams {
		var first, last *announced
		for _, l := range s.logs {
			if first == nil || l.n < first.n || l.n == first.n && l.at < first.at {
				first = l
			}
			if last == nil || l.n > last.n || l.n == last.n && l.at < last.at {
				last = l
			}
		}
		if first == nil {
			continue
		}
		var around func(n int64) (before, after int)
		for i := range c.r.acks.n {
			a := c.r.acks.at(i)
			if a.f != opEmit || a.typ != history.OK || a.log < 0 || a.n <= first.n || a.n >= last.n {
				continue
			}
			if b := c.r.find(a.h); b < 0 || !e.canon[b] {
				continue
			}
			c.found.facts++
			if s.logs[[2]id{a.h, a.log}] != nil {
				continue
			}
			if around == nil {
				around = neighbours(s)
			}
			said := fmt.Sprintf("%s did not announce log %d of block %d %s, which transaction %s emitted (op %d), in a stream with logs of block %d (op %d) and %d (op %d)",
				c.r.nodeName(s.node), a.log, a.n, c.r.short(a.h), c.r.short(a.tx), a.at, first.n, first.at, last.n, last.at)
			if before, after := around(a.n); c.excuse(s.node, before, after, said) {
				continue
			}
			c.found.reportTxs("sub-complete", []string{c.r.say(a.tx)}, []int{int(a.at), int(first.at), int(last.at)}, saying("%s.", said)).nodes = []string{c.r.nodeName(s.node)}
		}
	}
}

// neighbours returns where a stream announced the nearest logs below a height, and
// above it. O(logs × log logs) time and 24 bytes for each log, once; then O(log logs).
func neighbours(s *liveStream) func(n int64) (before, after int) {
	logs := make([]*announced, 0, len(s.logs))
	for _, l := range s.logs {
		logs = append(logs, l)
	}
	slices.SortFunc(logs, func(a, b *announced) int { return cmp.Or(cmp.Compare(a.n, b.n), cmp.Compare(a.at, b.at)) })
	return func(n int64) (before, after int) {
		at, _ := slices.BinarySearchFunc(logs, n, func(l *announced, n int64) int { return cmp.Compare(l.n, n) })
		if before = 0; at > 0 {
			before = int(logs[at-1].at)
		}
		for at < len(logs) && logs[at].n <= n {
			at++
		}
		if after = math.MaxInt; at < len(logs) {
			after = int(logs[at].at)
		}
		return before, after
	}
}
