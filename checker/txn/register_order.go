package txn

import "slices"

// evidence is a set of reasons why one version of a key came before another.
type evidence uint8

const (
	// What the options assert. A contradiction within these is cyclic-versions.
	byFirst        evidence = 1 << iota // the first version comes before all others
	byWFR                               // a transaction read the one before it wrote the other
	bySequential                        // a process came upon them in that order
	byLinearizable                      // real time
	byOrder                             // the order of versions is given

	// What a model implies that was asked for: see levels. Nothing is concluded
	// there from versions of which nobody knows who wrote them.
	inferWFR
	inferProcess
	inferRealtime
)

const inferred = inferWFR | inferProcess | inferRealtime

// follows says that version b came after version a, by what transactions t1 and t2
// did. Both versions are numbers within their key.
type follows struct {
	a, b, t1, t2 int32
	by           evidence
}

// keyOrder finds in which order one key took its values: a graph of its versions,
// as small as is easily had. It is used for one key after another.
type keyOrder struct {
	r       *registers
	given   func(key int32) []int32 // versions in their order, where it is known
	key     int32                   // the one that was built, -1 before the first
	allowed evidence                // that it was built by
	touches []touch

	versions []int32 // of the key, by number within the key
	local    []int32 // of each version of any key: that number
	edges    []follows
	overflow bool // some edges were left out, being too many

	// What finish leaves: the versions after version u, with the reasons, are
	// next[off[u]:off[u+1]].
	off  []int32
	next []int32
	by   []evidence

	last   perKey // of each process: its last touch
	marks  []int32
	queue  []int32
	byCall []int32
}

func newKeyOrder(r *registers, given func(int32) []int32) *keyOrder {
	return &keyOrder{
		r: r, given: given, key: -1,
		local: make([]int32, len(r.key)), last: newPerKey(r.clients.len()),
	}
}

// contradiction is a cycle of versions, and the evidence that was left out to be
// rid of it.
type contradiction struct {
	cycle   []follows
	dropped evidence
}

// build orders the versions of a key by the evidence that is allowed, and returns
// where what the options assert contradicts itself.
func (o *keyOrder) build(key int32, allowed evidence) []contradiction {
	o.key, o.allowed, o.touches = key, allowed, o.r.touches(key)
	o.versions, o.edges, o.overflow = o.versions[:0], o.edges[:0], false
	for _, t := range o.touches {
		o.number(t.read)
		o.number(t.wrote)
	}
	var against []contradiction
	for _, source := range []evidence{byOrder, byWFR, bySequential, byLinearizable, inferWFR, inferProcess, inferRealtime} {
		if allowed&source == 0 {
			continue
		}
		before := len(o.edges)
		switch source {
		case byOrder:
			o.addGiven()
		case byWFR, inferWFR:
			o.addWithin(source, source)
		case bySequential, inferProcess:
			o.addProcesses(source)
		case byLinearizable, inferRealtime:
			o.addRealtime(source)
		}
		if source&inferred != 0 {
			continue
		}
		if cycle := o.cycle(); cycle != nil {
			against = append(against, contradiction{cycle, source})
			o.edges = o.edges[:before]
		}
	}
	o.finish()
	return against
}

// number gives a version of the key a number within it.
func (o *keyOrder) number(v int32) {
	if v == noVersion || o.r.writer[v] == manyTxns || o.has(v) {
		return
	}
	o.local[v] = int32(len(o.versions))
	o.versions = append(o.versions, v)
}

func (o *keyOrder) has(v int32) bool {
	n := o.local[v]
	return int(n) < len(o.versions) && o.versions[n] == v
}

// span returns the first and the last version that a touch may be concluded from,
// by number within the key; ok is false when there is none.
func (o *keyOrder) span(t touch, by evidence) (first, last int32, ok bool) {
	usable := func(v int32) bool {
		if v == noVersion || o.r.writer[v] == manyTxns {
			return false
		}
		return by&inferred == 0 || o.r.source(v) >= 0
	}
	first, last = noVersion, noVersion
	if usable(t.read) {
		first, last = o.local[t.read], o.local[t.read]
	}
	if usable(t.wrote) {
		last = o.local[t.wrote]
		if first == noVersion {
			first = last
		}
	}
	return first, last, first != noVersion
}

