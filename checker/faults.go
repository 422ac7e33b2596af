package checker

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jepgo/jepgo/history"
)

// NemesisFaults returns the checker faults: every fault that the nemesis
// requested must have been seen to bite, and seen to be undone. A run whose
// faults are only assumed tests nothing, so what lacks evidence is Unknown; the
// reason begins with "dirty" where a fault may still be in force. It never says
// invalid: a fault is jepgo's doing, not the network's. A run that asked for no
// fault is Valid. A kind of fault that was asked for by name and never injected,
// or a fault whose moment never came, makes the run Unknown: what it was to test
// was not tested. Of the kinds that only "all" asked for, those that found no time
// are warnings; so is a node that did not come back, and a fault of a disk that hit
// jepgo's own file on it and nothing of the node's. O(n) time and memory.
func NemesisFaults() Checker { return Streamed(NemesisFaultsStream) }

// NemesisFaultsStream is NemesisFaults for a history that passes by. It keeps the
// ops of jepgo and its nemesis only.
func NemesisFaultsStream() Stream { return &nemesisFaults{} }

type nemesisFaults struct{ ours }

func (*nemesisFaults) Name() string { return "faults" }

func (c *nemesisFaults) Take(e *history.Event) { c.take(e) }

func (c *nemesisFaults) Finish(ctx context.Context, _ history.Source) Result {
	h := &c.ours
	if ctx.Err() != nil {
		return Ended(ctx, c.Name())
	}
	r := Result{Checker: c.Name()}
	info, known := h.readTest()
	faults, early := h.faults(), h.endsEarly()
	if len(faults) == 0 {
		switch {
		case len(info.Nemesis) > 0:
			r.Reason = because(early, "none of the faults that were asked for happened: "+strings.Join(info.Nemesis, ", "))
			r.Warnings = notInjected(h)
		case known:
			r.Verdict, r.Facts, r.Reason = Valid, 1, "no fault was asked for"
		default:
			r.Reason = "no :test op says which faults were asked for, and there are none"
		}
		return r
	}
	var dirty, doubts, doubtful []string
	why := "" // of the first doubt
	kinds := make(map[string]*inForce)
	for _, f := range faults {
		r.Facts += 2
		problem, isDirty := f.problem(h)
		switch {
		case isDirty:
			dirty = append(dirty, problem)
		case problem != "":
			if len(doubts) == 0 && (f.Begun < 0 || f.Undo < 0 || f.Undone < 0) {
				why = early
			}
			doubts = append(doubts, problem)
		}
		name := strings.TrimPrefix(f.Name, "start-")
		kind := kinds[name]
		if kind == nil {
			kind = &inForce{}
			kinds[name] = kind
		}
		kind.add(h, f, problem == "")
		doubtful = append(doubtful, f.remarks(h)...)
	}
	never := notInjected(h)
	r.Facts += len(never)
	doubts = append(doubts, never...)
	named, members := askedKinds(info)
	var missing []string
	for _, name := range slices.Concat(named, members) {
		if kinds[name] != nil {
			continue
		}
		kinds[name] = &inForce{}
		cause := "the run was too short"
		switch {
		case h.interrupted():
			cause = "the run was interrupted"
		case len(dirty) > 0:
			cause = "no fault follows one that could not be undone"
		case early != "":
			cause = early
		}
		what := fmt.Sprintf("%s was asked for but never injected: %s", name, cause)
		switch {
		case !slices.Contains(named, name):
			missing = append(missing, what)
		case len(never) == 0 || !slices.ContainsFunc(never, func(n string) bool { return strings.HasPrefix(n, name) }):
			doubts = append(doubts, what) // else it was said with more detail
		}
	}
	for _, name := range sortedKeys(kinds) {
		r.Stats = append(r.Stats, Stat{Name: name, Value: kinds[name].String()})
	}
	problems := append(dirty, doubts...)
	if len(problems) == 0 {
		r.Verdict, r.Warnings = Valid, append(doubtful, missing...)
		r.Reason = fmt.Sprintf("each of %d faults was seen to bite and to be undone", len(faults))
		if len(faults) == 1 {
			r.Reason = "the one fault was seen to bite and to be undone"
		}
		return r
	}
	r.Reason, r.Warnings = problems[0], slices.Concat(problems[1:], doubtful, missing)
	if len(dirty) > 0 {
		r.Reason = "dirty: " + r.Reason
	} else {
		r.Reason = because(why, r.Reason)
	}
	return r
}

// askedKinds lists the kinds of fault that a run asked for by name, without
// their specs and times, and those that only all stands for.
func askedKinds(info TestInfo) (named, members []string) {
	all := false
	for _, name := range info.Nemesis {
		if kind := kindOf(name); kind != "all" {
			named = append(named, kind)
		} else {
			all = true
		}
	}
	slices.Sort(named)
	named = slices.Compact(named)
	if !all {
		return named, nil
	}
	for _, name := range info.Faults {
		if kind := kindOf(name); !slices.Contains(named, kind) {
			members = append(members, kind)
		}
	}
	slices.Sort(members)
	return named, slices.Compact(members)
}

// kindOf is kill for kill:one@height=50+10s.
func kindOf(fault string) string {
	fault = strings.TrimPrefix(fault, ":")
	if end := strings.IndexAny(fault, ":@+"); end >= 0 {
		fault = fault[:end]
	}
	return fault
}

// notInjected says of each fault whose moment never came why.
func notInjected(h *ours) []string {
	var never []string
	for n := range h.ops {
		i, op := h.at[n], &h.ops[n]
		if op.Process == history.Nemesis() && op.F == "not-injected" {
			never = append(never, fmt.Sprintf("%s was never injected (op %d): %s", textOf(op.Value, "fault"), i, errorText(op)))
		}
	}
	return never
}

