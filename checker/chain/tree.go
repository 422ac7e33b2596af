package chain

import "fmt"

// told is what a node says of a block. What it does not say is zero.
type told struct {
	n        int64 // height
	h        id    // hash
	parent   id    // hash of the block before it
	root     id    // of the state after it
	receipts id    // root of its receipts
	miner    id
	ts       int64 // its timestamp, seconds
}

// tree is every block that a history names, each once. Adding a sighting is O(1).
type tree struct {
	ids    []int32 // hash → block plus 1
	blocks []seen
}

// seen is a block with the ops that told its fields. It has no height (nOp < 0)
// when it was only named as a parent.
type seen struct {
	told
	up                                         int32 // the block before it, -1 while unknown
	node                                       int32
	nOp, parentOp, rootOp, stampOp, receiptsOp int32
	missed                                     fields // those that some sighting contradicted
}

// fields are parts of a block, as bits.
type fields uint8

const (
	heightField fields = 1 << iota
	parentField
	rootField
	stampField
	receiptsField
	minerField
)

// clash is one hash with two contents, which no honest block can have.
type clash struct {
	field  fields
	before seen
	op     int32 // where the first was said
}

func (t *tree) block(h id) int32 {
	if int(h) >= len(t.ids) {
		t.ids = append(t.ids, make([]int32, int(h)+1-len(t.ids)+len(t.ids)/4)...)
	}
	if at := t.ids[h]; at > 0 {
		return at - 1
	}
	at := int32(len(t.blocks))
	t.ids[h] = at + 1
	t.blocks = append(t.blocks, seen{told: told{n: -1, h: h}, up: -1, nOp: -1, parentOp: -1, rootOp: -1, stampOp: -1, receiptsOp: -1})
	return at
}

// find returns the block of that hash, -1 for none.
func (t *tree) find(h id) int32 {
	if h <= 0 || int(h) >= len(t.ids) {
		return -1
	}
	return t.ids[h] - 1
}

// add notes a sighting; compared tells whether anything was known to compare with,
// and bad what it contradicts, the last such field.
func (t *tree) add(s *sighting) {
	s.block = t.block(s.h)
	s.compared, s.clash = false, nil
	b := &t.blocks[s.block]
	bad, op := fields(0), int32(-1)
	at := int32(s.op)
	if b.nOp < 0 {
		b.n, b.nOp, b.node = s.n, at, s.node
	} else {
		s.compared = true
		if b.n != s.n {
			bad, op = heightField, b.nOp
		}
	}
	if s.parent != 0 {
		if b.parentOp < 0 {
			up := t.block(s.parent) // may move t.blocks
			b = &t.blocks[s.block]
			b.parent, b.up, b.parentOp = s.parent, up, at
		} else if b.parent != s.parent {
			bad, op = parentField, b.parentOp
		}
	}
	if s.root != 0 {
		if b.rootOp < 0 {
			b.root, b.rootOp = s.root, at
		} else if b.root != s.root {
			bad, op = rootField, b.rootOp
		}
	}
	if s.ts != 0 {
		if b.stampOp < 0 {
			b.ts, b.stampOp = s.ts, at
		} else if b.ts != s.ts {
			bad, op = stampField, b.stampOp
		}
	}
	if s.receipts != 0 {
		if b.receiptsOp < 0 {
			b.receipts, b.receiptsOp = s.receipts, at
		} else if b.receipts != s.receipts {
			s.receiptsClash, s.receiptsBefore = true, int(b.receiptsOp)
		}
	}
	if s.miner != 0 && b.miner == 0 {
		b.miner = s.miner
	}
	if bad != 0 && b.missed&bad == 0 {
		b.missed |= bad
		s.clash = &clash{bad, *b, op}
	}
}

// values says both contents of a clash.
func (c *clash) values(n *names, s *sighting) (field, before, now string) {
	switch c.field {
	case heightField:
		return "height", fmt.Sprint(c.before.n), fmt.Sprint(s.n)
	case parentField:
		return "parent", n.say(c.before.parent), n.say(s.parent)
	case rootField:
		return "state root", n.say(c.before.root), n.say(s.root)
	}
	return "timestamp", fmt.Sprint(c.before.ts), fmt.Sprint(s.ts)
}

// height returns the height of a block; ok is false for one that was only named
// as a parent.
func (t *tree) height(at int32) (n int64, ok bool) {
	if at < 0 {
		return 0, false
	}
	return t.blocks[at].n, t.blocks[at].nOp >= 0
}

// ancestor climbs from a block down to height n; ok is false when the way has a
// gap or is longer than limit.
func (t *tree) ancestor(at int32, n int64, limit int) (found int32, ok bool) {
	for ; limit >= 0; limit-- {
		height, known := t.height(at)
		if !known || height < n {
			return -1, false
		}
		if height == n {
			return at, true
		}
		at = t.blocks[at].up
	}
	return -1, false
}