// add says that b came after a.
func (o *keyOrder) add(a, b int32, t1, t2 int32, by evidence) {
	if a != b {
		o.edges = append(o.edges, follows{a, b, t1, t2, by})
	}
}

// addWithin orders what each transaction read and then wrote.
func (o *keyOrder) addWithin(usable, by evidence) {
	for _, t := range o.touches {
		if first, last, ok := o.span(t, usable); ok {
			o.add(first, last, t.txn, t.txn, by)
		}
	}
}

// addProcesses orders what each process came upon.
func (o *keyOrder) addProcesses(by evidence) {
	if by == bySequential {
		o.addWithin(by, by)
	}
	o.last.begin()
	for i, t := range o.touches {
		process := o.r.process[t.txn]
		first, _, ok := o.span(t, by)
		if !ok || process < 0 || o.r.status[t.txn] != committed {
			continue
		}
		if before := o.last.get(process); before != noVersion {
			earlier := o.touches[before]
			_, last, _ := o.span(earlier, by)
			o.add(last, first, earlier.txn, t.txn, by)
		}
		o.last.set(process, int32(i))
	}
}

// addRealtime orders what transactions came upon of which one had completed
// before the other was invoked. Only pairs with no third transaction between them
// are compared, as in Elle: those that completed before an invocation and are not
// before any other that did. Each transaction lets go of those that it comes
// after, and these are the ones that completed first; so with c transactions open
// at once it is O(n·c) at worst, and mostly O(n).
func (o *keyOrder) addRealtime(by evidence) {
	if by == byLinearizable {
		o.addWithin(by, by)
	}
	o.byCall = o.byCall[:0]
	for i, t := range o.touches {
		if _, _, ok := o.span(t, by); ok && o.r.invoked(t.txn) >= 0 {
			o.byCall = append(o.byCall, int32(i))
		}
	}
	slices.SortFunc(o.byCall, func(x, y int32) int { return int(o.r.call[o.touches[x].txn] - o.r.call[o.touches[y].txn]) })
	o.marks = append(o.marks[:0], make([]int32, len(o.versions))...)
	o.queue = o.queue[:0]
	head, done := 0, 0
	limit := len(o.edges) + 256*len(o.touches) + 1<<16
	for n, i := range o.byCall {
		t := o.touches[i]
		call := o.r.call[t.txn]
		for ; done < len(o.touches); done++ {
			x := o.touches[done]
			if o.r.status[x.txn] != committed {
				continue
			}
			if o.r.ret[x.txn] >= call {
				break
			}
			if _, _, ok := o.span(x, by); !ok {
				continue
			}
			for head < len(o.queue) && o.r.ret[o.touches[o.queue[head]].txn] < o.r.invoked(x.txn) {
				head++
			}
			o.queue = append(o.queue, int32(done))
		}
		first, _, _ := o.span(t, by)
		for _, q := range o.queue[head:] {
			x := o.touches[q]
			_, last, _ := o.span(x, by)
			if o.marks[last] == int32(n)+1 {
				continue
			}
			o.marks[last] = int32(n) + 1
			o.add(last, first, x.txn, t.txn, by)
		}
		if len(o.edges) > limit {
			o.overflow = true
			return
		}
	}
}

// invoked is where a transaction was invoked, -1 where that is not known.
func (r *registers) invoked(i int32) int32 {
	if r.ret[i] >= 0 && r.call[i] > r.ret[i] {
		return -1
	}
	return r.call[i]
}

// before reports whether a transaction completed before another was invoked.
func (r *registers) before(a, b int32) bool {
	return r.status[a] == committed && r.ret[a] < r.invoked(b)
}

// addGiven orders the versions whose order the options give.
func (o *keyOrder) addGiven() {
	before := noVersion
	for _, v := range o.given(o.key) {
		if o.r.source(v) < 0 || !o.has(v) {
			continue
		}
		if before != noVersion {
			o.add(o.local[before], o.local[v], o.r.writer[before], o.r.writer[v], byOrder)
		}
		before = v
	}
}

