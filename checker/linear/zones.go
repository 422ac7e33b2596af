package linear

import "slices"

// cluster is a value that is set once: the call that sets it and those that see
// it. Positions are one more than in the history, so that 0 is before all of it.
type cluster struct {
	setBegin, setEnd uint32 // of the call that sets it; setEnd never where that is in doubt
	seenEnd          uint32 // earliest end of a read, never without any
	seenBegin        uint32 // latest begin of a read, 0 without any
	next             int32  // the value that a cas makes of it, -1 for none
	root             bool   // set by a write, or the initial value
	set              bool
}

// conflict is why calls with unique values are not linearizable: those that set
// the values, and those that begin or end at the marks, cannot all be.
type conflict struct {
	values []int32
	marks  []uint32 // positions as in cluster
}

// unique reports whether no value is set twice, and makes clusters of the
// values. The initial value counts as set before everything else.
func unique(calls []call, values int, initial int32) (clusters []cluster, ok bool) {
	clusters = grow(nil, values, initial)
	for i := range calls {
		if !add(clusters, &calls[i]) {
			return nil, false
		}
	}
	return clusters, true
}

// grow makes it clusters of so many values.
func grow(clusters []cluster, values int, initial int32) []cluster {
	for len(clusters) < values {
		first := int32(len(clusters)) == initial
		clusters = append(clusters, cluster{seenEnd: never, next: -1, set: first, root: first})
	}
	return clusters
}

// add adds a call to the cluster of its value; false when that is set twice, or
// when there is nothing to add a call of that kind to.
func add(clusters []cluster, c *call) bool {
	switch c.action {
	case read:
		k := &clusters[c.value]
		k.seenEnd, k.seenBegin = min(k.seenEnd, c.end+1), max(k.seenBegin, c.begin+1)
	case write, cas:
		k := &clusters[c.value]
		if k.set {
			return false
		}
		k.set, k.root = true, c.action == write
		k.setBegin, k.setEnd = c.begin+1, c.end
		if c.end != never {
			k.setEnd++
		}
	default:
		return false
	}
	return true
}

// join joins the value that a cas expects to the one that it sets; another is the
// value to which that is joined already, -1 for none.
func join(clusters []cluster, c *call) (another int32) {
	if c.action != cas {
		return -1
	}
	from := &clusters[c.old]
	if from.next < 0 {
		from.next = c.value
		return -1
	}
	return from.next
}

// zone is how long a chain of values was in the register, as far as its calls
// tell: first is the earliest end among them, last the latest begin. When first <
// last it was there all the time in between.
type zone struct {
	first, last uint32
	value       int32 // at its root
}

// chained decides calls in which every value is set once (Gibbons and Korach
// 1997, with cas as in section 5 there). A cas must follow directly on the calls
// of the value that it expects, so values joined by cas form chains that nothing
// else comes between. Within a chain the order is given, and calls fit it unless
// one of them ends before another begins that comes earlier. That one chain comes
// before another is forced when its zone's first is before the other's last, and
// relations of that form have a cycle only if they have one of two.
//
// O(n) time but for a sort of the zones; nil when calls are linearizable.
func chained(calls []call, clusters []cluster, initial int32) *conflict {
	for i := range calls {
		c := &calls[i]
		if another := join(clusters, c); another >= 0 {
			return &conflict{values: []int32{another, c.value, c.old}}
		}
	}
	return fits(clusters, initial)
}

// fits is chained for clusters that are joined.
func fits(clusters []cluster, initial int32) *conflict {
	seen, lasts := 0, 0
	for v := range clusters {
		if !clusters[v].root {
			continue
		}
		z, length, bad := zoneOf(clusters, int32(v), initial)
		if bad != nil {
			return bad
		}
		seen += length
		if z.first < z.last {
			lasts++
		}
	}
	if seen < len(clusters) {
		if found := rootless(clusters); found != nil {
			return found
		}
	}
	return overlap(clusters, lasts, initial)
}

// zoneOf is the zone of the chain from root, and how many values it has.
func zoneOf(clusters []cluster, root, initial int32) (z zone, length int, bad *conflict) {
	z = zone{first: never, value: root}
	if root == initial {
		z.first = 0
	}
	for at := root; at >= 0; at = clusters[at].next {
		k := &clusters[at]
		length++
		if k.setEnd < z.last && k.set && k.setBegin > 0 {
			return z, length, inChain(clusters, root, at, z.last, k.setEnd)
		}
		z.last = max(z.last, k.setBegin)
		if k.seenEnd < z.last {
			return z, length, inChain(clusters, root, at, z.last, k.seenEnd)
		}
		z.last = max(z.last, k.seenBegin)
		if k.setBegin > 0 {
			z.first = min(z.first, k.setEnd)
		}
		z.first = min(z.first, k.seenEnd)
	}
	return z, length, nil
}

// inChain is the conflict of two calls of the chain from root, the later one of
// value at.
func inChain(clusters []cluster, root, at int32, begin, end uint32) *conflict {
	found := &conflict{marks: []uint32{begin, end}}
	for v := root; v >= 0; v = clusters[v].next {
		found.values = append(found.values, v)
		if v == at {
			break
		}
	}
	return found
}

