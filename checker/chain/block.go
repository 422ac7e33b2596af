// Package chain judges what the nodes of a blockchain said about their blocks:
// whether they agree (Fork), whether what is final stays so (Finality), whether
// one client of one node sees time go forward (Session), whether every answer is
// what the chain's own transactions make of it (Replay), and how old local reads
// were (Staleness).
//
// All checkers take time and memory linear in the history and in the blocks that
// it names. None of them trusts a clock. What a history does not tell, a block
// that no node reported, say, is a gap: it is counted and never a violation.
//
// What is final depends on the kind of network. A checker that needs to know is
// told the final tag: "latest" where every block is final at once, "finalized"
// where the head may reorganise, "" where nothing ever is. The others read the
// profile from the history's :test op.
package chain

import (
	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history"
)

// Block is what a node reports of one block. A field that the report lacks is
// zero; N and H are always there.
type Block struct {
	N      int64  // height
	H      string // hash
	Parent string // hash of the block before it
	Root   string // hash of the state after it
	TS     int64  // its timestamp, seconds
}

// ReadBlock decodes {:n … :h … :parent … :root … :ts …}; ok is false without a
// height and a hash.
func ReadBlock(v history.Value) (b Block, ok bool) {
	elems := v.Elems()
	if v.Kind() != history.Map {
		return b, false
	}
	height := false
	for i := 0; i+1 < len(elems); i += 2 {
		switch elems[i].Text() {
		case "n":
			b.N, height = elems[i+1].Int()
		case "h":
			b.H = elems[i+1].Text()
		case "parent":
			b.Parent = elems[i+1].Text()
		case "root":
			b.Root = elems[i+1].Text()
		case "ts":
			b.TS, _ = elems[i+1].Int()
		}
	}
	return b, height && b.H != ""
}

// ReadPlace returns the block that an answer came from, as far as :height and
// :hash tell.
func ReadPlace(op *history.Op) (b Block, ok bool) {
	height, _ := op.Lookup(history.HeightKey)
	hash, _ := op.Lookup(history.HashKey)
	b.N, ok = height.Int()
	b.H = hash.Text()
	return b, ok && b.H != ""
}

// Head is the value of an ok :head. A tag that the node did not serve is the
// zero Block, whose H is empty.
type Head struct {
	Latest, Safe, Finalized Block
	Walk                    []Block
}

// ReadHead decodes the value of an ok :head; ok is false when it is no map.
func ReadHead(v history.Value) (head Head, ok bool) {
	elems := v.Elems()
	for i := 0; v.Kind() == history.Map && i+1 < len(elems); i += 2 {
		switch elems[i].Text() {
		case "latest":
			head.Latest, _ = ReadBlock(elems[i+1])
		case "safe":
			head.Safe, _ = ReadBlock(elems[i+1])
		case "finalized":
			head.Finalized, _ = ReadBlock(elems[i+1])
		case "walk":
			for _, e := range elems[i+1].Elems() {
				if b, ok := ReadBlock(e); ok {
					head.Walk = append(head.Walk, b)
				}
			}
		}
	}
	return head, v.Kind() == history.Map
}

// tags lists the tags of a head in the order in which their heights may grow.
func (h *Head) tags() [3]*Block { return [3]*Block{&h.Finalized, &h.Safe, &h.Latest} }

var tagNames = [3]string{finalizedTag, safeTag, latestTag}

const (
	latestTag    = "latest"
	safeTag      = "safe"
	finalizedTag = "finalized"
	pendingTag   = "pending"
)

// finalTagOf is the final tag of the network that the history was taken from.
func finalTagOf(h *history.History) string {
	info, _ := checker.ReadTest(h)
	switch info.Profile {
	case "bft":
		return latestTag
	case "pos":
		return finalizedTag
	}
	return ""
}
