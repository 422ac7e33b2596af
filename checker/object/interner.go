package object

import (
	"encoding/binary"
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
