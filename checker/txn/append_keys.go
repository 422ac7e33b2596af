package txn

import "slices"

// keyed is a micro-op in the list of those of its key, and its transaction.
type keyed struct{ txn, mop int32 }

// keyJudge looks at the transactions of a list-append history one key after the
// other, in the order of the keys' numbers.
type keyJudge struct {
	*listAppend
	part []bool // transactions that took part: not failed, nor in doubt and unseen
	// places holds, for each micro-op of a judged key, the version of its key: how
	// many appends had made the list that was read, or that the append made; 0 for
	// an append that was never read. A read of no version has notKnown, or a number
	// from belowWriter on where it is known who wrote the last element.
	places []int32
	starts []uint32 // micro-ops of key k: ops[starts[k]:starts[k+1]]
	ops    []keyed
	cases  cases
	twice  *pointCase // an element that was appended twice

	// Of the key at hand:
	key      int32
	keyOps   []keyed
	list     []int32
	apps     []appended // every element appended or read
	slots    []int32    // hash table of apps: place and 1
	shift    uint
	versions []int32 // apps in the order in which the list took them
	repeats  bool    // list holds an element twice
	updater  []int32 // by length of the list read first: who then appended, and 1
	forked   map[oddRead]int32
}

// belowWriter-m is the place of a read whose last element was appended by micro-op
// m and is in no version.
const belowWriter int32 = -2

// appended is an element of the key at hand.
type appended struct {
	code    int32
	txn     int32 // nobody where nobody appended it
	mop     int32
	at      int32 // its first place in list, from 1; 0 where it is not there
	version int32
	inFork  int32 // mop of the last odd read that it was seen in
	inner   bool  // the transaction appends to the key again later
}

const nobody int32 = -1

// byKey lists the micro-ops of each key, those of a transaction together and in order.
func (c *listAppend) byKey() (starts []uint32, ops []keyed) {
	t := &c.txns
	starts = make([]uint32, t.keys.len()+1)
	for i := range int32(t.len()) {
		if t.status[i] == dropped {
			continue
		}
		for _, m := range t.of(i) {
			starts[m.of()]++
		}
	}
	sum := uint32(0)
	for k, n := range starts {
		starts[k] = sum
		sum += n
	}
	ops = make([]keyed, sum)
	for i := range int32(t.len()) {
		if t.status[i] == dropped {
			continue
		}
		mop := int32(t.first(i))
		for _, m := range t.of(i) {
			ops[starts[m.of()]] = keyed{i, mop}
			starts[m.of()]++
			mop++
		}
	}
	copy(starts[1:], starts)
	starts[0] = 0
	return starts, ops
}

// judge looks at one key. It is false where an element was appended twice.
func (j *keyJudge) judge(key int32) bool {
	j.key, j.list = key, nil
	if int(key) < len(j.lists) {
		j.list = j.lists[key]
	}
	j.keyOps = j.ops[j.starts[key]:j.starts[key+1]]
	if !j.collect() {
		return false
	}
	if len(j.forks[key]) > 0 {
		j.settleList()
	}
	j.order()
	for ops := j.keyOps; len(ops) > 0; {
		n := 1
		for n < len(ops) && ops[n].txn == ops[0].txn {
			n++
		}
		if n > 1 && j.txns.status[ops[0].txn] != aborted {
			j.appends(ops[:n])
		}
		if j.txns.status[ops[0].txn] == committed {
			j.transaction(ops[:n])
		}
		ops = ops[n:]
	}
	j.whole()
	j.place()
	return true
}

// collect fills apps with the key's appends.
func (j *keyJudge) collect() bool {
	size := len(j.keyOps) + len(j.list)
	for _, fork := range j.forks[j.key] {
		size += len(fork)
	}
	j.shift = 30
	for 1<<(32-j.shift) < 2*size {
		j.shift--
	}
	j.slots = slices.Grow(j.slots[:0], 1<<(32-j.shift))[:1<<(32-j.shift)]
	clear(j.slots)
	j.apps = j.apps[:0]
	last := -1 // of the same transaction
	for i, op := range j.keyOps {
		m := j.txns.mops[op.mop]
		if i > 0 && j.keyOps[i-1].txn != op.txn {
			last = -1
		}
		if m.isRead() {
			continue
		}
		at, isNew := j.element(m.val)
		a := &j.apps[at]
		switch {
		case isNew || j.txns.status[a.txn] == aborted && j.txns.status[op.txn] != aborted:
			a.txn, a.mop, a.inner = op.txn, op.mop, false
		case j.txns.status[op.txn] == aborted:
			continue
		default:
			j.twice = &pointCase{key: j.key, code: m.val, a: a.txn, b: op.txn}
			return false
		}
		if last >= 0 {
			j.apps[last].inner = true
		}
		last = at
	}
	return true
}

