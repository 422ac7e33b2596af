package checker

import (
	"time"

	"github.com/jepgo/jepgo/history"
)

// TestInfo is what the :test op, the first line of jepgo's own histories, says
// about the run. Fields that the op lacks are zero.
type TestInfo struct {
	Version   string
	Seed      int64
	Profile   string   // kind of network: bft, pos, …
	Workloads []string // names without their colons, as all lists here
	Nodes     []string
	Nemesis   []string // kinds of fault that were asked for, all among them; empty for none
	Faults    []string // what they came out as, with specs and times: kill:one@height=50
	Processes int64    // client processes at the start
	Bug       string   // planted bug, "" for none
	Claim     string   // --claim, "" when it was not given
	Bounds    Bounds
}

// ReadTest finds the :test op; ok is false when the history has none, that is
// when jepgo did not write it. It looks at the ops before the first client op
// only.
func ReadTest(h *history.History) (info TestInfo, ok bool) {
	for i := range h.Ops {
		if h.Ops[i].Process.IsClient() {
			return info, false
		}
		if info, ok = readTest(&h.Ops[i]); ok {
			return info, true
		}
	}
	return info, false
}

func (o *ours) readTest() (info TestInfo, ok bool) {
	for i := range o.ops {
		if o.client > 0 && o.at[i] >= o.client {
			break
		}
		if info, ok = readTest(&o.ops[i]); ok {
			return info, true
		}
	}
	return info, false
}

// TestOf is what one op says if it is the :test op of jepgo's own.
func TestOf(op *history.Op) (info TestInfo, ok bool) { return readTest(op) }

func readTest(op *history.Op) (info TestInfo, ok bool) {
	if op.F != "test" || op.Process != history.Runner() {
		return info, false
	}
	v := op.Value
	info = TestInfo{
		Version:   textOf(v, "version"),
		Profile:   textOf(v, "profile"),
		Workloads: textsOf(v, "workloads"),
		Nodes:     textsOf(v, "nodes"),
		Bug:       textOf(v, "bug"),
		Claim:     textOf(v, "claim"),
	}
	for _, name := range textsOf(v, "nemesis") {
		if name != "none" && name != "" {
			info.Nemesis = append(info.Nemesis, name)
		}
	}
	info.Faults = textsOf(v, "faults")
	info.Seed = intOf(v, "seed")
	info.Processes = intOf(v, "processes")
	bounds, _ := v.Field("profile-bounds")
	info.Bounds = BoundsOf(bounds)
	return info, true
}

// Bounds are what a run says of its network's kind: how deep the head may
// reorganise and how long a block takes. Known is false for a depth that is not
// told.
type Bounds struct {
	ReorgDepth int64
	Known      bool
	BlockTime  time.Duration // 0 when it is not told
}

// BoundsOf reads the :profile-bounds of a :test op.
func BoundsOf(v history.Value) (b Bounds) {
	depth, _ := v.Field("reorg-depth")
	b.ReorgDepth, b.Known = depth.Int()
	b.BlockTime = time.Duration(intOf(v, "block-time"))
	return b
}

func textOf(v history.Value, name string) string {
	field, _ := v.Field(name)
	return field.Text()
}

func intOf(v history.Value, name string) int64 {
	field, _ := v.Field(name)
	n, _ := field.Int()
	return n
}

// textsOf reads a list of names; a lone name counts as a list of one.
func textsOf(v history.Value, name string) []string {
	field, _ := v.Field(name)
	if s := field.Text(); s != "" {
		return []string{s}
	}
	return texts(field)
}

func texts(v history.Value) []string {
	var list []string
	for _, e := range v.Elems() {
		list = append(list, e.Text())
	}
	return list
}
