package weak

import "fmt"

// verify replays a line of transactions against the history: each stands in it once,
// or, where it writes and does not happen at once, twice, for its beginning and its
// end. It shares no code with the search that finds such lines.
func (h *History) verify(a Ask, order []int32) error {
	n := h.Len()
	begin, end := make([]int32, n), make([]int32, n)
	for t := range n {
		begin[t], end[t] = -1, -1
	}
	for at, t := range order {
		switch {
		case begin[t] < 0:
			begin[t] = int32(at)
		case end[t] < 0 && a.Level != Serializable:
			end[t] = int32(at)
		default:
			return fmt.Errorf("transaction %d is in it too often", t)
		}
	}
	type holder struct{ txn, since int32 } // the last to write a key, and its place
	type chain struct{ last, txn int32 }
	holds := make(map[int32]holder)
	claimed := make(map[int32]int32) // who began and will write a key
	sessions := make(map[int32]chain)
	for at, t := range order {
		i := int32(at)
		if begin[t] == i {
			if s := h.session[t]; s >= 0 && (a.Sessions || a.Realtime) {
				c, has := sessions[s]
				if has && (c.txn >= t || c.last >= i) {
					return fmt.Errorf("transaction %d comes before %d of its session", t, c.txn)
				}
				last := i
				if end[t] >= 0 {
					last = end[t]
				}
				sessions[s] = chain{last, t}
			}
			for _, rd := range h.readsOf(t) {
				if rd.from >= 0 && !h.wrote(rd.from, rd.key) {
					continue
				}
				held, has := holds[rd.key]
				if !has {
					held.txn = Initial
				}
				if held.txn != rd.from {
					return fmt.Errorf("transaction %d reads key %d from %d, but would see %d's write", t, rd.key, rd.from, held.txn)
				}
			}
		}
		if len(h.writesOf(t)) == 0 || end[t] >= 0 && end[t] != i {
			if a.Level == SnapshotIsolation {
				for _, key := range h.writesOf(t) {
					if other, taken := claimed[key]; taken {
						return fmt.Errorf("transactions %d and %d both write key %d at once", other, t, key)
					}
					claimed[key] = t
				}
			}
			continue
		}
		if end[t] < 0 && a.Level != Serializable {
			return fmt.Errorf("transaction %d has no end", t)
		}
		for _, key := range h.writesOf(t) {
			holds[key] = holder{t, i}
			delete(claimed, key)
		}
	}
	for t := range n {
		if begin[t] < 0 {
			return fmt.Errorf("transaction %d is missing", t)
		}
	}
	if a.Realtime {
		return h.verifyTimes(order, begin, end)
	}
	return nil
}

// verifyTimes checks that nobody ends before another began that had ended by then.
func (h *History) verifyTimes(order, begin, end []int32) error {
	// From the last one on: the earliest end in time of all that end later in the
	// line.
	earliest := Never
	for i := len(order) - 1; i >= 0; i-- {
		t := order[i]
		if begin[t] == int32(i) && h.call[t] >= 0 && earliest < h.call[t] {
			return fmt.Errorf("transaction %d began at %d, after one that ends later in the line had ended", t, h.call[t])
		}
		if end[t] == int32(i) || end[t] < 0 {
			earliest = min(earliest, h.ret[t])
		}
	}
	return nil
}
