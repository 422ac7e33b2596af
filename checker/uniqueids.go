package checker

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jepgo/jepgo/history"
)

// UniqueIDs returns the checker unique-ids: no two ok :generate operations may
// return the same value. As Jepsen's, except that a history in which nothing was
// generated is Unknown. O(n) time; some 25 bytes for each integer id, 150 for
// each other.
func UniqueIDs() Stream { return &uniqueIDs{} }

type uniqueIDs struct {
	in       interner
	first    []int           // id → position of its first completion
	more     map[int32][]int // id → positions of the next ones; the first few
	times    map[int32]int   // id → how often, if more than once
	attempts int
	acks     int
	low      int64
	high     int64
	ints     int
}

func (*uniqueIDs) Name() string { return "unique-ids" }

func (u *uniqueIDs) Take(e *history.Event) {
	if e.F != "generate" || !ofClient(e) {
		return
	}
	switch e.Type {
	case history.Invoke:
		u.attempts++
	case history.OK:
		u.acks++
		if n, ok := e.Value.Int(); ok {
			if u.ints == 0 {
				u.low, u.high = n, n
			}
			u.ints++
			u.low, u.high = min(u.low, n), max(u.high, n)
		}
		id := u.in.number(e.Value)
		if int(id) == len(u.first) {
			u.first = append(u.first, e.Position)
			return
		}
		if u.more == nil {
			u.more = make(map[int32][]int)
			u.times = make(map[int32]int)
		}
		u.times[id]++
		if at := u.more[id]; len(at) < enough {
			u.more[id] = append(at, e.Position)
		}
	}
}

func (u *uniqueIDs) Finish(ctx context.Context, src history.Source) Result {
	r := Result{Checker: u.Name(), Facts: u.acks}
	if ctx.Err() != nil {
		return Ended(ctx, u.Name())
	}
	worst := make([]int32, 0, len(u.times))
	for id := range u.times {
		worst = append(worst, id)
	}
	slices.SortFunc(worst, func(a, b int32) int {
		return cmp.Or(cmp.Compare(u.times[b], u.times[a]), cmp.Compare(a, b))
	})
	var found findings
	var listed []string
	for i, id := range worst {
		if i < 48 { // as many as Jepsen lists
			listed = append(listed, fmt.Sprintf("%s %d", u.in.name(id), u.times[id]+1))
		}
		if found.room("duplicated") {
			found.explain("duplicated", append([]int{u.first[id]}, u.more[id]...), "%s was generated %d times.", u.in.name(id), u.times[id]+1)
		}
	}
	r.Stats = []Stat{
		{"attempts", fmt.Sprint(max(u.attempts, u.acks))}, {"acknowledged", fmt.Sprint(u.acks)},
		{"duplicated", fmt.Sprintf("%d: {%s}", len(worst), strings.Join(listed, ", "))},
	}
	if u.ints > 0 {
		r.Stats = append(r.Stats, Stat{"range", fmt.Sprintf("[%d %d]", u.low, u.high)})
	}
	r.Anomalies = found.anomalies(src)
	switch {
	case len(r.Anomalies) > 0:
		r.Verdict = Invalid
		r.Reason = fmt.Sprintf("of %s, %d not unique", plural(u.acks, "id"), len(worst)) + such(r.Anomalies)
	case u.acks == 0:
		r.Reason = "nothing was generated"
	default:
		r.Verdict = Valid
		r.Reason = fmt.Sprintf("%s, all different", plural(u.acks, "id"))
	}
	return r
}