// cycle returns a cycle of the versions, nil when there is none.
func (o *keyOrder) cycle() []follows {
	edges := o.edges
	if first := o.r.first[o.key]; first != noVersion && o.has(first) && o.r.isFirst(first) {
		for b := range int32(len(o.versions)) {
			if b != o.local[first] {
				edges = append(edges, follows{o.local[first], b, noTxn, noTxn, byFirst})
			}
		}
	}
	o.edges = edges[:len(o.edges)] // keeps the room
	// Take away what nothing comes before until nothing is left, or a cycle.
	incoming := make([]int32, len(o.versions))
	for _, e := range edges {
		incoming[e.b]++
	}
	off := make([]int32, len(o.versions)+1)
	for _, e := range edges {
		off[e.a+1]++
	}
	for n := range o.versions {
		off[n+1] += off[n]
	}
	out := make([]int32, len(edges))
	at := slices.Clone(off)
	for _, e := range edges {
		out[at[e.a]] = e.b
		at[e.a]++
	}
	ready := make([]int32, 0, len(o.versions))
	for n, in := range incoming {
		if in == 0 {
			ready = append(ready, int32(n))
		}
	}
	for i := 0; i < len(ready); i++ {
		for _, b := range out[off[ready[i]]:off[ready[i]+1]] {
			if incoming[b]--; incoming[b] == 0 {
				ready = append(ready, b)
			}
		}
	}
	if len(ready) == len(o.versions) {
		return nil
	}
	// Every version that is left comes after another one that is left.
	into := make([]int32, len(o.versions)) // an edge, and 1
	start := int32(0)
	for i, e := range edges {
		if incoming[e.a] > 0 && incoming[e.b] > 0 && into[e.b] == 0 {
			into[e.b] = int32(i) + 1
			start = e.b
		}
	}
	var back []follows
	met := make(map[int32]int)
	for n := start; ; {
		if from, again := met[n]; again {
			back = back[from:]
			break
		}
		met[n] = len(back)
		e := edges[into[n]-1]
		back = append(back, e)
		n = e.a
	}
	slices.Reverse(back)
	return back
}

// finish makes the edges into rows, each pair once.
func (o *keyOrder) finish() {
	if first := o.r.first[o.key]; first != noVersion && o.has(first) && o.r.isFirst(first) {
		preceded := append(o.marks[:0], make([]int32, len(o.versions))...)
		for _, e := range o.edges {
			if o.r.source(o.versions[e.a]) >= 0 {
				preceded[e.b] = 1
			}
		}
		// What comes after another transaction's version comes after the first
		// version anyway.
		for b, v := range o.versions {
			if preceded[b] == 0 && o.r.source(v) >= 0 {
				o.add(o.local[first], int32(b), noTxn, o.r.writer[v], byFirst)
			}
		}
		o.marks = preceded
	}
	n := len(o.versions)
	o.off = append(o.off[:0], make([]int32, n+1)...)
	for _, e := range o.edges {
		o.off[e.a]++
	}
	for u, sum := 0, int32(0); u <= n; u++ {
		sum, o.off[u] = sum+o.off[u], sum
	}
	o.next = append(o.next[:0], make([]int32, len(o.edges))...)
	o.by = append(o.by[:0], make([]evidence, len(o.edges))...)
	o.marks = append(o.marks[:0], o.off...)
	for _, e := range o.edges {
		at := o.marks[e.a]
		o.next[at], o.by[at] = e.b, e.by
		o.marks[e.a]++
	}
	o.merge()
}

// merge makes one of the edges between the same two versions.
func (o *keyOrder) merge() {
	o.marks = append(o.marks[:0], make([]int32, len(o.versions))...) // place of a successor in its row, and 1
	kept := int32(0)
	for u := range o.versions {
		start, end := o.off[u], o.off[u+1]
		o.off[u] = kept
		for at := start; at < end; at++ {
			b := o.next[at]
			if place := o.marks[b] - 1; place >= o.off[u] && place < kept && o.next[place] == b {
				o.by[place] |= o.by[at]
				continue
			}
			o.marks[b] = kept + 1
			o.next[kept], o.by[kept] = b, o.by[at]
			kept++
		}
	}
	o.off[len(o.versions)] = kept
	o.next, o.by = o.next[:kept], o.by[:kept]
}
