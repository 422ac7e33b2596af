package chain

import "github.com/jepgo/jepgo/history"

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
