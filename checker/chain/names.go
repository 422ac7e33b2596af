package chain

import (
	"hash/maphash"
	"strings"

	"github.com/jepgo/jepgo/history"
)

// id is the number of a text: of a hash, an address, or of a value as EDN. Equal
// texts have one number. 0 is no text, and nil.
type id = int32

// names numbers texts. A look-up is O(length); each different text costs its
// bytes and some 20 more.
type names struct {
	seed  maphash.Seed
	text  []byte
	ends  []int  // of each text in text
	slots []slot // open addressing, a power of two
	key   []byte
}

type slot struct {
	id  id // 0 for an empty one
	tag uint32
}

func newNames() names {
	return names{seed: maphash.MakeSeed(), ends: []int{0}, slots: make([]slot, 1<<10)}
}

// of returns the number of a text.
func (n *names) of(text []byte) id {
	if len(text) == 0 {
		return 0
	}
	hash := maphash.Bytes(n.seed, text)
	mask := uint64(len(n.slots) - 1)
	tag := uint32(hash >> 32)
	for at := hash & mask; ; at = (at + 1) & mask {
		s := n.slots[at]
		if s.id == 0 {
			new := id(len(n.ends))
			n.text = append(n.text, text...)
			n.ends = append(n.ends, len(n.text))
			n.slots[at] = slot{new, tag}
			if 4*len(n.ends) > 3*len(n.slots) {
				n.grow()
			}
			return new
		}
		if s.tag == tag && string(n.bytes(s.id)) == string(text) {
			return s.id
		}
	}
}

func (n *names) grow() {
	slots := make([]slot, 2*len(n.slots))
	mask := uint64(len(slots) - 1)
	for i := 1; i < len(n.ends); i++ {
		hash := maphash.Bytes(n.seed, n.bytes(id(i)))
		at := hash & mask
		for slots[at].id != 0 {
			at = (at + 1) & mask
		}
		slots[at] = slot{id(i), uint32(hash >> 32)}
	}
	n.slots = slots
}

// value returns the number of a value, 0 for nil.
func (n *names) value(v history.View) id {
	if v.IsNil() {
		return 0
	}
	n.key = v.AppendKey(n.key[:0])
	return n.of(n.key)
}

func (n *names) bytes(i id) []byte {
	if i <= 0 {
		return nil
	}
	return n.text[n.ends[i-1]:n.ends[i]]
}

// say is the text with that number.
func (n *names) say(i id) string { return string(n.bytes(i)) }

// short is a hash for prose.
func (n *names) short(i id) string { return short(n.say(i)) }

// edn is the value with that number.
func (n *names) edn(i id) string {
	if i == 0 {
		return "nil"
	}
	return strings.ReplaceAll(n.say(i), " ]", "]")
}
