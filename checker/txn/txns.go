package txn

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/jepgo/jepgo/history"
)

// status is what became of a transaction.
type status uint8

const (
	committed status = iota
	inDoubt          // :info, or never completed
	aborted
	// unpaired is an invocation without a process: its completion, if it has one,
	// is a transaction of its own. settle makes it inDoubt or drops it.
	unpaired
	dropped
)

// micro is one micro-operation: 8 bytes.
type micro struct {
	key int32 // number of the key times 2, and 1 for a read
	val int32 // what was written, or what the reading found: see txns.read
}

func (m micro) isRead() bool { return m.key&1 == 1 }
func (m micro) of() int32    { return m.key >> 1 }

// txns holds the transactions of a history as columns, in the order in which they
// completed, then those that never did in the order of their invocations.
//
// A transaction has the micro-ops of its completion where that has a list of them,
// else those of its invocation, and reads only where the completion says what they
// saw.
type txns struct {
	write string // name of the micro-op that writes: append or w
	// read makes what a read saw into the val of its micro-op. It is not called for
	// reads of which that is not known: those have unknown.
	read    func(key int32, saw history.View, st status) int32
	unknown int32

	call, ret []int32 // positions of invocation and completion, -1 for none
	process   []int32 // number of the process, -1 for none
	status    []status
	ends      []uint32 // micro-ops of transaction i: from ends[i-1] to ends[i]
	mops      []micro

	keys    numbers
	vals    codes
	clients numbers

	open  []int32 // by process: the last open invocation in slots, and 1
	slots []invocation
	free  []int32
	bare  map[[2]int32]struct{} // writes of completions that have no process
	// assumed are the committed transactions whose completion has no list of
	// micro-ops, in their order: they did what their invocation says.
	assumed []int32

	limit  int64  // bytes, 0 for none
	kept   int64  // bytes that read keeps
	broken string // why the history cannot be judged, "" when it can
	events int
}

// invocation is one that is open.
type invocation struct {
	at    int32
	below int32 // an earlier one of the same process that is open too, and 1
	mops  []micro
	isTxn bool // its value is a list of micro-ops, perhaps of reads alone
}

func (t *txns) len() int { return len(t.status) }

// of returns the micro-ops of transaction i, and the number of the first.
func (t *txns) of(i int32) []micro { return t.mops[t.first(i):t.ends[i]] }

func (t *txns) first(i int32) uint32 {
	if i == 0 {
		return 0
	}
	return t.ends[i-1]
}

// owner returns the transaction of a micro-op.
func (t *txns) owner(mop int32) int32 {
	i, _ := slices.BinarySearchFunc(t.ends, uint32(mop), func(end, mop uint32) int {
		if end <= mop {
			return -1
		}
		return 1
	})
	return int32(i)
}

// count returns how many transactions have a status.
func (t *txns) count(which status) int {
	n := 0
	for _, st := range t.status {
		if st == which {
			n++
		}
	}
	return n
}

// at returns the position that stands for transaction i: of its completion, or of
// its invocation where there is none.
func (t *txns) at(i int32) int {
	if t.ret[i] >= 0 {
		return int(t.ret[i])
	}
	return int(t.call[i])
}

// take looks at the next event.
func (t *txns) take(e *history.Event) {
	process := int32(-1)
	switch n, isClient := e.Process.Client(); {
	case isClient:
		process = t.clients.integer(n)
	case !e.Process.IsZero():
		return
	}
	if t.broken != "" {
		return
	}
	t.events++
	if t.events&0xfff == 0 && t.limit > 0 && t.bytes() > t.limit {
		t.broken = fmt.Sprintf("memory limit of %d bytes reached at op %d", t.limit, e.Position)
		return
	}
	if e.Position >= math.MaxInt32 || len(t.mops) >= math.MaxInt32 {
		t.broken = "history has more than 2^31 ops or micro-ops"
		return
	}
	switch e.Type {
	case history.Invoke:
		t.invoke(e, process)
	case history.OK:
		t.complete(e, process, committed)
	case history.Info:
		t.complete(e, process, inDoubt)
	case history.Fail:
		t.complete(e, process, aborted)
	}
}

func (t *txns) invoke(e *history.Event, process int32) {
	if process < 0 {
		if mops, ok := t.decode(t.mops, e, unpaired); ok && len(mops) > len(t.mops) {
			t.mops = mops
			t.add(int32(e.Position), -1, -1, unpaired)
		}
		return
	}
	if int(process) >= len(t.open) {
		t.open = append(t.open, make([]int32, int(process)+1-len(t.open))...)
	}
	var slot int32
	if n := len(t.free); n > 0 {
		slot, t.free = t.free[n-1], t.free[:n-1]
	} else {
		slot = int32(len(t.slots))
		t.slots = append(t.slots, invocation{})
	}
	s := &t.slots[slot]
	s.at, s.below = int32(e.Position), t.open[process]
	t.open[process] = slot + 1
	s.mops, s.isTxn = t.decode(s.mops[:0], e, unpaired)
}

