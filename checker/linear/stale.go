package linear

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/jepgo/jepgo/history"
)

// staleRead is a read of a value although a newer one was certainly there.
type staleRead struct {
	begin uint32 // of the read
	since uint32 // where the first write ended that is certainly newer
}

// timedReads bounds for how many stale reads the times are looked up.
const timedReads = 1000

// staleness says how stale the reads of a key were; "" where none was, or where
// values are set twice so that nobody can tell, or there is no memory for it.
//
// A read of v is stale when it began after a write had ended that began after the
// one of v had ended. How stale is the time from that end to its begin: the
// register would have to be read that much earlier (a lower bound of what Golab,
// Li and Shah 2011 call Δ). O(n log n).
func (c *columns) staleness(src history.Source, k *key, found outcome) string {
	if found.numbers != nil {
		return ""
	}
	r, err := c.decode(k)
	if err != nil {
		return ""
	}
	clusters, ok := unique(r.calls, len(r.values), r.initial)
	if !ok {
		return ""
	}
	var writes []*call
	for i := range r.calls {
		if r.calls[i].sets() {
			writes = append(writes, &r.calls[i])
		}
	}
	// earliest[i] is the earliest end of the writes from i on.
	earliest := make([]uint32, len(writes)+1)
	earliest[len(writes)] = never
	for i := len(writes) - 1; i >= 0; i-- {
		earliest[i] = min(earliest[i+1], writes[i].end)
	}
	var stale []staleRead
	for i := range r.calls {
		now := &r.calls[i]
		if now.action != read || !clusters[now.value].set {
			continue
		}
		// Positions of clusters are one more than those of calls.
		newer, _ := slices.BinarySearchFunc(writes, clusters[now.value].setEnd, func(w *call, end uint32) int { return cmp.Compare(w.begin+1, end) })
		if since := earliest[newer]; since < now.begin {
			stale = append(stale, staleRead{now.begin, since})
		}
	}
	if len(stale) == 0 {
		return ""
	}
	text := fmt.Sprint(len(stale))
	slices.SortStableFunc(stale, func(a, b staleRead) int { return cmp.Compare(b.begin-b.since, a.begin-a.since) })
	var positions []int
	for _, s := range stale[:min(len(stale), timedReads)] {
		positions = append(positions, int(s.begin), int(s.since))
	}
	sorted := slices.Compact(slices.Sorted(slices.Values(positions)))
	ops, err := src.Ops(sorted)
	if err != nil {
		return text
	}
	worst := int64(-1)
	for i := 0; i < len(positions); i += 2 {
		read, _ := slices.BinarySearch(sorted, positions[i])
		write, _ := slices.BinarySearch(sorted, positions[i+1])
		if from, to := ops[write].Time, ops[read].Time; from != history.Absent && to != history.Absent {
			worst = max(worst, to-from)
		}
	}
	if worst >= 0 {
		text += fmt.Sprintf(", the worst began %v after a newer value was there", time.Duration(worst))
	}
	return text
}
