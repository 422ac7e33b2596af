package checker

import "github.com/jepgo/jepgo/history"

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
}

// ReadTest finds the :test op; ok is false when the history has none, that is
// when jepgo did not write it. It looks at the ops before the first client op
// only.
func ReadTest(h *history.History) (info TestInfo, ok bool) {
	for i := range h.Ops {
		op := &h.Ops[i]
		if op.Process.IsClient() {
			return info, false
		}
		if op.F != "test" || op.Process != history.Runner() {
			continue
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
		return info, true
	}
	return info, false
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
