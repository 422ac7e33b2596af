package chain

// sighting is one statement of one node: this block is at this height.
type sighting struct {
	told
	op    int // position of the completion that says so
	node  int32
	tag   tag // noTag where the answer was to no tag
	block int32

	compared       bool   // something was known of the block
	clash          *clash // what it contradicts
	receiptsClash  bool   // it names another root of receipts than the op before
	receiptsBefore int
}

// tag is a block tag.
type tag uint8

const (
	noTag tag = iota
	finalizedTag
	safeTag
	latestTag
	pendingTag
	otherTag
)

func (t tag) String() string {
	switch t {
	case finalizedTag:
		return "finalized"
	case safeTag:
		return "safe"
	case latestTag:
		return "latest"
	case pendingTag:
		return "pending"
	}
	return ""
}

func tagOf(text []byte) tag {
	switch string(text) {
	case "":
		return noTag
	case "finalized":
		return finalizedTag
	case "safe":
		return safeTag
	case "latest":
		return latestTag
	case "pending":
		return pendingTag
	}
	return otherTag
}

// final reports whether what the node says there can never change.
func (s *sighting) final(finalTag tag) bool {
	return finalTag == latestTag || finalTag != noTag && s.tag == finalTag
}