func (t *txns) complete(e *history.Event, process int32, st status) {
	var invoked []micro
	isTxn := false
	call, slot := int32(-1), int32(-1)
	if process >= 0 && int(process) < len(t.open) && t.open[process] > 0 {
		slot = t.open[process] - 1
		s := &t.slots[slot]
		call, invoked, isTxn, t.open[process] = s.at, s.mops, s.isTxn, s.below
		t.free = append(t.free, slot) // nothing takes it before invoked was used
	}
	mops, ok := t.decode(t.mops, e, st)
	switch {
	case t.broken != "":
		return
	case ok:
		t.mops = mops
	case len(invoked) > 0 || isTxn && st == committed && e.F == "txn" && e.Value.IsNil():
		t.mops = append(t.mops, invoked...)
		if st == committed {
			t.assumed = append(t.assumed, int32(t.len()))
		}
	case st != committed:
		return // what did not say what it did, and may not have done it, tells nothing
	case e.F == "txn":
		t.broken = fmt.Sprintf("op %d is an ok transaction whose value is not a list of micro-ops", e.Position)
		return
	default:
		return // some other kind of op
	}
	if process < 0 {
		t.noteBare(t.mops[t.first(int32(t.len())):])
	}
	t.add(call, int32(e.Position), process, st)
}

func (t *txns) add(call, ret, process int32, st status) {
	t.call = append(t.call, call)
	t.ret = append(t.ret, ret)
	t.process = append(t.process, process)
	t.status = append(t.status, st)
	t.ends = append(t.ends, uint32(len(t.mops)))
}

// decode appends the micro-ops of an event to dst. ok is false, and dst as it was,
// when its value is not a list of them. Of an invocation only writes are kept, as
// its reads have not read yet.
func (t *txns) decode(dst []micro, e *history.Event, st status) (mops []micro, ok bool) {
	before := len(dst)
	n := e.Value.Len()
	if !e.Value.IsSequence() {
		return dst, false
	}
	var m history.View
	for i := range n {
		if i == 0 {
			m = e.Value.First()
		} else {
			m = m.Next()
		}
		if !m.IsSequence() || m.Len() < 2 {
			t.refuse(e, m, st == committed && len(dst) > before)
			return dst[:before], false
		}
		f := m.First()
		k := f.Next()
		var v history.View
		if m.Len() > 2 {
			v = k.Next()
		}
		switch {
		case f.Is("r"):
			if st == unpaired {
				continue
			}
			key := t.keys.number(k)
			val := t.unknown
			if st == committed || st == inDoubt && !v.IsNil() {
				val = t.read(key, v, st)
			}
			dst = append(dst, micro{key<<1 | 1, val})
		case f.Is(t.write) && m.Len() > 2:
			dst = append(dst, micro{t.keys.number(k) << 1, t.vals.code(v)})
		default:
			named := f.Kind() == history.KeywordKind || f.Kind() == history.String
			t.refuse(e, m, named && (e.F == "txn" || e.F == "") || st == committed && len(dst) > before)
			return dst[:before], false
		}
	}
	return dst, true
}

// refuse says that a value is no micro-op, where it looks as if it should be: it has
// a name, or stands behind others in a transaction that happened.
func (t *txns) refuse(e *history.Event, m history.View, meant bool) {
	if meant && t.broken == "" {
		t.broken = fmt.Sprintf("op %d has the micro-op %s: want [:%s k v] or [:r k v]", e.Position, brief(m.Value(), 100), t.write)
	}
}

// noteBare remembers what a completion without a process wrote.
func (t *txns) noteBare(mops []micro) {
	if t.bare == nil {
		t.bare = make(map[[2]int32]struct{})
	}
	for _, m := range mops {
		if !m.isRead() {
			t.bare[[2]int32{m.key, m.val}] = struct{}{}
		}
	}
}

// settle ends the history: what is still open is in doubt. An invocation without a
// process whose writes some completion without a process has too was its
// invocation; real time says nothing about these.
func (t *txns) settle() {
	var left []invocation
	for process, top := range t.open {
		for ; top > 0; top = t.slots[top-1].below {
			s := t.slots[top-1]
			s.below = int32(process)
			left = append(left, s)
		}
	}
	slices.SortFunc(left, func(a, b invocation) int { return cmp.Compare(a.at, b.at) })
	for _, s := range left {
		t.mops = append(t.mops, s.mops...)
		t.add(s.at, -1, s.below, inDoubt)
	}
	t.open, t.slots, t.free = nil, nil, nil
	for i, st := range t.status {
		if st != unpaired {
			continue
		}
		t.status[i] = inDoubt
		t.call[i], t.ret[i] = -1, t.call[i]
		for _, m := range t.of(int32(i)) {
			if _, twice := t.bare[[2]int32{m.key, m.val}]; twice {
				t.status[i] = dropped
			}
		}
	}
	t.bare = nil
}

// tells reports whether the completion of a transaction tells what it did.
func (t *txns) tells(i int32) bool {
	_, assumed := slices.BinarySearch(t.assumed, i)
	return t.status[i] == committed && !assumed
}

// bytes is about what t takes.
func (t *txns) bytes() int64 {
	const aTxn, aMicro, aSlot = 4 + 4 + 4 + 1 + 4, 8, 40
	return int64(t.len())*aTxn + int64(len(t.assumed))*4 + int64(len(t.mops))*aMicro + int64(len(t.slots))*aSlot + int64(len(t.bare))*32 +
		t.kept + t.keys.bytes() + t.vals.others.bytes() + t.clients.bytes()
}
