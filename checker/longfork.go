package checker

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/jepgo/jepgo/history"
)

// LongForkOptions say how the keys are grouped.
type LongForkOptions struct {
	// GroupSize is how many keys every read looks at; 0 means 2.
	GroupSize int
}

// LongFork returns the checker long-fork, for an anomaly that parallel snapshot
// isolation allows and snapshot isolation does not: two reads that see two writes
// in opposite order. Each key is written at most once, by a transaction
// [[:w k v]]; reads are transactions [[:r k v] …] over the keys of a group. Two
// reads of one group are a fork if each sees a key that the other finds absent.
//
// The premises are checked: a key that is written twice, a read of another number
// of keys than the group has, or two values of one key make the answer Unknown
// (Jepsen throws on the latter two), unless there is a fork in a group of which
// all premises hold. Processes do not matter, nor does the order.
//
// O(n·g) time for groups of g keys, as the reads of a group that are not in
// conflict form a chain of at most g+1 different ones (Jepsen compares all pairs);
// O(keys·g) memory.
func LongFork(o LongForkOptions) Stream {
	size := o.GroupSize
	if size <= 0 {
		size = 2
	}
	return &longFork{size: size, byKeys: make(map[string]int32)}
}

type longFork struct {
	size   int
	keys   interner
	values interner
	writes []writeCount // by key
	groups []forkGroup
	byKeys map[string]int32
	home   []int32 // key → its group, or none

	calls              opened[forkCall]
	reads, early, late int
	forks              []fork
	forked             int
	wrongSize          int
	wrongSizeAt        int
	mixed              int // transactions that neither only read nor write one key
	odd, oddAt         int // ok operations that are no transactions

	row  []cell
	seen []uint64
	name []byte
}

// writeCount is how often a key is written, and what is read of it.
type writeCount struct {
	calls, oks int32
	callAt     [2]int
	okAt       [2]int
	value      int32 // number of the value, or none
}

// forkCall is an open transaction; writes if it is a write of one key.
type forkCall struct {
	at     int
	writes bool
}

type cell struct{ key, value int32 } // value is none where the key is absent

// forkGroup is a set of keys and the chain of what was seen of it, by how many
// keys were seen.
type forkGroup struct {
	keys    []int32
	chain   []state
	forked  bool
	illegal bool
	badAt   [2]int
	badKey  int32
}

type state struct {
	seen     []uint64 // bits by place in keys; nil where no read saw so many
	call, at int
}

type fork struct {
	group int32
	a, b  state
	only  [2]int32 // a key that a alone sees, one that b alone sees
}

func (*longFork) Name() string { return "long-fork" }

func (l *longFork) Take(e *history.Event) {
	if !ofClient(e) {
		return
	}
	if e.Type == history.Invoke {
		if e.Value.IsSequence() {
			l.calls.begin(e.Process, forkCall{e.Position, l.written(e)})
		}
		return
	}
	call, ok := l.calls.end(e.Process)
	if !ok {
		call.at = nowhere
	}
	if e.Type != history.OK {
		return
	}
	if !e.Value.IsSequence() {
		switch e.F {
		case "read", "write", "txn", "":
			if !call.writes { // a write may say nothing more
				if l.odd++; l.odd == 1 {
					l.oddAt = e.Position
				}
			}
		}
		return
	}
	if l.written(e) {
		return
	}
	l.row = l.row[:0]
	for op := range elements(e.Value) {
		f, key, value, ok := microOp(op)
		if !ok || !f.Is("r") && !f.Is("read") {
			l.mixed++
			return
		}
		c := cell{l.keys.number(key), none}
		if !value.IsNil() {
			c.value = l.values.number(value)
		}
		l.row = append(l.row, c)
	}
	if len(l.row) > 0 {
		l.read(call.at, e.Position)
	}
}

