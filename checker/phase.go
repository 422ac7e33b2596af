package checker

import "github.com/jepgo/jepgo/history"

// Phase is a stretch of a run: the positions From (its :phase op) up to but not
// including To.
type Phase struct {
	Name     string // run, heal, final, end
	From, To int
}

// Phases reads the :phase ops in order. A history without any, which jepgo did
// not write, has none.
func Phases(h *history.History) []Phase {
	var phases []Phase
	for i := range h.Ops {
		op := &h.Ops[i]
		if op.F != "phase" || op.Process != history.Runner() {
			continue
		}
		if n := len(phases); n > 0 {
			phases[n-1].To = i
		}
		phases = append(phases, Phase{Name: op.Value.Text(), From: i, To: len(h.Ops)})
	}
	return phases
}
