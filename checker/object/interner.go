package object

import (
	"encoding/binary"
	"slices"
	"strings"
	"sync"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history"
)

// numbers gives the models small states: values become numbers, and states
// strings of 4 bytes for each. It is safe for several goroutines.
type numbers struct {
	mu     sync.Mutex
	values checker.Values
}

func (n *numbers) number(v history.Value) int32 {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.values.Number(v)
}

func (n *numbers) value(id int32) history.Value {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.values.Value(id)
}

// pack is one number in a state.
func pack(id int32) string {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], uint32(id))
	return string(b[:])
}

// unpack returns number i of a state.
func unpack(state string, i int) int32 {
	return int32(uint32(state[4*i])<<24 | uint32(state[4*i+1])<<16 | uint32(state[4*i+2])<<8 | uint32(state[4*i+3]))
}

// place returns where id is, or belongs, in a state that is sorted.
func place(state string, id int32) (at int, found bool) {
	lo, hi := 0, len(state)/4
	for lo < hi {
		mid := (lo + hi) / 2
		if unpack(state, mid) < id {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo, lo < len(state)/4 && unpack(state, lo) == id
}

// insert puts id into a sorted state.
func insert(state string, at int, id int32) string { return state[:4*at] + pack(id) + state[4*at:] }

// cut removes number i of a state.
func cut(state string, i int) string { return state[:4*i] + state[4*i+4:] }

// shown is how many elements of a state people are shown.
const shown = 12

// list shows the elements of a state.
func (n *numbers) list(state, open, end string) string {
	var parts []string
	size := len(state) / 4
	for i := range min(size, shown) {
		parts = append(parts, n.value(unpack(state, i)).String())
	}
	if size > shown {
		parts = append(parts, "…")
	}
	return open + strings.Join(parts, " ") + end
}

// texts numbers strings that grow by appending, each as a piece that follows
// another: a string of a thousand pieces takes the memory of one. 0 is "".
type texts struct {
	mu    sync.Mutex
	nodes []textNode
	known map[textKey][]int32
}

type textNode struct {
	before int32
	length int
	hash   uint64
	piece  string
}

type textKey struct {
	hash   uint64
	length int
}

func newTexts() *texts {
	return &texts{nodes: make([]textNode, 1), known: map[textKey][]int32{{}: {0}}}
}

// textBase is the base of the polynomial that hashes strings so that the hash of
// two joined follows from theirs.
const textBase = 0x9e3779b97f4a7c15

// join returns the number of the string before followed by piece.
func (t *texts) join(before int32, piece string) int32 {
	if piece == "" {
		return before
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	node := textNode{before: before, piece: piece, length: t.nodes[before].length + len(piece), hash: t.nodes[before].hash}
	for i := range len(piece) {
		node.hash = node.hash*textBase + uint64(piece[i]) + 1
	}
	key := textKey{node.hash, node.length}
	for _, id := range t.known[key] {
		if t.same(node, t.nodes[id]) {
			return id
		}
	}
	id := int32(len(t.nodes))
	t.nodes = append(t.nodes, node)
	t.known[key] = append(t.known[key], id)
	return id
}

// same compares two strings of one length, from the end.
func (t *texts) same(a, b textNode) bool {
	for {
		n := min(len(a.piece), len(b.piece))
		if a.piece[len(a.piece)-n:] != b.piece[len(b.piece)-n:] {
			return false
		}
		a.piece, b.piece = a.piece[:len(a.piece)-n], b.piece[:len(b.piece)-n]
		if a.piece == "" && b.piece == "" && a.before == b.before {
			return true
		}
		if a.piece == "" {
			a = t.nodes[a.before]
		}
		if b.piece == "" {
			b = t.nodes[b.before]
		}
	}
}

// is reports whether string id is s.
func (t *texts) is(id int32, s string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.nodes[id].length != len(s) {
		return false
	}
	for ; id != 0; id = t.nodes[id].before {
		piece := t.nodes[id].piece
		if !strings.HasSuffix(s, piece) {
			return false
		}
		s = s[:len(s)-len(piece)]
	}
	return true
}

// text returns string id, of a long one its end.
func (t *texts) text(id int32) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var pieces []string
	length := 0
	for ; id != 0; id = t.nodes[id].before {
		pieces = append(pieces, t.nodes[id].piece)
		if length += len(t.nodes[id].piece); length > 1000 {
			pieces = append(pieces, "…")
			break
		}
	}
	slices.Reverse(pieces)
	return strings.Join(pieces, "")
}