// interrupted is whether somebody ended the run's main phase before its time.
func (o *ours) interrupted() bool {
	return slices.ContainsFunc(o.ops, func(op history.Op) bool { return op.F == "interrupted" && op.Process == history.Runner() })
}

// remarks are what is worth knowing of f though it bit and was undone.
func (f Fault) remarks(h *ours) (said []string) {
	if f.Undone < 0 {
		return nil
	}
	op := h.op(f.Undone)
	evidence, _ := op.Value.Field("evidence")
	missed, operations := 0, int64(0)
	name := strings.TrimPrefix(f.Name, "start-")
	for _, node := range f.Targets {
		seen, ok := evidence.Field(node)
		if !ok {
			continue
		}
		if finding := textOf(seen, "finding"); finding != "" {
			finding, _, _ = strings.Cut(finding, "; the end of ") // its log, which the op has
			said = append(said, fmt.Sprintf("%s of %s (op %d): %s (op %d)", name, node, f.Request, finding, f.Undone))
		}
		if hits, told := seen.Field("hits"); told {
			if n, ok := hits.Int(); ok && n == 0 {
				missed++
				operations += intOf(seen, "operations")
			}
		}
	}
	if missed > 0 && missed == len(f.Targets) {
		said = append(said, fmt.Sprintf("%s of %s (op %d) hit jepgo's own file on the disk, but none of %d operations of the node (op %d)",
			name, strings.Join(f.Targets, ", "), f.Request, operations, f.Undone))
	}
	return said
}

// problem is what stands against f, "" for nothing; dirty is set where it may
// still be in force.
func (f Fault) problem(h *ours) (text string, dirty bool) {
	what := fmt.Sprintf("%s of %s (op %d)", f.Name, strings.Join(f.whom(), ", "), f.Request)
	if f.Undone >= 0 {
		if op := h.op(f.Undone); errorClass(op) == "not-undone" {
			return fmt.Sprintf("%s could not be seen to be undone (op %d): %s", what, f.Undone, errorText(op)), true
		}
	}
	if f.Begun < 0 {
		return what + " has no outcome", false
	}
	if op := h.op(f.Begun); !op.Error.IsNil() || !hasEvidence(op) {
		return fmt.Sprintf("%s was not seen to bite (op %d): %s", what, f.Begun, errorText(op)), false
	}
	if f.Undo < 0 {
		return what + " was never taken back in this history", false
	}
	if f.Undone < 0 {
		return fmt.Sprintf("%s was asked to end (op %d) without an outcome", what, f.Undo), false
	}
	if op := h.op(f.Undone); errorClass(op) == "lapsed" {
		return fmt.Sprintf("%s did not stay in force (op %d): %s", what, f.Undone, errorText(op)), false
	} else if !op.Error.IsNil() || !hasEvidence(op) {
		return fmt.Sprintf("%s has no evidence of its end (op %d): %s", what, f.Undone, errorText(op)), false
	}
	return "", false
}

func hasEvidence(op *history.Op) bool {
	v, _ := op.Value.Field("evidence")
	return v.Kind() == history.Map && len(v.Elems()) > 0
}

// errorClass and errorText read an :error of the form [:class "text"].
func errorClass(op *history.Op) string {
	if parts := op.Error.Elems(); len(parts) > 0 {
		return parts[0].Text()
	}
	return op.Error.Text()
}

func errorText(op *history.Op) string {
	parts := op.Error.Elems()
	switch {
	case op.Error.IsNil():
		return "no evidence was recorded"
	case len(parts) > 1 && parts[1].Kind() == history.String:
		return parts[1].Text()
	}
	return op.Error.String()
}

// inForce adds up how often one kind of fault was requested, and how long it was
// in force for certain, from when it was seen to bite until it was to be undone: of
// those that were seen to bite, to stay, and to be undone. Of the others nobody
// knows. How long the undoing took, the restart of a node say, is not in it.
type inForce struct {
	count, doubtful, measured int
	total                     time.Duration
	when                      []string // of each that was measured: n2 12.3s to 17.3s
}

// shownTimes bounds how many of one kind are told with their targets and times;
// faults.edn has all.
const shownTimes = 4

func (k *inForce) add(h *ours, f Fault, sound bool) {
	k.count++
	if !sound {
		k.doubtful++
		return
	}
	from, to := intOf(h.op(f.Begun).Value, "measured"), intOf(h.op(f.Undone).Value, "requested")
	if from > 0 && to >= from {
		k.measured++
		k.total += time.Duration(to - from)
		if k.measured <= shownTimes {
			k.when = append(k.when, fmt.Sprintf("%s %.1fs to %.1fs", strings.Join(f.whom(), " "), float64(from)/1e9, float64(to)/1e9))
		}
	}
}

func (k *inForce) String() string {
	times := fmt.Sprintf("%d times", k.count)
	if k.count == 1 {
		times = "once"
	}
	total := k.total.Round(time.Millisecond)
	switch {
	case k.count == 0:
		return times
	case k.doubtful == k.count:
		return times + ", not known to have been in force"
	case k.measured == 0: // the ops have no times
		return times
	case k.measured < k.count:
		return fmt.Sprintf("%s, %v in force in %d of them (%s); of the others it is not known", times, total, k.measured, k.times())
	}
	return fmt.Sprintf("%s, %v in force (%s)", times, total, k.times())
}

// times lists who was hit when, on the clock of the ops' :time.
func (k *inForce) times() string {
	text := strings.Join(k.when, ", ")
	if more := k.measured - len(k.when); more > 0 {
		text += fmt.Sprintf(", and %d more", more)
	}
	return text
}
