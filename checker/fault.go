package checker

import (
	"slices"
	"strings"

	"github.com/jepgo/jepgo/history"
)

// Fault is one fault of the nemesis as the history tells it. The positions are
// those of its four ops, -1 for each that the history lacks.
type Fault struct {
	Name    string   // :f of its start: start-partition, kill, pause
	Targets []string // nodes, sorted; for a partition those that were cut off from somebody
	Side    []string // of a partition: the nodes that it is about, none where it is about all
	// Restarts says that it may end the processes of its targets, as a kill does:
	// the request has :restarts true.
	Restarts bool
	Request  int // what was to be done
	Begun    int // what was measured
	Undo     int // the request to take it back
	Undone   int // what was measured of that
}

// undoOf returns the :f that takes a fault back; ok is false when name does not
// start one.
func undoOf(name string) (undo string, ok bool) {
	switch name {
	case "kill":
		return "start", true
	case "pause":
		return "resume", true
	}
	if kind, cut := strings.CutPrefix(name, "start-"); cut {
		return "stop-" + kind, true
	}
	return "", false
}

// Faults pairs the four ops of each fault, in the order of the requests. An
// outcome is told from a request by its :targets or its :error, so that a
// request that was never answered stays without an outcome. O(n) time.
func Faults(h *history.History) []Fault { return oursOf(h).faults() }

func (o *ours) faults() []Fault {
	var faults []Fault
	open := make(map[string][]int) // name of the undo → faults that still wait for it
	last := make(map[string]int)   // :f → the fault whose request it was last
	for n := range o.ops {
		i, op := o.at[n], &o.ops[n]
		if op.Process != history.Nemesis() || op.F == "" {
			continue
		}
		_, measured := op.Value.Field("targets")
		outcome := measured || !op.Error.IsNil()
		undo, starts := undoOf(op.F)
		switch {
		case starts && !outcome:
			last[op.F] = len(faults)
			open[undo] = append(open[undo], len(faults))
			faults = append(faults, Fault{Name: op.F, Targets: targets(op.Value), Side: side(op.Value), Restarts: restarts(op), Request: i, Begun: -1, Undo: -1, Undone: -1})
		case starts:
			if at, ok := last[op.F]; ok && faults[at].Begun < 0 {
				faults[at].Begun = i
			}
		case !outcome:
			if at, ok := takeOpen(open, op.F, faults, targets(op.Value)); ok {
				last[op.F] = at
				faults[at].Undo = i
			}
		default:
			if at, ok := last[op.F]; ok && faults[at].Undone < 0 {
				faults[at].Undone = i
			}
		}
	}
	return faults
}

// takeOpen removes from open the fault that an undo of those targets is for: the
// oldest with the same targets, else the oldest.
func takeOpen(open map[string][]int, undo string, faults []Fault, want []string) (at int, ok bool) {
	waiting := open[undo]
	if len(waiting) == 0 {
		return 0, false
	}
	pick := max(0, slices.IndexFunc(waiting, func(f int) bool { return slices.Equal(faults[f].Targets, want) }))
	at = waiting[pick]
	open[undo] = slices.Delete(waiting, pick, pick+1)
	return at, true
}

func restarts(op *history.Op) bool {
	v, _ := op.Value.Field("restarts")
	yes, _ := v.Flag()
	return op.F == "kill" || yes
}

// side lists the nodes that a partition is about: those that it names, or else those
// that were cut off from the most others.
func side(v history.Value) (nodes []string) {
	cut, ok := v.Field("cut")
	if !ok {
		return nil
	}
	if named, ok := v.Field("nodes"); ok {
		return texts(named)
	}
	most := 0
	for elems, i := cut.Elems(), 0; i+1 < len(elems); i += 2 {
		n := len(elems[i+1].Elems())
		if n > most {
			most, nodes = n, nil
		}
		if n == most {
			nodes = append(nodes, elems[i].Text())
		}
	}
	slices.Sort(nodes)
	return nodes
}

// whom lists whom f was about, for people.
func (f *Fault) whom() []string {
	if len(f.Side) > 0 {
		return f.Side
	}
	return f.Targets
}

// targets lists the nodes that a request names.
func targets(v history.Value) []string {
	for _, key := range []string{"cut", "nodes"} {
		if named, ok := v.Field(key); ok {
			v = named
			break
		}
	}
	var nodes []string
	switch elems := v.Elems(); v.Kind() {
	case history.Map:
		for i := 0; i+1 < len(elems); i += 2 {
			nodes = append(nodes, elems[i].Text())
		}
	case history.Vector, history.List, history.Set:
		nodes = texts(v)
	default:
		if s := v.Text(); s != "" {
			nodes = []string{s}
		}
	}
	slices.Sort(nodes)
	return nodes
}
