package chain

import (
	"fmt"
	"slices"

	"github.com/jepgo/jepgo/history"
)

// local is what a local read said of one key.
type local struct {
	n     int64 // height of the block that it was answered from, -1 when only the hash is known
	value int64 // as change has it
	list  uint64
	h     id
	key   int32
	at    int32
	node  int32
	tag   tag
	odd   bool
}

// strong is a completed transaction.
type strong struct {
	n          int64
	h, hash    id
	key        int32
	value, old id
	at, node   int32
	f          op
	typ        history.Type
	reads      bool // it can be read and names its block
}

// listMark sums up a list: equal lists have one, and of different ones all but
// one in 2^64 another.
func listMark(mark uint64, e id) uint64 {
	mark ^= uint64(e) + 0x9e3779b97f4a7c15 + mark<<6 + mark>>2
	return mark * 0xff51afd7ed558ccd
}

func (c *replay) takeLocal(it *item) {
	l := local{h: it.place.h, n: it.place.n, at: int32(it.at), node: it.node, tag: it.tag, key: -1}
	if it.f != opCallAt && !it.placed {
		return // the node moved on while it answered: session counts these
	}
	switch it.f {
	case opPeek:
		t, ok := c.readTx(it.f, it.value)
		l.odd, l.key, l.value = !ok, t.key, int64(t.value)
	case opCount:
		v, ok := it.value.Int()
		l.odd, l.key, l.value = !ok, c.keyOf(counterModel, 0), v
	case opElements:
		k, list, ok := it.value.Pair()
		if !ok || !list.IsSequence() && !list.IsNil() {
			l.odd = true
			break
		}
		l.key = c.keyOf(setModel, c.r.value(k))
		for e := range list.Elems() {
			l.list = listMark(l.list, c.r.value(e))
			l.value++
		}
	case opBalances:
		n := it.value.Len() / 2
		if it.value.Kind() != history.Map || n == 0 {
			return
		}
		for k := it.value.First(); n > 0; n-- {
			v := k.Next()
			if amount, ok := v.Int(); ok {
				l.key, l.value = c.keyOf(bankModel, c.r.value(k)), amount
				c.locals.push(l)
			}
			if n > 1 {
				k = v.Next()
			}
		}
		return
	case opCallAt:
		if it.value.Len() != 3 || !it.value.IsSequence() {
			return
		}
		h := it.value.First()
		k := h.Next()
		l.n, l.h, l.key, l.value = -1, c.r.of(h.Bytes()), c.keyOf(putModel, c.r.value(k)), int64(c.r.value(k.Next()))
	default:
		return
	}
	c.locals.push(l)
}

func (c *replay) takeStrong(it *item) {
	s := strong{hash: it.tx, h: it.place.h, n: it.place.n, at: int32(it.at), node: it.node, f: it.f, typ: it.typ, key: -1}
	if it.tx == 0 && it.typ != history.OK {
		return
	}
	if it.typ == history.OK && it.tx != 0 {
		t, ok := c.readTx(it.f, it.value)
		s.key, s.value, s.old, s.reads = t.key, t.value, t.old, ok && it.placed
	}
	c.strong.push(s)
}

// openAccounts takes what accounts held at first from the first read of each, and
// holds every move of the canonical chain against that.
func (c *replay) openAccounts() {
	c.opens = make(map[int32]int64)
	told := make(map[int32]int32)
	for i := range c.locals.n {
		l := c.locals.at(i)
		if l.odd || l.key < 0 || c.keyList[l.key].model != bankModel {
			continue
		}
		b := c.blocks[l.h]
		if _, known := c.opens[l.key]; known || b == nil || !b.traced {
			continue
		}
		c.opens[l.key], told[l.key] = l.value-c.at(l.key, b).value, l.at
	}
	if len(c.opens) == 0 {
		return
	}
	now := make(map[int32]int64)
	for _, b := range c.canonical {
		for i := range b.txs {
			t := &b.txs[i]
			opened, known := c.opens[t.key]
			if t.kind != opMove || !known {
				continue
			}
			has := opened + now[t.key]
			enough := has >= t.amount
			if !t.reverted {
				now[t.key] -= t.amount
				now[t.to] += t.amount
			}
			if enough != t.reverted {
				continue
			}
			should := "must have succeeded"
			if !enough {
				should = "must have reverted"
			}
			c.found.reportTxs("execution-mismatch", []string{c.r.say(t.hash)}, []int{b.op, int(told[t.key])}, saying(
				"block %d %s reports transaction %s as %s (op %d), but it %s, for account %s held %d then, as a read tells (op %d) and every move since the first block.",
				b.n, c.r.short(b.h), c.r.short(t.hash), c.describe(t), b.op, should, c.keyName(t.key), has, told[t.key]))
		}
	}
}

