package chain_test

import (
	"cmp"
	"path/filepath"
	"slices"
	"testing"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history"
)

// A good history keeps what its checker compares most of, in so many lines.
const (
	mostLines = 100
	mostFacts = 64
)

// cut writes the pair of histories, from the runs of jepgo test in dir: each the
// smallest part of its run of which the checker says the same.
func (p real) cut(t *testing.T, dir string) {
	t.Helper()
	clean := cmp.Or(p.clean, "clean")
	h := run(t, dir, clean)
	whole, _ := ask(t, p.checker, h)
	if whole.Verdict != checker.Valid || whole.Facts == 0 {
		t.Fatalf("%s: run %s is %v: %s", p.checker, clean, whole.Verdict, whole.Reason)
	}
	for facts := min(whole.Facts, mostFacts); facts > 0; facts /= 2 {
		part := shrink(h, mostLines, func(part *history.History, _ []int) bool {
			r, _ := ask(t, p.checker, part)
			return r.Verdict == checker.Valid && r.Facts >= facts && len(r.Warnings) == 0
		})
		if len(part.Ops) <= mostLines || facts == 1 {
			write(t, p.file("ok"), part)
			break
		}
	}

	h = run(t, dir, p.bug)
	whole, _ = ask(t, p.checker, h)
	if !p.convicts(h, whole) {
		t.Fatalf("%s: run %s is %v: %s", p.checker, p.bug, whole.Verdict, whole.Reason)
	}
	want := witness(whole, nil)
	write(t, p.file("bad"), shrink(h, 0, func(part *history.History, at []int) bool {
		r, _ := ask(t, p.checker, part)
		return p.convicts(part, r) && r.Verdict == whole.Verdict && slices.Equal(witness(r, at), want)
	}))
}

// witness lists the ops of the first anomaly, by their places in the whole history;
// at says where those of a part are from.
func witness(r checker.Result, at []int) (places []int) {
	if len(r.Anomalies) == 0 {
		return nil
	}
	for _, ref := range r.Anomalies[0].Witness {
		if at == nil {
			places = append(places, ref.Index)
		} else {
			places = append(places, at[ref.Index])
		}
	}
	return places
}

// run reads the history of a run of jepgo test in a folder of its own.
func run(t *testing.T, dir, name string) *history.History {
	t.Helper()
	return read(t, filepath.Join(dir, name, "store", "latest", "history.edn"))
}

// shrink leaves operations out, by delta debugging (Zeller and Hildebrandt 2002),
// until a part has no more than so many ops, or lacks what holds when any one more
// is left out. An invocation and its completion stay together, and the :test op
// stays.
func shrink(h *history.History, enough int, holds func(part *history.History, at []int) bool) *history.History {
	units := operations(h)
	size := func() (n int) {
		for _, u := range units {
			n += len(u)
		}
		return n
	}
	for chunk := (len(units) + 1) / 2; chunk > 0 && size() > enough; {
		removed := false
		for from := 0; from < len(units) && size() > enough; {
			rest := slices.Concat(units[:from], units[min(len(units), from+chunk):])
			if part, at := take(h, rest); holds(part, at) {
				units, removed = rest, true
			} else {
				from += chunk
			}
		}
		if chunk == 1 && !removed {
			break
		}
		if !removed || chunk > 1 {
			chunk = max(1, chunk/2)
		}
	}
	part, _ := take(h, units)
	return part
}

// operations lists what is left out together, by positions, without the :test op.
func operations(h *history.History) (units [][]int) {
	for _, p := range h.Pairs() {
		unit := slices.DeleteFunc([]int{p.Invoke, p.Complete}, func(at int) bool { return at < 0 })
		units = append(units, unit)
	}
	for i := range h.Ops {
		if op := &h.Ops[i]; !op.Process.IsClient() && op.F != "test" {
			units = append(units, []int{i})
		}
	}
	slices.SortFunc(units, slices.Compare)
	return units
}

// take is the part of a history that has the :test op and those units, and where
// its ops are from. Their indexes begin at 0 again.
func take(h *history.History, units [][]int) (part *history.History, at []int) {
	at = slices.Concat(units...)
	for i := range h.Ops {
		if h.Ops[i].F == "test" {
			at = append(at, i)
		}
	}
	slices.Sort(at)
	part = &history.History{}
	for i, from := range at {
		op := h.Ops[from]
		op.Index = int64(i)
		part.Ops = append(part.Ops, op)
	}
	return part, at
}
