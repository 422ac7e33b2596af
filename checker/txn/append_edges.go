package txn

import (
	"cmp"
	"slices"
	"sort"

	"github.com/jepgo/jepgo/checker/txn/graph"
)

// edgeJudge makes the dependencies of a list-append history from the places that
// keyJudge found.
type edgeJudge struct {
	*keyJudge
	b      *graph.Builder
	writer []int32 // by version: who made it, where it took part
	unread []int32 // who appended and was never read
	last   []int32 // who read the last version
	// seenCommitted: who was seen has committed, as read committed demands. A
	// transaction in doubt that was only seen may have aborted under weaker models,
	// and what it appended unseen may be gone.
	seenCommitted bool
	realtime      bool
	spare         int    // how many more edges there may be from last to unread
	cut           string // where they were more than that
}

// edges adds those of one key: ww from the append that made a version to the one
// that made the next, wr from there to who read it, rw from who read it to who
// made the next. Appends that were never read come after the last version. Nobody
// depends on an append of a transaction that failed, or that nobody made, nor
// through it on what came before.
func (j *edgeJudge) edges(key int32) {
	last := int32(0)
	if int(key) < len(j.lists) {
		last = int32(len(j.lists[key]))
	}
	j.writer = j.writer[:0]
	for range last + 2 {
		j.writer = append(j.writer, nobody)
	}
	j.unread, j.last = j.unread[:0], j.last[:0]
	ops := j.ops[j.starts[key]:j.starts[key+1]]
	for _, op := range ops {
		if !j.part[op.txn] || j.txns.mops[op.mop].isRead() {
			continue
		}
		if at := j.places[op.mop]; at > 0 {
			j.writer[at] = op.txn
		} else if j.txns.status[op.txn] == inDoubt && !j.seenCommitted {
			continue
		} else if n := len(j.unread); n == 0 || j.unread[n-1] != op.txn {
			j.unread = append(j.unread, op.txn)
		}
	}
	for i, op := range ops {
		if !j.part[op.txn] {
			continue
		}
		at := j.places[op.mop]
		if !j.txns.mops[op.mop].isRead() {
			if at > 1 {
				j.add(j.writer[at-1], op.txn, graph.WW)
			}
			continue
		}
		switch {
		case at == notKnown || i > 0 && ops[i-1].txn == op.txn && j.places[ops[i-1].mop] == at && j.txns.mops[ops[i-1].mop].isRead():
			continue // the same as before
		case at <= belowWriter:
			if w := j.txns.owner(belowWriter - at); j.part[w] {
				j.add(w, op.txn, graph.WR)
			}
			continue
		case at > 0:
			j.add(j.writer[at], op.txn, graph.WR)
		}
		if at < last {
			j.add(op.txn, j.writer[at+1], graph.RW)
		} else if n := len(j.last); n == 0 || j.last[n-1] != op.txn {
			j.last = append(j.last, op.txn)
		}
	}
	for _, u := range j.unread {
		j.add(j.writer[last], u, graph.WW)
	}
	j.unreadEdges(key)
}

// unreadEdges adds rw edges from everybody who read the last version to everybody
// whose append was never read. Only where a store keeps losing what is appended, or
// a key is read long before anybody appends, are they too many. Then those are left
// out that real time makes redundant: who completed before the other was invoked
// comes before it anyway. That keeps every cycle, though it may be told of as one
// that needs real time. If it does not help, some edges are left out, and cut says so.
func (j *edgeJudge) unreadEdges(key int32) {
	unread, all := j.unread, len(j.last)*len(j.unread) <= j.spare
	if !all && j.realtime {
		slices.SortStableFunc(unread, func(a, b int32) int { return cmp.Compare(j.txns.call[a], j.txns.call[b]) })
	}
	for _, r := range j.last {
		n := len(unread)
		if !all && j.realtime && j.txns.status[r] == committed {
			n = sort.Search(n, func(i int) bool { return j.txns.call[unread[i]] > j.txns.ret[r] })
		}
		if n > j.spare {
			n = j.spare
			if j.cut == "" {
				j.cut = "too many appends to key " + j.name(key) + " were never read to relate them all to its reads"
			}
		}
		j.spare -= n
		for _, u := range unread[:n] {
			j.add(r, u, graph.RW)
		}
	}
}