func (c *replay) judgeLocal(l *local) {
	b := c.blocks[l.h]
	if l.odd {
		c.unjudged++
		return
	}
	m := c.keyList[l.key].model
	if m != registerModel && !c.has[m] {
		return
	}
	if l.n >= 0 && l.n < c.first || l.n < 0 && b == nil {
		return // there was no contract yet, or the block was never asked for
	}
	if b == nil || !b.traced {
		c.unjudged++
		return
	}
	c.peeks++
	is := c.at(l.key, b)
	should := ""
	switch m {
	case setModel:
		mark := uint64(0)
		for _, e := range c.elements(l.key, b) {
			mark = listMark(mark, e)
		}
		if is.value == l.value && mark == l.list {
			return
		}
		should = c.listText(c.elements(l.key, b))
	case bankModel:
		if opened, known := c.opens[l.key]; !known || is.value+opened == l.value {
			return
		}
		should = c.holds(l.key, is.value)
	default:
		if is.value == l.value {
			return
		}
		should = c.holds(l.key, is.value)
	}
	c.wrongLocal(l, b, is, m, should)
}

func (c *replay) wrongLocal(l *local, b *block, is change, m model, should string) {
	at := l.tag.String()
	if l.tag == noTag {
		at = "its head"
	}
	thing, value := "contract", c.holds(l.key, l.value)
	switch m {
	case registerModel:
		thing = "register"
	case counterModel:
		thing = "counter"
	case bankModel:
		value = fmt.Sprint(l.value)
	case putModel:
		at = "that block's hash"
	}
	c.found.reportTxs("wrong-local-read", []string{c.hashOf(is)}, []int{int(l.at), opOfChange(is), b.op}, saying(
		"%s answered a local read of %s at %s with %s, from block %d %s (op %d), where the %s is %s: %s.",
		c.r.nodeName(l.node), c.noun(l.key), at, value, b.n, c.r.short(b.h), l.at, thing, should, c.sayWas(l.key, is)))
}

// judgeStrong holds one completed transaction against the chain.
func (c *replay) judgeStrong(s *strong) {
	if m := modelOf(s.f); m != registerModel && !c.has[m] {
		return
	}
	switch {
	case s.hash == 0:
		c.unjudged++
	case s.typ == history.OK:
		c.judgeOK(s)
	case s.typ == history.Fail:
		c.judgeFail(s)
	case s.typ == history.Info:
		c.doubted++
		if _, known := c.where[s.hash]; known {
			c.happened++
		}
	}
}

// judgeOK looks for the transaction of an op that was acknowledged.
func (c *replay) judgeOK(s *strong) {
	if !s.reads {
		c.unjudged++
		return
	}
	b := c.blocks[s.h]
	if b == nil || !b.known {
		c.judgeGone(s)
		return
	}
	c.judged++
	index, found := c.find(s.hash, b)
	if !found {
		c.lost(s, fmt.Sprintf("the receipt of %s names block %d %s, but that block has no such transaction (op %d)",
			c.r.nodeName(s.node), s.n, c.r.short(s.h), b.op), b.op)
		return
	}
	is := &b.txs[index]
	switch {
	case is.reverted && s.f != opRead:
		c.lost(s, fmt.Sprintf("in block %d %s it reverted, so it changed nothing (op %d)", b.n, c.r.short(b.h), b.op), b.op)
	case is.reverted || is.kind != s.f || is.key != s.key || is.value != s.value || is.old != s.old:
		node, hash, in, text, at := c.r.nodeName(s.node), c.r.short(s.hash), c.r.short(b.h), c.describe(is), int(s.at)
		c.found.reportTxs("effect-mismatch", []string{c.r.say(s.hash)}, []int{at, b.op}, func(look ops) string {
			return fmt.Sprintf("%s acknowledged %s %s (op %d), but its transaction %s in block %d %s is %s (op %d).",
				node, look(at).F, look(at).Value, at, hash, b.n, in, text, b.op)
		})
	}
}

