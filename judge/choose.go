package judge

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/claims"
	"github.com/jepgo/jepgo/history"
	"github.com/jepgo/jepgo/report"
	"github.com/jepgo/jepgo/usage"
)

// plan is how one history is judged, in one pass.
type plan struct {
	streams []checker.Stream
	ours    checker.TestInfo // of a history of jepgo's own
	foreign *foreign         // nil for a history of jepgo's own
	hint    string           // what may be wrong with the question
}

// choose finds the rules for a history that looks like s, and notes in j which
// they are and why.
func choose(s *sight, o *Options, j *report.Judgement) (plan, error) {
	info, ours := s.readTest()
	if o.Model == modelChain || o.Model == "" && ours {
		j.Model, j.Because = modelChain, "its first op is jepgo's own"
		if !ours {
			return plan{}, usage.Errorf("--model chain: the history has no :test op of jepgo's: want a history that jepgo test recorded")
		}
		if err := o.useless(model{name: modelChain}); err != nil {
			return plan{}, err
		}
		if o.Claim != "" {
			info.Claim = o.Claim
		}
		streams, notClaimed, err := claims.Streams(info)
		if err != nil {
			return plan{}, usage.Errorf("%w", err)
		}
		j.NotClaimed = notClaimed
		return plan{streams: streams, ours: info}, nil
	}
	if ours && !o.Keyed {
		return plan{}, usage.Errorf("--model %q: jepgo recorded this history, and its values are [key value]: leave --model out, or add --independent", o.Model)
	}
	if o.Claim != "" {
		return plan{}, usage.Errorf("--claim %q is for a history that jepgo test recorded: want --consistency-model for another one", o.Claim)
	}
	m, because, err := chooseModel(s, o)
	if err != nil {
		return plan{}, err
	}
	if err := o.useless(m); err != nil {
		return plan{}, err
	}
	j.Model, j.Because = m.name, because
	main, err := m.begin(o)
	if err != nil {
		return plan{}, err
	}
	p := plan{streams: append([]checker.Stream{main}, beside(m, o)...), foreign: &foreign{ops: m.ops}}
	if m.uses&usesKeys != 0 && !o.Keyed && m.name != "kv" {
		p.hint = s.hint()
	}
	return p, nil
}

// chooseModel takes the named model, or the one that the operations look like.
func chooseModel(s *sight, o *Options) (m model, because string, err error) {
	if o.Model != "" {
		m, _ = find(o.Model)
		return m, "it was asked for", nil
	}
	if len(s.fs) == 0 {
		// Nothing to judge is unknown, not a guess at a model: any will say so.
		return models()[0], "the history has no client operation", nil
	}
	var fits []model
	for _, m := range models() {
		if m.taken(s) {
			fits = append(fits, m)
		}
	}
	switch {
	case len(fits) == 0:
		return model{}, "", vague("%s fit no model that is known by its operations%s: want --model%s", s, s.hint(), candidates(s))
	case len(fits) > 1 && fits[0].shared:
		var names []string
		for _, m := range fits {
			names = append(names, m.name)
		}
		return model{}, "", vague("%s fit several models: want --model with one of %s", s, strings.Join(names, ", "))
	}
	return fits[0], s.String(), nil
}

// VagueError says that a history's operations fit no model, or several.
type VagueError struct{ message string }

func (e *VagueError) Error() string { return e.message }

func vague(format string, args ...any) error { return &VagueError{fmt.Sprintf(format, args...)} }

// candidates names the models that judge such operations.
func candidates(s *sight) string {
	var names []string
	for _, m := range models() {
		if s.only(m.ops...) {
			names = append(names, m.name)
		}
	}
	if len(names) == 0 {
		return ", see check --help"
	}
	return " with one of " + strings.Join(names, ", ")
}

// foreign counts the operations that took place, or may have, and are none of a
// model's.
type foreign struct {
	ops   []string
	count int
	first int
	f     string
}

func (w *foreign) take(e *history.Event) {
	if e.Type != history.OK && e.Type != history.Info || !e.Process.IsClient() || slices.Contains(w.ops, e.F) {
		return
	}
	if w.count == 0 {
		w.first, w.f = e.Position, e.F
	}
	w.count++
}

// String says what they are, "" for none.
func (w *foreign) String() string {
	if w.count == 0 {
		return ""
	}
	return fmt.Sprintf("operations at %d places are none of those that the model judges (:%s), such as :%s at op %d", w.count, strings.Join(w.ops, " :"), w.f, w.first)
}