// microOp splits [f key] and [f key value].
func microOp(op history.View) (f, key, value history.View, ok bool) {
	n := op.Len()
	if !op.IsSequence() || n < 2 || n > 3 {
		return f, key, value, false
	}
	f = op.First()
	key = f.Next()
	if n == 3 {
		value = key.Next()
	}
	return f, key, value, true
}

// written counts the write of a transaction that is a single one.
func (l *longFork) written(e *history.Event) bool {
	if e.Value.Len() != 1 {
		return false
	}
	f, key, _, ok := microOp(e.Value.First())
	if !ok || !f.Is("w") && !f.Is("write") {
		return false
	}
	w := l.key(l.keys.number(key))
	n, at := &w.calls, &w.callAt
	if e.Type == history.OK {
		n, at = &w.oks, &w.okAt
	}
	if *n < 2 {
		at[*n] = e.Position
	}
	*n++
	return true
}

func (l *longFork) key(id int32) *writeCount {
	for len(l.writes) <= int(id) {
		l.writes = append(l.writes, writeCount{value: none})
		l.home = append(l.home, none)
	}
	return &l.writes[id]
}

func (l *longFork) read(call, at int) {
	l.reads++
	g := l.group()
	if g == none {
		if l.wrongSize++; l.wrongSize == 1 {
			l.wrongSizeAt = at
		}
		return
	}
	group := &l.groups[g]
	count := 0
	clear(l.seen)
	for _, c := range l.row {
		if c.value == none {
			continue
		}
		count++
		place, _ := slices.BinarySearch(group.keys, c.key)
		l.seen[place/64] |= 1 << (place % 64)
		if w := l.key(c.key); w.value == none {
			w.value = c.value
		} else if w.value != c.value && !group.illegal {
			group.illegal, group.badKey, group.badAt = true, c.key, [2]int{call, at}
		}
	}
	switch count {
	case 0:
		l.early++
	case l.size:
		l.late++
	}
	l.compare(g, count, state{l.seen, call, at})
}

// group finds the group of the keys of row, or none if they are not as many
// different ones as a group has.
func (l *longFork) group() int32 {
	if len(l.row) != l.size {
		return none
	}
	slices.SortFunc(l.row, func(a, b cell) int { return int(a.key) - int(b.key) })
	same := func(g int32) bool {
		for i, key := range l.groups[g].keys {
			if l.row[i].key != key {
				return false
			}
		}
		return true
	}
	l.key(l.row[len(l.row)-1].key)
	if g := l.home[l.row[0].key]; g != none && same(g) {
		return g
	}
	l.name = l.name[:0]
	for i, c := range l.row {
		if i > 0 && c.key == l.row[i-1].key {
			return none
		}
		l.name = binary.AppendUvarint(l.name, uint64(c.key))
	}
	if g, ok := l.byKeys[string(l.name)]; ok {
		return g
	}
	g := int32(len(l.groups))
	keys := make([]int32, l.size)
	for i, c := range l.row {
		keys[i] = c.key
		if l.home[c.key] == none {
			l.home[c.key] = g
		}
	}
	l.groups = append(l.groups, forkGroup{keys: keys, chain: make([]state, l.size+1)})
	l.byKeys[string(l.name)] = g
	if l.seen == nil {
		l.seen = make([]uint64, (l.size+63)/64)
	}
	return g
}

// compare puts a read into the chain of its group, or finds a fork.
func (l *longFork) compare(g int32, count int, s state) {
	chain := l.groups[g].chain
	if slices.Equal(chain[count].seen, s.seen) {
		return
	}
	other := chain[count].seen != nil
	rival := chain[count]
	for below := count - 1; !other && below >= 0; below-- {
		if chain[below].seen != nil {
			other, rival = !within(chain[below].seen, s.seen), chain[below]
			break
		}
	}
	for above := count + 1; !other && above < len(chain); above++ {
		if chain[above].seen != nil {
			other, rival = !within(s.seen, chain[above].seen), chain[above]
			break
		}
	}
	s.seen = slices.Clone(s.seen)
	if !other {
		chain[count] = s
		return
	}
	l.forked++
	if !l.groups[g].forked {
		l.groups[g].forked = true
		l.forks = append(l.forks, fork{group: g, a: rival, b: s, only: [2]int32{l.alone(g, rival, s), l.alone(g, s, rival)}})
	}
}

