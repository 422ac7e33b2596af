package weak

// line holds the nodes of a graph in a row that every edge goes along, while edges
// are added and taken back: between two adds only those nodes move that stand
// between the ends of an edge that does not yet go along (Pearce & Kelly, JEA 2007).
// Taking an edge back moves nothing.
type line struct {
	pos, at []int32 // place of each node, node at each place
	// Fixed edges.
	outOff, out, inOff, in []int32
	// Added ones, by node: the newest from it and to it, or -1.
	from, to []int32
	added    []added

	mark   []uint32
	now    uint32
	came   []hop // how the last search came to each node that it marked
	seen   []int32
	back   []int32
	places []int32
	lowest int32 // the first place whose node moved, of all since it was set
	steps  int64 // nodes and edges looked at, ever
}

// added is an edge that was added.
type added struct {
	from, to         int32
	nextOut, nextIn  int32
	depsFrom, depsTo int32 // in search.deps: why it is there
	txnsFrom, txnsTo int32 // in search.txns: who shows it
	rule             rule
	second           bool // it is the second way to keep the rule
	chosen           bool // the first could be as well
}

// hop is the step that led to a node: the node before it, and the added edge or -1.
type hop struct{ node, edge int32 }

// fix makes the fixed edges, which each calls yield with, twice over.
func (l *line) fix(nodes int, each func(yield func(from, to int32))) {
	l.outOff, l.inOff = make([]int32, nodes+1), make([]int32, nodes+1)
	each(func(from, to int32) {
		l.outOff[from+1]++
		l.inOff[to+1]++
	})
	for i := range nodes {
		l.outOff[i+1] += l.outOff[i]
		l.inOff[i+1] += l.inOff[i]
	}
	l.out, l.in = make([]int32, l.outOff[nodes]), make([]int32, l.inOff[nodes])
	outAt, inAt := append([]int32(nil), l.outOff...), append([]int32(nil), l.inOff...)
	each(func(from, to int32) {
		l.out[outAt[from]] = to
		outAt[from]++
		l.in[inAt[to]] = from
		inAt[to]++
	})
}

// ready makes room for added edges; order is a row that the fixed edges go along.
func (l *line) ready(order []int32) {
	n := len(order)
	l.at = order
	l.pos = make([]int32, n)
	l.from, l.to = make([]int32, n), make([]int32, n)
	l.mark, l.came = make([]uint32, n), make([]hop, n)
	for i, node := range order {
		l.pos[node] = int32(i)
		l.from[i], l.to[i] = -1, -1
	}
}

// reach looks for a way from one node to another, and leaves in seen the nodes before
// the other that can be reached, in came how.
func (l *line) reach(from, to int32) bool {
	if from == to {
		return true
	}
	limit := l.pos[to]
	l.seen = l.seen[:0]
	if l.pos[from] > limit {
		return false
	}
	l.begin()
	l.mark[from] = l.now
	l.seen = append(l.seen, from)
	for head := 0; head < len(l.seen); head++ {
		node := l.seen[head]
		l.steps += int64(l.outOff[node+1]-l.outOff[node]) + 1
		for _, next := range l.out[l.outOff[node]:l.outOff[node+1]] {
			if l.pos[next] <= limit && l.mark[next] != l.now {
				l.mark[next], l.came[next] = l.now, hop{node, -1}
				if next == to {
					return true
				}
				l.seen = append(l.seen, next)
			}
		}
		for e := l.from[node]; e >= 0; e = l.added[e].nextOut {
			l.steps++
			if next := l.added[e].to; l.pos[next] <= limit && l.mark[next] != l.now {
				l.mark[next], l.came[next] = l.now, hop{node, e}
				if next == to {
					return true
				}
				l.seen = append(l.seen, next)
			}
		}
	}
	return false
}

func (l *line) begin() {
	l.now++
	if l.now == 0 { // once in 2³² searches
		clear(l.mark)
		l.now = 1
	}
}

// add adds an edge; there must be no way from its end back to its start, as reach
// from the one to the other has just found.
func (l *line) add(e added) {
	id := int32(len(l.added))
	if l.pos[e.from] > l.pos[e.to] {
		l.move(e.from, e.to)
	}
	e.nextOut, e.nextIn = l.from[e.from], l.to[e.to]
	l.from[e.from], l.to[e.to] = id, id
	l.added = append(l.added, e)
}

// move puts to, and what comes after it, behind from, and what comes before that:
// seen holds the former, up to from's place.
func (l *line) move(from, to int32) {
	first := l.pos[to]
	l.begin()
	l.mark[from] = l.now
	l.back = append(l.back[:0], from)
	for head := 0; head < len(l.back); head++ {
		node := l.back[head]
		l.steps += int64(l.inOff[node+1]-l.inOff[node]) + 1
		for _, prev := range l.in[l.inOff[node]:l.inOff[node+1]] {
			if l.pos[prev] > first && l.mark[prev] != l.now {
				l.mark[prev] = l.now
				l.back = append(l.back, prev)
			}
		}
		for e := l.to[node]; e >= 0; e = l.added[e].nextIn {
			l.steps++
			if prev := l.added[e].from; l.pos[prev] > first && l.mark[prev] != l.now {
				l.mark[prev] = l.now
				l.back = append(l.back, prev)
			}
		}
	}
	// Both keep their own order, on the places that they have together.
	l.sort(l.back)
	l.sort(l.seen)
	nodes := append(l.back, l.seen...)
	places := l.places[:0]
	for _, node := range nodes {
		places = append(places, l.pos[node])
	}
	sortInts(places)
	l.lowest = min(l.lowest, places[0])
	for i, node := range nodes {
		l.pos[node], l.at[places[i]] = places[i], node
	}
	l.back, l.places = nodes[:0], places
	l.steps += int64(len(nodes))
}

// take takes back all added edges from number id on.
func (l *line) take(id int32) {
	for i := int32(len(l.added)) - 1; i >= id; i-- {
		e := &l.added[i]
		l.from[e.from], l.to[e.to] = e.nextOut, e.nextIn
	}
	l.added = l.added[:id]
}
