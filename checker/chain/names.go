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
	pages [][]byte
	texts list[span] // by number
	slots []slot     // open addressing, a power of two
	key   []byte
}

// span is where a text stands.
type span struct{ page, from, length uint32 }

// pageSize is how much text a page holds; a longer text has one of its own.
const pageSize = 64 << 10

type slot struct {
	id   id // 0 for an empty one
	hash uint32
}

func newNames() names {
	n := names{seed: maphash.MakeSeed(), slots: make([]slot, 1<<10)}
	n.texts.push(span{}) // of 0
	n.pages = append(n.pages, nil)
	return n
}

// of returns the number of a text.
func (n *names) of(text []byte) id {
	if len(text) == 0 {
		return 0
	}
	hash := uint32(maphash.Bytes(n.seed, text))
	mask := uint32(len(n.slots) - 1)
	for at := hash & mask; ; at = (at + 1) & mask {
		s := n.slots[at]
		if s.id == 0 {
			new := n.put(text)
			n.slots[at] = slot{new, hash}
			if 4*n.texts.n > 3*len(n.slots) {
				n.grow()
			}
			return new
		}
		if s.hash == hash && string(n.bytes(s.id)) == string(text) {
			return s.id
		}
	}
}

func (n *names) put(text []byte) id {
	last := len(n.pages) - 1
	if len(n.pages[last])+len(text) > cap(n.pages[last]) {
		n.pages = append(n.pages, make([]byte, 0, max(len(text), min(pageSize, 256<<min(last, 8)))))
		last++
	}
	from := len(n.pages[last])
	n.pages[last] = append(n.pages[last], text...)
	new := id(n.texts.n)
	n.texts.push(span{uint32(last), uint32(from), uint32(len(text))})
	return new
}

func (n *names) grow() {
	slots := make([]slot, 2*len(n.slots))
	mask := uint32(len(slots) - 1)
	for _, s := range n.slots {
		if s.id == 0 {
			continue
		}
		at := s.hash & mask
		for slots[at].id != 0 {
			at = (at + 1) & mask
		}
		slots[at] = s
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
	s := n.texts.at(int(i))
	return n.pages[s.page][s.from : s.from+s.length]
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