// within reports whether all of a is in b.
func within(a, b []uint64) bool {
	for i := range a {
		if a[i]&^b[i] != 0 {
			return false
		}
	}
	return true
}

// alone returns a key that a sees and b does not.
func (l *longFork) alone(g int32, a, b state) int32 {
	for place, key := range l.groups[g].keys {
		if bit := uint64(1) << (place % 64); a.seen[place/64]&bit != 0 && b.seen[place/64]&bit == 0 {
			return key
		}
	}
	return none
}

func (l *longFork) Finish(ctx context.Context, src history.Source) Result {
	r := Result{Checker: l.Name(), Facts: l.reads - l.wrongSize}
	if ctx.Err() != nil {
		return Ended(ctx, l.Name())
	}
	var broken string
	for id := range l.writes {
		if w := &l.writes[id]; max(w.calls, w.oks) > 1 {
			at := w.callAt
			if w.calls < 2 {
				at = w.okAt
			}
			broken = fmt.Sprintf("key %s is written more than once (ops %d and %d)", l.keys.name(int32(id)), at[0], at[1])
			break
		}
	}
	for g := range l.groups {
		if group := &l.groups[g]; group.illegal && broken == "" {
			broken = fmt.Sprintf("key %s is read with two values (op %d), so it was written more than once", l.keys.name(group.badKey), group.badAt[1])
		}
	}
	if l.odd > 0 && broken == "" {
		broken = fmt.Sprintf("%s without a transaction as the value, such as op %d", plural(l.odd, "ok operation"), l.oddAt)
	}
	if l.wrongSize > 0 && broken == "" {
		broken = fmt.Sprintf("%s not of %d different keys, such as op %d", plural(l.wrongSize, "read"), l.size, l.wrongSizeAt)
	}
	var found findings
	for _, f := range l.forks {
		if l.sound(f.group) && found.room("long-fork") {
			found.explain("long-fork", []int{f.a.call, f.a.at, f.b.call, f.b.at},
				"Read %d sees key %s but not %s, and read %d sees %s but not %s: they disagree about which was written first.",
				f.a.at, l.keys.name(f.only[0]), l.keys.name(f.only[1]), f.b.at, l.keys.name(f.only[1]), l.keys.name(f.only[0]))
		}
	}
	r.Stats = []Stat{{"reads", fmt.Sprint(l.reads)}, {"early-reads", fmt.Sprint(l.early)}, {"late-reads", fmt.Sprint(l.late)}, {"forks", fmt.Sprint(l.forked)}}
	if l.mixed > 0 {
		r.Warnings = append(r.Warnings, plural(l.mixed, "transaction")+" that do not only read, and write more than one key, are not looked at")
	}
	r.Anomalies = found.anomalies(src)
	switch {
	case len(r.Anomalies) > 0:
		r.Verdict = Invalid
		r.Reason = fmt.Sprintf("%s of %s forked", plural(l.forked, "read"), plural(l.reads, "read"))
		if broken != "" {
			r.Warnings = append(r.Warnings, broken)
		}
	case broken != "":
		r.Reason = broken
	case l.reads == 0:
		r.Reason = "nothing was read"
	default:
		r.Verdict = Valid
		r.Reason = fmt.Sprintf("%s in %s agree on the order of writes", plural(l.reads, "read"), plural(len(l.groups), "group"))
	}
	return r
}

// sound reports whether all premises hold of a group.
func (l *longFork) sound(g int32) bool {
	if l.groups[g].illegal {
		return false
	}
	for _, key := range l.groups[g].keys {
		if w := &l.writes[key]; max(w.calls, w.oks) > 1 {
			return false
		}
	}
	return true
}
