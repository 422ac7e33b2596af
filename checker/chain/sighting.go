package chain

import "github.com/jepgo/jepgo/history"

// sighting is one statement of one node: this block is at this height.
type sighting struct {
	op   int // position of the completion that says so
	node string
	tag  string // latest, safe, finalized; "" where the answer was to no tag
	Block
}

// final reports whether what the node says there can never change.
func (s *sighting) final(finalTag string) bool {
	return finalTag == latestTag || finalTag != "" && s.tag == finalTag
}

// eachSighting calls yield for all that the completion at position i says.
func eachSighting(h *history.History, i int, yield func(*sighting)) {
	op := &h.Ops[i]
	if op.Type == history.Invoke || !op.Process.IsClient() {
		return
	}
	s := sighting{op: i, node: op.Node, tag: op.Tag}
	if op.Type == history.OK {
		switch op.F {
		case "head":
			head, _ := ReadHead(op.Value)
			for _, b := range head.Walk {
				s.Block = b
				yield(&s)
			}
			for t, b := range head.tags() {
				if b.H != "" {
					s.tag, s.Block = tagNames[t], *b
					yield(&s)
				}
			}
			return
		case "block", "txs":
			if b, ok := ReadBlock(op.Value); ok {
				s.Block = b
				yield(&s)
			}
			return
		}
	}
	if b, ok := ReadPlace(op); ok && op.Tag != pendingTag {
		s.Block = b
		yield(&s)
	}
}
