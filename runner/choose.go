package runner

import (
	"slices"
	"strings"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/checker/linear"
	"github.com/jepgo/jepgo/history"
	"github.com/jepgo/jepgo/report"
	"github.com/jepgo/jepgo/workloads"
)

// modelChain is the model of jepgo's own histories: their first op says what
// was claimed.
const modelChain = "chain"

// model is a set of rules for histories that jepgo did not record.
type model struct {
	name string
	fs   []string // the operations by which such a history is known
	new  func(o linear.Options) checker.Checker
}

func models() []model {
	return []model{
		{"register", []string{"read", "write"}, linear.Register},
		{"cas-register", []string{"read", "write", "cas"}, linear.Register},
		{"mutex", []string{"acquire", "release"}, linear.Mutex},
	}
}

// ModelNames lists what --model takes.
func ModelNames() string {
	names := []string{modelChain}
	for _, m := range models() {
		names = append(names, m.name)
	}
	return strings.Join(names, ", ")
}

// choose finds the checkers for a history and notes in j which rules they are.
func choose(h *history.History, o JudgeOptions, j *report.Judgement) ([]checker.Checker, error) {
	info, ours := checker.ReadTest(h)
	if o.Model == modelChain || (o.Model == "" && ours) {
		j.Model = modelChain
		if !ours {
			return nil, usage("--model chain: the history has no :test op of jepgo's: want a history that jepgo test recorded")
		}
		checkers, notClaimed, err := workloads.Checkers(info)
		if err != nil {
			return nil, usage("%w", err)
		}
		j.NotClaimed = notClaimed
		return checkers, nil
	}
	if ours && !o.Keyed {
		return nil, usage("--model %q: jepgo recorded this history, and its values are [key value]: leave --model out, or add --independent", o.Model)
	}
	m, err := chooseModel(h, o.Model)
	if err != nil {
		return nil, err
	}
	initial := history.Value{}
	if o.Initial != "" {
		if initial, err = history.ParseValue(o.Initial); err != nil {
			return nil, usage("--initial %q: %w", o.Initial, err)
		}
	}
	j.Model = m.name
	return []checker.Checker{m.new(linear.Options{
		Keyed: o.Keyed, NilAny: o.NilAny, Initial: initial, Timeout: o.Timeout,
		// Clients that tried and never succeeded have seen nothing go wrong, as
		// Knossos sees it.
		EmptyValid: true,
	})}, nil
}

// chooseModel takes the named model, or the one whose operations the clients of
// the history used.
func chooseModel(h *history.History, name string) (model, error) {
	if name != "" {
		for _, m := range models() {
			if m.name == name {
				return m, nil
			}
		}
		return model{}, usage("--model %q does not exist: want one of %s", name, ModelNames())
	}
	used := map[string]bool{}
	for i := range h.Ops {
		if h.Ops[i].Process.IsClient() {
			used[h.Ops[i].F] = true
		}
	}
	if len(used) == 0 {
		// Nothing to judge is unknown, not a guess at a model: any will say so.
		return models()[0], nil
	}
	for _, m := range models() {
		known := true
		for f := range used {
			known = known && slices.Contains(m.fs, f)
		}
		if known {
			return m, nil
		}
	}
	var fs []string
	for f := range used {
		fs = append(fs, ":"+f)
	}
	slices.Sort(fs)
	return model{}, usage("operations %s fit no model that is known by its operations: want --model with one of %s", strings.Join(fs, " "), ModelNames())
}