// rootless finds a value that was seen, or expected, though nobody wrote it, not
// even by a cas from a value that somebody wrote.
func rootless(clusters []cluster) *conflict {
	rooted := make([]bool, len(clusters))
	for v := range clusters {
		if clusters[v].root {
			for at := int32(v); at >= 0; at = clusters[at].next {
				rooted[at] = true
			}
		}
	}
	for v := range clusters {
		k := &clusters[v]
		if rooted[v] || k.set {
			continue
		}
		switch {
		case k.seenEnd != never:
			return &conflict{marks: []uint32{k.seenEnd}}
		case k.next >= 0:
			return &conflict{values: []int32{k.next}}
		}
	}
	// What is left are cas in a circle: each expects what another one sets.
	for v := range clusters {
		if !rooted[v] && clusters[v].set {
			found := &conflict{}
			for at := int32(v); ; {
				found.values = append(found.values, at)
				if at = clusters[at].next; at < 0 || at == int32(v) {
					return found
				}
			}
		}
	}
	return nil
}

// zones calls do with the zone of each chain, until it returns false.
func zones(clusters []cluster, initial int32, do func(z zone) bool) {
	for v := range clusters {
		if clusters[v].root {
			if z, _, _ := zoneOf(clusters, int32(v), initial); !do(z) {
				return
			}
		}
	}
}

// overlap finds two chains that were both there at one time. Zones are worked out
// as often as they are looked at; kept are only as many as last.
func overlap(clusters []cluster, lasts int, initial int32) (found *conflict) {
	lasting := make([]zone, 0, lasts)
	zones(clusters, initial, func(z zone) bool {
		if z.first < z.last {
			lasting = append(lasting, z)
		}
		return true
	})
	if !slices.IsSortedFunc(lasting, byFirst) {
		slices.SortFunc(lasting, byFirst)
	}
	for i := 1; i < len(lasting); i++ {
		if a, b := lasting[i-1], lasting[i]; a.last > b.first {
			return between(clusters, a, b)
		}
	}
	// No two of lasting overlap: a zone that passed wholly within one of them
	// does so in the last that began before it.
	zones(clusters, initial, func(z zone) bool {
		if z.first < z.last {
			return true
		}
		at, _ := slices.BinarySearchFunc(lasting, z.last, func(a zone, last uint32) int { return int(int64(a.first) - int64(last)) })
		if at > 0 && lasting[at-1].last > z.first {
			found = between(clusters, lasting[at-1], z)
		}
		return found == nil
	})
	return found
}

func byFirst(a, b zone) int { return int(int64(a.first) - int64(b.first)) }

// between is the conflict of two chains.
func between(clusters []cluster, a, b zone) *conflict {
	found := &conflict{}
	for _, z := range []zone{a, b} {
		found.marks = append(found.marks, z.first, z.last)
		// The chain as far as the calls reach that the marks are about.
		var values []int32
		needed := 0
		for v := z.value; v >= 0; v = clusters[v].next {
			values = append(values, v)
			k := &clusters[v]
			if k.setEnd == z.first && k.setBegin > 0 || k.seenEnd == z.first || k.setBegin == z.last || k.seenBegin == z.last {
				needed = len(values)
			}
		}
		found.values = append(found.values, values[:needed]...)
	}
	return found
}

// proof picks the calls of a conflict, those that lead up to what they expect,
// and who saw that a cas in doubt happened: they are not linearizable by
// themselves.
func (c *conflict) proof(calls []call) []call {
	values := make(map[int32]bool, len(c.values))
	for _, v := range c.values {
		values[v] = true
	}
	marks := make(map[uint32]bool, len(c.marks))
	for _, at := range c.marks {
		marks[at] = true
	}
	setter, seer := make(map[int32]int32), make(map[int32]int32)
	var todo []int32 // calls that were picked
	picked := make([]bool, len(calls))
	pick := func(i int32, ok bool) {
		if ok && !picked[i] {
			picked[i] = true
			todo = append(todo, i)
		}
	}
	for i := range calls {
		now := &calls[i]
		if now.sets() {
			setter[now.value] = int32(i)
		}
		if v, ok := now.observed(); ok {
			if at, known := seer[v]; !known || calls[at].crashed || now.end < calls[at].end {
				seer[v] = int32(i)
			}
		}
	}
	for i := range calls {
		now := &calls[i]
		if now.sets() && values[now.value] || marks[now.begin+1] || now.end != never && marks[now.end+1] {
			pick(int32(i), true)
		}
	}
	for len(todo) > 0 {
		now := &calls[todo[len(todo)-1]]
		todo = todo[:len(todo)-1]
		if v, ok := now.observed(); ok {
			i, known := setter[v]
			pick(i, known)
		}
		if now.action == cas && now.crashed {
			i, known := seer[now.value]
			pick(i, known)
		}
	}
	var proof []call
	for i := range calls {
		if picked[i] {
			proof = append(proof, calls[i])
		}
	}
	return proof
}
