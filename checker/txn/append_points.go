package txn

import "slices"

// transaction looks at what one committed transaction did to the key: internal,
// future-read, G1b, lost-update, and what only an odd read shows.
func (j *keyJudge) transaction(ops []keyed) {
	mops := j.txns.mops
	txn := ops[0].txn
	var base []int32 // the list read last
	known, read := false, 0
	internal, future := false, false
	longest := int32(0) // list read so far that is the beginning of j.list
	for i, op := range ops {
		m := mops[op.mop]
		if !m.isRead() {
			if at, _ := j.element(m.val); !future && j.apps[at].at > 0 && j.apps[at].at <= longest {
				future = true
				if c := j.cases.add("future-read"); c != nil {
					*c = pointCase{key: j.key, code: m.val, a: txn}
				}
			}
			continue
		}
		list, ok := j.saw(m.val)
		if !ok {
			known, read = false, i+1
			continue
		}
		own := ops[read:i] // the appends since that read
		if !internal && !j.follows(list, base, known, own) {
			internal = true
			if c := j.cases.add("internal"); c != nil {
				*c = pointCase{key: j.key, a: txn}
			}
		}
		base, known, read = list, true, i+1
		if len(list) == 0 {
			continue
		}
		last, _ := j.element(list[len(list)-1])
		if a := j.apps[last]; a.inner && a.txn != txn {
			if c := j.cases.add("G1b"); c != nil {
				*c = pointCase{key: j.key, code: a.code, a: txn, b: a.txn}
			}
		}
		if m.val > 0 {
			longest = max(longest, m.val)
			continue
		}
		if code, found := j.oddList(op, list); found && !future {
			future = true
			if c := j.cases.add("future-read"); c != nil {
				*c = pointCase{key: j.key, code: code, a: txn}
			}
		}
	}
	if first := mops[ops[0].mop]; first.isRead() && first.val != notKnown {
		if slices.ContainsFunc(ops, func(op keyed) bool { return !mops[op.mop].isRead() }) {
			j.update(txn, first.val)
		}
	}
}

// appends looks at the appends of one transaction to the key, which the key's list
// must have in the order in which they were made, none of them left out.
func (j *keyJudge) appends(ops []keyed) {
	before := (*appended)(nil)
	for _, op := range ops {
		m := j.txns.mops[op.mop]
		if m.isRead() {
			continue
		}
		at, _ := j.element(m.val)
		a := &j.apps[at]
		if before != nil && a.at > 0 && (before.at == 0 || before.at > a.at) {
			if c := j.cases.add("incompatible-order"); c != nil {
				*c = pointCase{key: j.key, code: before.code, next: a.code, a: op.txn, b: j.reader(int32(len(j.list))), fewer: true}
			}
			return
		}
		before = a
	}
}

// follows reports whether a list can be what a transaction reads after it read
// base, where that is known, and then appended some elements itself.
func (j *keyJudge) follows(list, base []int32, known bool, own []keyed) bool {
	before := len(list) - len(own)
	if before < 0 {
		return false
	}
	for i, op := range own {
		if list[before+i] != j.txns.mops[op.mop].val {
			return false
		}
	}
	if !known {
		return true
	}
	if before != len(base) {
		return false
	}
	// Lists are often the beginning of the same one.
	return before == 0 || &base[0] == &list[0] || slices.Equal(base, list[:before])
}

// update notes that a transaction appended to the key after it first read the list
// that val stands for: two of the same one lose an update.
func (j *keyJudge) update(txn, val int32) {
	other, twice := int32(0), false
	if val >= 0 {
		other = j.updater[val] - 1
		twice = other >= 0
		if !twice {
			j.updater[val] = txn + 1
		}
	} else {
		o := j.odd[oddFirst-val]
		if other, twice = j.forked[o]; !twice {
			if j.forked == nil {
				j.forked = make(map[oddRead]int32)
			}
			j.forked[o] = txn
		}
	}
	if twice {
		if c := j.cases.add("lost-update"); c != nil {
			*c = pointCase{key: j.key, a: other, b: txn}
		}
	}
}