// judgeGone settles an acknowledged op whose block no node has in the end.
func (c *replay) judgeGone(s *strong) {
	place, elsewhere := c.where[s.hash]
	if s.n < c.first || s.n > c.tip.n || c.blocks[s.h] != nil {
		c.unjudged++ // outside of what was walked, or a gap
		return
	}
	c.judged++
	has := c.canonAt(s.n)
	reason := fmt.Sprintf("the receipt of %s names block %d %s, which no node has in the end", c.r.nodeName(s.node), s.n, c.r.short(s.h))
	at, hash := int(s.at), c.r.short(s.hash)
	positions := []int{at}
	if has != nil {
		reason += fmt.Sprintf(": the block there is %s (op %d)", c.r.short(has.h), has.op)
		positions = append(positions, has.op)
	}
	switch {
	case elsewhere:
		b, in := place.block, c.r.short(place.block.h)
		say := func(look ops) string {
			return fmt.Sprintf("%s %s (op %d): %s. Its transaction %s is in block %d %s (op %d) instead.",
				look(at).F, look(at).Value, at, reason, hash, b.n, in, b.op)
		}
		if c.final {
			c.found.reportTxs("effect-mismatch", []string{c.r.say(s.hash)}, append(positions, b.op), say)
		} else {
			c.found.warnOf([]int{at}, say)
		}
	case c.final && c.gaps == 0:
		c.lost(s, reason, positions...)
	default:
		c.found.warnOf([]int{at}, func(look ops) string {
			return fmt.Sprintf("%s %s (op %d): %s, and no block has its transaction %s", look(at).F, look(at).Value, at, reason, hash)
		})
	}
}

func (c *replay) lost(s *strong, reason string, positions ...int) {
	name := "lost-write"
	if s.f == opRead {
		name = "lost-read"
	}
	end := "."
	place, known := c.where[s.hash]
	if known && !place.block.txs[place.index].reverted {
		end += fmt.Sprintf(" It is in block %d %s instead (op %d).", place.block.n, c.r.short(place.block.h), place.block.op)
		positions = append(positions, place.block.op)
	}
	if !known && c.gaps == 0 {
		end += fmt.Sprintf(" No block from %d to %d has it.", c.first, c.tip.n)
	}
	at, hash, node := int(s.at), c.r.short(s.hash), c.r.nodeName(s.node)
	c.found.reportTxs(name, []string{c.r.say(s.hash)}, append(slices.Clone(positions), at), func(look ops) string {
		return fmt.Sprintf("%s acknowledged %s %s (op %d, transaction %s) and lost it: %s", node, look(at).F, look(at).Value, at, hash, reason+end)
	})
}

// sentAgain reports whether an operation that began after op at, and did not fail,
// has the same transaction: the nonce of one that never reached a node is used for
// the next, and where that does the same it is the same transaction.
func (c *replay) sentAgain(tx id, at int32) bool {
	if c.again == nil {
		c.again = make(byID, c.r.texts.n)
		for i := range c.r.acks.n {
			if a := c.r.acks.at(i); a.typ != history.Fail {
				c.again.set(a.tx, max(c.again.get(a.tx), a.began+1))
			}
		}
	}
	return c.again.get(tx) > at+1
}

// judgeFail holds that what failed did not happen.
func (c *replay) judgeFail(s *strong) {
	place, known := c.where[s.hash]
	if !known {
		return
	}
	c.judged++
	b := place.block
	is := &b.txs[place.index]
	if is.kind == opRead || is.reverted || !b.canon || c.sentAgain(s.hash, s.at) {
		return
	}
	at, hash, in, text, node := int(s.at), c.r.short(s.hash), c.r.short(b.h), c.describe(is), c.r.nodeName(s.node)
	if s.h != 0 && s.h != b.h && !c.final {
		// It failed in a block that the chain has left since.
		gone := c.r.short(s.h)
		c.found.warnOf([]int{at}, func(look ops) string {
			return fmt.Sprintf("%s %s (op %d) failed on %s in block %d %s, which the chain has left. Its transaction %s took effect in block %d %s: %s (op %d).",
				look(at).F, look(at).Value, at, node, s.n, gone, hash, b.n, in, text, b.op)
		})
		return
	}
	c.found.reportTxs("failed-write", []string{c.r.say(s.hash)}, []int{at, b.op}, func(look ops) string {
		return fmt.Sprintf("%s reported %s %s as failed (op %d), but its transaction %s took effect in block %d %s: %s (op %d).",
			node, look(at).F, look(at).Value, at, hash, b.n, in, text, b.op)
	})
}
