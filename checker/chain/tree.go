package chain

import "fmt"

// tree is every block that a history names, each once. Adding a sighting is O(1).
type tree struct {
	ids    map[string]int32
	blocks []seen
}

// seen is a block with the ops that told its fields. N is unknown (-1) for a
// block that was only named as a parent.
type seen struct {
	Block
	node                           string
	parent                         int32 // id, -1 while unknown
	nOp, parentOp, rootOp, stampOp int
}

// clash is one hash with two contents, which no honest block can have.
type clash struct {
	field       string
	before, now string
	op          int // where the first was said
}

func newTree() *tree { return &tree{ids: make(map[string]int32)} }

func (t *tree) id(hash string) int32 {
	id, ok := t.ids[hash]
	if !ok {
		id = int32(len(t.blocks))
		t.ids[hash] = id
		t.blocks = append(t.blocks, seen{Block: Block{N: -1, H: hash}, parent: -1, nOp: -1, parentOp: -1, rootOp: -1, stampOp: -1})
	}
	return id
}

// add notes a sighting; a clash is not nil when the tree knew the hash with
// another content. compared tells whether anything was known to compare with.
func (t *tree) add(s *sighting) (id int32, compared bool, c *clash) {
	id = t.id(s.H)
	b := &t.blocks[id]
	if b.nOp < 0 {
		b.N, b.nOp, b.node = s.N, s.op, s.node
	} else {
		compared = true
		if b.N != s.N {
			c = &clash{"height", fmt.Sprint(b.N), fmt.Sprint(s.N), b.nOp}
		}
	}
	if s.Parent != "" {
		if b.parentOp < 0 {
			parent := t.id(s.Parent) // may move t.blocks
			b = &t.blocks[id]
			b.Parent, b.parent, b.parentOp = s.Parent, parent, s.op
		} else if b.Parent != s.Parent {
			c = &clash{"parent", b.Parent, s.Parent, b.parentOp}
		}
	}
	if s.Root != "" {
		if b.rootOp < 0 {
			b.Root, b.rootOp = s.Root, s.op
		} else if b.Root != s.Root {
			c = &clash{"state root", b.Root, s.Root, b.rootOp}
		}
	}
	if s.TS != 0 {
		if b.stampOp < 0 {
			b.TS, b.stampOp = s.TS, s.op
		} else if b.TS != s.TS {
			c = &clash{"timestamp", fmt.Sprint(b.TS), fmt.Sprint(s.TS), b.stampOp}
		}
	}
	return id, compared, c
}

// height returns the height of a block; ok is false for one that was only named
// as a parent.
func (t *tree) height(id int32) (n int64, ok bool) {
	if id < 0 {
		return 0, false
	}
	return t.blocks[id].N, t.blocks[id].nOp >= 0
}

// ancestor climbs from a block down to height n; ok is false when the way has a
// gap or is longer than limit.
func (t *tree) ancestor(id int32, n int64, limit int) (at int32, ok bool) {
	for ; limit >= 0; limit-- {
		height, known := t.height(id)
		if !known || height < n {
			return -1, false
		}
		if height == n {
			return id, true
		}
		id = t.blocks[id].parent
	}
	return -1, false
}
