package txn

import "fmt"

// tally counts anomalies by name and keeps a few of each to be shown.
type tally struct {
	count map[string]int
	kept  []shown
}

// add counts an anomaly; in is asked for the words when it is one of those to show.
func (s *tally) add(name string, in func() shown) {
	if s.count == nil {
		s.count = make(map[string]int)
	}
	s.count[name]++
	if s.count[name] <= maxShown {
		one := in()
		one.name = name
		s.kept = append(s.kept, one)
	}
}

// points finds what is wrong with single reads: internal, future-read, G1a and
// G1b; and lost-update.
func (r *registers) points() tally {
	var s tally
	seen := newPerKey(r.keys.len()) // what the transaction must read next
	wrote := make([]bool, len(r.key))
	for i := range int32(r.len()) {
		if r.status[i] != committed {
			continue
		}
		seen.begin()
		for _, m := range r.of(i) {
			key, v := m.of(), m.val
			before := seen.get(key)
			seen.set(key, v)
			if !m.isRead() {
				wrote[v] = true
				continue
			}
			if before == v {
				continue
			}
			if before != noVersion {
				s.add("internal", func() shown { return r.internal(i, before, v) })
			}
			w := r.writer[v]
			switch {
			case w < 0:
			case w == i:
				if !wrote[v] {
					s.add("future-read", func() shown { return r.futureRead(i, v) })
				}
			case r.status[w] == aborted:
				s.add("G1a", func() shown { return r.abortedRead(i, w, v) })
			case r.overdone[v]:
				s.add("G1b", func() shown { return r.intermediateRead(i, w, v) })
			}
		}
	}
	r.lostUpdates(&s)
	return s
}

func (r *registers) internal(i, before, v int32) shown {
	key := r.keyName(r.key[v])
	return shown{
		txns: []int32{i},
		clauses: []string{
			fmt.Sprintf("T1 %s %s of key %s", r.did(i, before), r.name(before), key),
			fmt.Sprintf("T1 then read %s there", r.name(v)),
		},
		end: "A transaction must see what it did, and nothing new.",
	}
}

func (r *registers) futureRead(i, v int32) shown {
	return shown{
		txns:    []int32{i},
		clauses: []string{fmt.Sprintf("T1 read %s of key %s, and only then wrote it", r.name(v), r.keyName(r.key[v]))},
		end:     "A transaction must not see what it has yet to do.",
	}
}

func (r *registers) abortedRead(i, w, v int32) shown {
	return shown{
		txns: []int32{i, w},
		clauses: []string{
			fmt.Sprintf("T2 wrote %s to key %s and failed", r.name(v), r.keyName(r.key[v])),
			fmt.Sprintf("T1 read %s of key %s", r.name(v), r.keyName(r.key[v])),
		},
		end: "What a transaction did that failed must not be seen.",
	}
}

func (r *registers) intermediateRead(i, w, v int32) shown {
	last := v
	for _, m := range r.of(w) {
		if !m.isRead() && m.of() == r.key[v] {
			last = m.val
		}
	}
	return shown{
		txns: []int32{i, w},
		clauses: []string{
			fmt.Sprintf("T2 wrote %s to key %s, and %s after that", r.name(v), r.keyName(r.key[v]), r.name(last)),
			fmt.Sprintf("T1 read %s of key %s", r.name(v), r.keyName(r.key[v])),
		},
		end: "A state in the middle of a transaction must not be seen by another one.",
	}
}

// lostUpdates finds versions that several transactions read before they wrote the
// key.
func (r *registers) lostUpdates(s *tally) {
	updater := make([]int32, len(r.key)) // of each version: the first such transaction, and 1
	for _, t := range r.touched {
		if t.read == noVersion || t.wrote == noVersion || t.read == t.wrote || r.writer[t.read] == manyTxns {
			continue
		}
		other := updater[t.read] - 1
		if other < 0 {
			updater[t.read] = t.txn + 1
			continue
		}
		s.add("lost-update", func() shown {
			key := r.keyName(r.key[t.read])
			return shown{
				txns: []int32{other, t.txn},
				clauses: []string{
					fmt.Sprintf("T1 read %s of key %s and then wrote %s", r.name(t.read), key, r.name(r.lastWord(other, r.key[t.read]))),
					fmt.Sprintf("T2 read %s of key %s and then wrote %s", r.name(t.read), key, r.name(t.wrote)),
				},
				end: "One of them did not take into account what the other one did.",
			}
		})
	}
}

// lastWord is the last version of a key that a transaction wrote, or noVersion.
func (r *registers) lastWord(i, key int32) int32 {
	last := noVersion
	for _, m := range r.of(i) {
		if !m.isRead() && m.of() == key {
			last = m.val
		}
	}
	return last
}
