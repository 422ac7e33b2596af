package checker

import "github.com/jepgo/jepgo/history"

// Phase is a stretch of a run: the positions From (its :phase op) up to but not
// including To.
type Phase struct {
	Name     string // run, heal, final, end
	From, To int
}

// EndsEarly says where a history that jepgo wrote ends before its :phase :end,
// as a cause for what is missing from it; "" for one that is complete, and for
// one that jepgo did not write.
func EndsEarly(h *history.History) string { return oursOf(h).endsEarly() }

func (o *ours) endsEarly() string {
	phases := o.phases()
	if _, ours := o.readTest(); len(phases) == 0 {
		if !ours {
			return ""
		}
		return "the history ends before phase run: the run was stopped or killed"
	}
	last := phases[len(phases)-1].Name
	if last == "end" {
		return ""
	}
	return "the history ends in phase " + last + ": the run was stopped or killed"
}

// because puts a cause, if there is one, before what follows from it.
func because(cause, text string) string {
	if cause == "" {
		return text
	}
	return cause + "; " + text
}

// Phases reads the :phase ops in order. A history without any, which jepgo did
// not write, has none.
func Phases(h *history.History) []Phase { return oursOf(h).phases() }

func (o *ours) phases() []Phase {
	var phases []Phase
	for i := range o.ops {
		op := &o.ops[i]
		if op.F != "phase" || op.Process != history.Runner() {
			continue
		}
		if n := len(phases); n > 0 {
			phases[n-1].To = o.at[i]
		}
		phases = append(phases, Phase{Name: op.Value.Text(), From: o.at[i], To: o.count})
	}
	return phases
}