// element returns the place in apps of the element of that code.
func (j *keyJudge) element(code int32) (at int, isNew bool) {
	mask := uint32(len(j.slots) - 1)
	for h := uint32(code) * 0x9e3779b1 >> j.shift; ; h++ {
		slot := &j.slots[h&mask]
		if *slot == 0 {
			j.apps = append(j.apps, appended{code: code, txn: nobody, mop: -1, inFork: -1})
			*slot = int32(len(j.apps))
			return len(j.apps) - 1, true
		}
		if j.apps[*slot-1].code == code {
			return int(*slot - 1), false
		}
	}
}

// saw returns the list that a read saw; known is false where that is not known.
func (j *keyJudge) saw(val int32) (list []int32, known bool) {
	if val >= 0 {
		return j.list[:val], true
	}
	if val == notKnown || j.odd[oddFirst-val].fork < 0 {
		return nil, false
	}
	o := j.odd[oddFirst-val]
	return j.forks[j.key][o.fork][:o.n], true
}

// settleList makes list the longest one that was read, the first of them, and what
// list was a fork.
func (j *keyJudge) settleList() {
	forks := j.forks[j.key]
	best := -1
	longest := len(j.list)
	for i, fork := range forks {
		if len(fork) > longest {
			best, longest = i, len(fork)
		}
	}
	if best < 0 {
		return
	}
	list := forks[best]
	for _, op := range j.keyOps {
		m := &j.txns.mops[op.mop]
		if !m.isRead() {
			continue
		}
		saw, known := j.saw(m.val)
		if !known {
			continue
		}
		if len(saw) <= len(list) && slices.Equal(saw, list[:len(saw)]) {
			m.val = int32(len(saw))
		} else if m.val >= 0 {
			m.val = j.oddRead(int32(best), m.val)
		}
	}
	forks[best] = j.list
	j.list, j.lists[j.key] = list, list
}

// order numbers the versions of the list.
func (j *keyJudge) order() {
	j.versions, j.repeats = j.versions[:0], false
	for i, code := range j.list {
		at, _ := j.element(code)
		a := &j.apps[at]
		if a.version != 0 {
			j.repeats = true
			continue
		}
		j.versions = append(j.versions, int32(at))
		a.at, a.version = int32(i+1), int32(len(j.versions))
		j.seen(a)
	}
	j.updater = slices.Grow(j.updater[:0], len(j.list)+1)[:len(j.list)+1]
	clear(j.updater)
	j.forked = nil
}

// seen notes that a committed transaction read an element: who appended it took part.
func (j *keyJudge) seen(a *appended) {
	if a.txn != nobody && j.txns.status[a.txn] == inDoubt {
		j.part[a.txn] = true
	}
}

// place fills in places.
func (j *keyJudge) place() {
	for _, op := range j.keyOps {
		m := j.txns.mops[op.mop]
		place := &j.places[op.mop]
		switch {
		case !m.isRead():
			if at, _ := j.element(m.val); j.apps[at].mop == op.mop {
				*place = j.apps[at].version
			}
		case m.val == 0 || m.val == notKnown || m.val > 0 && !j.repeats:
			*place = m.val
		default:
			*place = j.placeOf(m.val)
		}
	}
	if j.repeats {
		distinct := make([]int32, len(j.versions))
		for i, at := range j.versions {
			distinct[i] = j.apps[at].code
		}
		j.lists[j.key] = distinct
	}
}

// placeOf is the place of a read of a list by its last element.
func (j *keyJudge) placeOf(val int32) int32 {
	var last int32
	if list, known := j.saw(val); known {
		last = list[len(list)-1]
	} else {
		last = j.odd[oddFirst-val].n
	}
	at, _ := j.element(last)
	switch a := &j.apps[at]; {
	case a.version > 0:
		return a.version
	case a.mop >= 0:
		return belowWriter - a.mop
	}
	return notKnown
}
