package chain

import (
	"context"
	"fmt"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history"
)

// Nonce returns the checker nonce: a chain has one transaction for each nonce of a
// sender, in their order, without a gap. Of the transactions that clients of the
// run signed, along the blocks of the chain at the end whose lists are known:
//
//   - no two have one sender and nonce (nonce-twice);
//   - the nonces of a sender rise (nonce-order), by one where every transaction in
//     between is known (nonce-gap);
//   - an :account of that sender answered from a block of this chain has a nonce
//     above the last that is included up to there (account-nonce).
//
// Where every block is final, two transactions that were acknowledged with one
// sender and nonce are enough. Blocks that a reorganisation left behind are not
// looked at. O(n + transactions) time; memory that of the Reader and 40 bytes for
// each account read.
func Nonce(o Options) checker.Checker {
	return checker.Streamed(func() checker.Stream { return NewReader().Nonce(o) })
}

// Nonce is Nonce for a pass.
func (r *Reader) Nonce(o Options) checker.Stream {
	return &nonces{r: r, final: tagOf([]byte(o.FinalTag)) == latestTag}
}

type nonces struct {
	r        *Reader
	final    bool
	accounts list[accountRead]
	ordered  int
	reads    int
	found    findings
}

type accountRead struct {
	n, nonce int64
	h, who   id
	at, node int32
}

// used is a nonce on the chain.
type used struct {
	nonce, n int64
	at       int32 // the op that told who signed it
	tx       id
	body     int32
}

func (*nonces) Name() string { return "nonce" }

func (c *nonces) Take(e *history.Event) {
	it := c.r.take(e)
	if it.f != opAccount || it.typ != history.OK || !it.completes || !it.placed || it.arg == 0 || it.tag == pendingTag {
		return
	}
	v, _ := it.value.Field("nonce")
	if n, ok := v.Int(); ok {
		c.accounts.push(accountRead{it.place.n, n, it.place.h, it.arg, int32(it.at), it.node})
	}
}

func (c *nonces) Finish(ctx context.Context, src history.Source) checker.Result {
	if ctx.Err() != nil {
		return checker.Ended(ctx, c.Name())
	}
	signed := make(byID, c.r.texts.n) // transaction → place in acks plus 1
	for i := range c.r.acks.n {
		if a := c.r.acks.at(i); a.from != 0 && a.nonce >= 0 {
			signed.set(a.tx, int32(i)+1)
		}
	}
	c.acknowledged()
	lists := c.walk(signed)
	c.readAccounts(lists)
	c.found.facts += c.ordered + c.reads
	return c.found.result(src, c.Name(),
		fmt.Sprintf("%s of %s in order, %s above them", plural(c.found.facts-c.reads, "nonce"), plural(len(lists), "sender"), plural(c.reads, "account")),
		"no transaction whose sender and nonce are known is in a block whose list is known, so nothing could be compared",
		[]checker.Stat{
			{Name: "transactions compared with the one before", Value: fmt.Sprint(c.ordered)},
			{Name: "accounts compared", Value: fmt.Sprint(c.reads)},
		})
}

// acknowledged compares what clients were told, where all of that is final.
func (c *nonces) acknowledged() {
	if !c.final {
		return
	}
	type slot struct {
		from  id
		nonce int64
	}
	first := make(map[slot]int32, c.r.acks.n)
	for i := range c.r.acks.n {
		a := c.r.acks.at(i)
		if a.from == 0 || a.nonce < 0 || a.h == 0 || a.typ != history.OK {
			continue
		}
		s := slot{a.from, a.nonce}
		before, again := first[s]
		if !again {
			first[s] = int32(i)
			c.found.facts++
			continue
		}
		if was := c.r.acks.at(int(before)); was.tx != a.tx {
			c.found.report("nonce-twice", []int{int(was.at), int(a.at)}, saying(
				"nonce %d of %s was included twice: as %s in block %d (op %d) and as %s in block %d (op %d).",
				a.nonce, c.r.short(a.from), c.r.short(was.tx), was.n, was.at, c.r.short(a.tx), a.n, a.at))
		}
	}
}

// walk lists the nonces of each sender along the chain.
func (c *nonces) walk(signed byID) map[id][]used {
	e := c.r.end()
	lists := make(map[id][]used)
	unknown := int64(-1) // the last height of which not every transaction is known
	for n := e.first; n <= e.top; n++ {
		b := c.r.bodyAt(e.block(n))
		if b == nil {
			unknown = n
			continue
		}
		for _, tx := range b.txs {
			at := signed.get(tx)
			if at == 0 {
				unknown = n
				continue
			}
			a := c.r.acks.at(int(at - 1))
			now := used{a.nonce, n, a.at, tx, b.op}
			list := lists[a.from]
			if len(list) > 0 {
				c.ordered++
				c.follows(a.from, &list[len(list)-1], &now, list[len(list)-1].n > unknown)
			}
			lists[a.from] = append(list, now)
		}
	}
	return lists
}

func (c *nonces) follows(from id, was, now *used, whole bool) {
	name, what := "", ""
	switch {
	case now.tx == was.tx:
		return // that it is there twice is for exactly-once to say
	case now.nonce == was.nonce:
		name, what = "nonce-twice", "again"
	case now.nonce < was.nonce:
		name, what = "nonce-order", "lower"
	case now.nonce > was.nonce+1 && whole:
		name, what = "nonce-gap", "not the next"
	default:
		return
	}
	c.found.reportTxs(name, []string{c.r.say(was.tx), c.r.say(now.tx)}, []int{int(was.at), int(now.at), int(was.body), int(now.body)}, saying(
		"after nonce %d of %s in block %d (transaction %s, ops %d and %d) the chain has nonce %d, %s, in block %d (transaction %s, ops %d and %d).",
		was.nonce, c.r.short(from), was.n, c.r.short(was.tx), was.at, was.body, now.nonce, what, now.n, c.r.short(now.tx), now.at, now.body))
}

// readAccounts compares what nodes said of senders.
func (c *nonces) readAccounts(lists map[id][]used) {
	for i := range c.accounts.n {
		a := c.accounts.at(i)
		list := lists[a.who]
		if len(list) == 0 || !c.r.isCanon(a.h) {
			continue
		}
		lo, hi := 0, len(list) // the first above the block
		for lo < hi {
			if mid := (lo + hi) / 2; list[mid].n > a.n {
				hi = mid
			} else {
				lo = mid + 1
			}
		}
		if lo == 0 {
			continue
		}
		c.reads++
		if last := &list[lo-1]; a.nonce <= last.nonce {
			c.found.reportTxs("account-nonce", []string{c.r.say(last.tx)}, []int{int(a.at), int(last.at), int(last.body)}, saying(
				"%s says that the next nonce of %s is %d after block %d %s (op %d), but transaction %s with nonce %d is in block %d (ops %d and %d).",
				c.r.nodeName(a.node), c.r.short(a.who), a.nonce, a.n, c.r.short(a.h), a.at, c.r.short(last.tx), last.nonce, last.n, last.at, last.body))
		}
	}
}
