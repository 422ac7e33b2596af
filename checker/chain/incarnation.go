package chain

import (
	"slices"

	"github.com/jepgo/jepgo/history"
)

// ended notes what an op of jepgo or of its nemesis says of the end of a node's
// process: where jepgo saw it end, and where the nemesis asked for a kill, which
// older histories tell alone.
func (r *Reader) ended(e *history.Event) {
	switch {
	case e.F == "exit" && e.Process == history.Runner():
		if node, ok := e.Value.Field("node"); ok {
			r.dies(node, e.Position)
		}
	case e.F == "kill" && e.Process == history.Nemesis():
		if _, outcome := e.Value.Field("targets"); outcome {
			return
		}
		if v, _ := e.Rest.Field("error"); !v.IsNil() {
			return
		}
		targets := e.Value
		if nodes, ok := targets.Field("nodes"); ok {
			targets = nodes
		}
		switch targets.Kind() {
		case history.Vector, history.List, history.Set:
			for node := range targets.Elems() {
				r.dies(node, e.Position)
			}
		default:
			r.dies(targets, e.Position)
		}
	}
}

func (r *Reader) dies(node history.View, at int) {
	if name := node.Bytes(); len(name) > 0 {
		n := r.node(name)
		r.died[n] = append(r.died[n], int32(at))
	}
}

// endedBetween returns the position of an end of node's process after from and before to; ok is
// false when the node lived through it all. O(log ends).
func (r *Reader) endedBetween(node int32, from, to int) (at int, ok bool) {
	if node < 0 {
		return 0, false
	}
	ends := r.died[node]
	i, _ := slices.BinarySearch(ends, int32(from))
	if i < len(ends) && int(ends[i]) < to {
		return int(ends[i]), true
	}
	return 0, false
}
