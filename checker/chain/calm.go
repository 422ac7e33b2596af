package chain

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history"
)

// trouble is what jepgo and its nemesis say of a run, in time.
type trouble struct {
	nemesis   []history.Op
	nemesisAt []int // positions of those
	started   int64 // time of phase run, -1
	healed    int64 // time of phase heal, -1
	healedAt  int   // position of it
	until     int64 // time of the last op
	paired    sync.Once
	pairs     []fault
}

// fault is one of the nemesis: in force from when it was asked for until it was
// seen to be undone, or for ever.
type fault struct {
	kind     string
	targets  []string
	op, end  int   // positions of its request, and of the outcome of its undoing or the last there can be
	from, to int64 // times of those
	restarts bool  // it may end the processes of its targets
}

// always is a time after all others.
const always = math.MaxInt64

// faults lists the faults of the history, once it has passed.
func (r *Reader) faults() []fault {
	r.paired.Do(func() { r.pairs = r.pairsSoFar() })
	return r.pairs
}

// pairsSoFar lists those that have passed.
func (t *trouble) pairsSoFar() (list []fault) {
	for _, f := range checker.Faults(&history.History{Ops: t.nemesis}) {
		one := fault{
			kind: strings.TrimPrefix(f.Name, "start-"), targets: f.Targets,
			op: t.nemesisAt[f.Request], end: math.MaxInt, from: t.nemesis[f.Request].Time, to: always,
			restarts: f.Restarts,
		}
		if f.Undone >= 0 && t.nemesis[f.Undone].Error.IsNil() {
			one.to, one.end = t.nemesis[f.Undone].Time, t.nemesisAt[f.Undone]
		}
		list = append(list, one)
	}
	return list
}

// hits reports whether the fault was in force on the node at that time, or ended
// at most so long before.
func (f *fault) hits(node string, at, after int64) bool {
	return at >= f.from && (f.to == always || at <= f.to+after) && slices.Contains(f.targets, node)
}

// answersChanged returns the fault of the RPC layer that was in force on the node
// some time between two positions: what came from the node meanwhile may be late, or
// lost on its way. O(ops of the nemesis so far).
func (r *Reader) answersChanged(node int32, from, to int) (fault, bool) {
	for _, f := range r.pairsSoFar() {
		if strings.HasPrefix(f.kind, "rpc-") && f.op <= to && f.end >= from && slices.Contains(f.targets, r.nodeName(node)) {
			return f, true
		}
	}
	return fault{}, false
}

// destroyedBefore returns the first fault before that position which took data from
// the node that it had made safe. No undo brings that back, so a node that starts on
// what is left may be behind what it called final, and is not to blame. O(ops of the
// nemesis so far).
func (r *Reader) destroyedBefore(node int32, at int) (fault, bool) {
	for _, f := range r.pairsSoFar() {
		if f.op < at && destroys(f.kind) && slices.Contains(f.targets, r.nodeName(node)) {
			return f, true
		}
	}
	return fault{}, false
}

// destroys reports whether a fault of that kind takes what was made safe, for good:
// those that must be allowed. A lost power takes only what was not, and a disk that
// flips bits of what is read has still what was written.
func destroys(kind string) bool {
	return kind == "disk-torn" || kind == "wipe" || kind == "rollback" || strings.HasPrefix(kind, "file-")
}

// span64 is a stretch of time.
type span64 struct{ from, to int64 }

// calm lists the stretches of phase run in which no fault was in force, each from
// so long after the last one ended.
func (r *Reader) calm(after int64) (list []span64) {
	if r.started < 0 {
		return nil
	}
	end := r.until
	if r.healed >= 0 {
		end = r.healed
	}
	faults := slices.Clone(r.faults())
	slices.SortFunc(faults, func(a, b fault) int { return int(min(1, max(-1, a.from-b.from))) })
	from := r.started + after
	for _, f := range faults {
		if f.from > from {
			list = append(list, span64{from, min(f.from, end)})
		}
		if f.to == always {
			return list
		}
		from = max(from, f.to+after)
	}
	if end > from {
		list = append(list, span64{from, end})
	}
	return list
}

// stirred lists, rising and merged, when a fault was in force or had been for so
// long before.
func (r *Reader) stirred(after int64) (list []span64) {
	faults := slices.Clone(r.faults())
	slices.SortFunc(faults, func(a, b fault) int { return cmp.Compare(a.from, b.from) })
	for _, f := range faults {
		to := int64(always)
		if f.to != always {
			to = f.to + after
		}
		if n := len(list); n > 0 && f.from <= list[n-1].to {
			list[n-1].to = max(list[n-1].to, to)
		} else {
			list = append(list, span64{f.from, to})
		}
	}
	return list
}