func (j *edgeJudge) add(from, to int32, rel graph.Rel) {
	if from != nobody && to != nobody {
		j.b.Add(uint32(from), uint32(to), rel)
	}
}

// why says why one transaction comes before another, and who else shows it.
func (j *keyJudge) why(rel graph.Rel, from, to int32, fromName, toName string) (reason, bool) {
	first := int32(j.txns.first(to))
	for i, m := range j.txns.of(to) {
		at := j.places[first+int32(i)]
		switch {
		case rel == graph.WR && m.isRead():
			if code, ok := j.appendAt(from, m.of(), at); ok {
				return reason{text: toName + " observed " + fromName + "'s append of " + j.elem(code) + " to key " + j.name(m.of())}, true
			}
		case rel == graph.WW && !m.isRead() && at != 1:
			if at == 0 {
				at = j.lastOf(m.of()) + 1
			}
			if code, ok := j.appendAt(from, m.of(), at-1); ok && at > 1 {
				return reason{text: toName + " appended " + j.elem(m.val) + " after " + fromName + " had appended " + j.elem(code) + " to key " + j.name(m.of()),
					shownBy: j.shower(m.of(), at)}, true
			}
		case rel == graph.RW && !m.isRead():
			if at == 0 {
				at = j.lastOf(m.of()) + 1
			}
			if j.readAt(from, m.of(), at-1) {
				return reason{text: fromName + " did not observe " + toName + "'s append of " + j.elem(m.val) + " to key " + j.name(m.of()),
					shownBy: j.shower(m.of(), at)}, true
			}
		}
	}
	return reason{}, false
}

// appendAt returns what a transaction appended to a key to make that version, or
// by that micro-op.
func (j *keyJudge) appendAt(txn, key, place int32) (code int32, ok bool) {
	first := int32(j.txns.first(txn))
	for i, m := range j.txns.of(txn) {
		mop := first + int32(i)
		if !m.isRead() && m.of() == key && (place > 0 && j.places[mop] == place || place == belowWriter-mop) {
			return m.val, true
		}
	}
	return 0, false
}

// readAt reports whether a transaction read that version of the key.
func (j *keyJudge) readAt(txn, key, place int32) bool {
	first := int32(j.txns.first(txn))
	for i, m := range j.txns.of(txn) {
		if m.isRead() && m.of() == key && j.places[first+int32(i)] == place {
			return true
		}
	}
	return false
}

// shower returns a transaction that read the version, or the last one: it shows
// the order of the appends up to there.
func (j *keyJudge) shower(key, place int32) []int32 {
	place = min(place, j.lastOf(key))
	if place == 0 {
		return nil
	}
	longest, length := nobody, int32(0)
	for _, op := range j.ops[j.starts[key]:j.starts[key+1]] {
		m := j.txns.mops[op.mop]
		if !m.isRead() || j.txns.status[op.txn] != committed {
			continue
		}
		if j.places[op.mop] >= place {
			return []int32{op.txn}
		}
		if m.val > length {
			longest, length = op.txn, m.val
		}
	}
	// The list ends with an element that it already had.
	return []int32{longest}
}

// lastOf is the number of a key's last version that was read.
func (j *keyJudge) lastOf(key int32) int32 {
	if int(key) < len(j.lists) {
		return int32(len(j.lists[key]))
	}
	return 0
}

func (j *keyJudge) elem(code int32) string { return j.txns.vals.value(code).String() }
func (j *keyJudge) name(key int32) string  { return j.txns.keys.value(key).String() }