// oddList looks at the elements of a list that is no beginning of the longest one.
// It returns one that the transaction appends later.
func (j *keyJudge) oddList(op keyed, list []int32) (code int32, future bool) {
	if c := j.cases.add("incompatible-order"); c != nil {
		*c = pointCase{key: j.key, a: op.txn, b: j.reader(int32(len(j.list)))}
	}
	for _, elem := range list {
		at, _ := j.element(elem)
		a := &j.apps[at]
		j.seen(a)
		switch {
		case a.inFork == op.mop:
			if c := j.cases.add("duplicate-elements"); c != nil {
				*c = pointCase{key: j.key, code: elem, a: op.txn}
			}
		case a.at > 0: // it is told by whole if something is wrong with it
		case a.txn == nobody:
			if c := j.cases.add(GarbageRead); c != nil {
				*c = pointCase{key: j.key, code: elem, a: op.txn}
			}
		case j.txns.status[a.txn] == aborted:
			if c := j.cases.add("G1a"); c != nil {
				*c = pointCase{key: j.key, code: elem, a: op.txn, b: a.txn}
			}
		}
		a.inFork = op.mop
		if a.txn == op.txn && a.mop > op.mop {
			code, future = elem, true
		}
	}
	return code, future
}

// whole looks at the key's list: duplicate-elements, G1a, dirty-update, garbage.
func (j *keyJudge) whole() {
	if j.repeats {
		j.duplicates()
	}
	// An append that failed, and how many elements of unknown fate follow it.
	var failed *appended
	beginning := 0 // elements at the beginning that nobody appended
	for i, at := range j.versions {
		a := &j.apps[at]
		switch {
		case a.txn == nobody:
			if beginning == i {
				beginning++
				continue
			}
			if c := j.cases.add(GarbageRead); c != nil {
				*c = pointCase{key: j.key, code: a.code, a: j.reader(a.at)}
			}
		case j.txns.status[a.txn] == aborted:
			if c := j.cases.add("G1a"); c != nil {
				*c = pointCase{key: j.key, code: a.code, a: j.reader(a.at), b: a.txn}
			}
			if failed == nil {
				failed = a
			}
		case j.txns.status[a.txn] == committed:
			if failed != nil {
				if c := j.cases.add("dirty-update"); c != nil {
					*c = pointCase{key: j.key, code: failed.code, next: a.code,
						a: failed.txn, b: a.txn, c: j.reader(a.at)}
				}
			}
			failed = nil
		}
	}
	if beginning == 0 {
		return
	}
	for _, op := range j.keyOps {
		m := j.txns.mops[op.mop]
		if m.isRead() && m.val >= 0 && int(m.val) < beginning && j.txns.status[op.txn] == committed {
			code := j.apps[j.versions[beginning-1]].code
			if c := j.cases.add(GarbageRead); c != nil {
				*c = pointCase{key: j.key, code: code, a: j.reader(int32(beginning)), b: op.txn, fewer: true}
			}
			return
		}
	}
	j.cases.beginnings++
	if j.cases.beginnings == 1 {
		j.cases.beginningOf = j.key
	}
}

// reader returns the first committed transaction that read at least the first n
// elements of the list.
func (j *keyJudge) reader(n int32) int32 {
	for _, op := range j.keyOps {
		m := j.txns.mops[op.mop]
		if m.isRead() && m.val >= n && j.txns.status[op.txn] == committed {
			return op.txn
		}
	}
	return nobody
}

// duplicates tells of the first element that is in the list a second time.
func (j *keyJudge) duplicates() {
	for i, code := range j.list {
		if at, _ := j.element(code); int(j.apps[at].at) != i+1 {
			if c := j.cases.add("duplicate-elements"); c != nil {
				*c = pointCase{key: j.key, code: code, a: j.reader(int32(i + 1))}
			}
			return
		}
	}
}
