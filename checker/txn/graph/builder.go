package graph

import "slices"

// chunk is how many edges a block of the builder holds. Blocks are never moved
// or grown, so that collecting edges needs no more than the edges take.
const chunk = 1 << 14

type block struct {
	from, to [chunk]uint32
	rel      [chunk]Rel
}

// Builder collects edges, 9 bytes each. It is for one goroutine.
type Builder struct {
	nodes  int
	blocks []*block
	last   int // edges in the last block
	call   []int32
	ret    []int32
}

// NewBuilder returns a builder for a graph of so many transactions, numbered
// from 0.
func NewBuilder(nodes int) *Builder { return &Builder{nodes: max(nodes, 0), last: chunk} }

// Add says that from comes before to. An edge to itself and one to a node that is
// not there are dropped; the same edge may be added again, for another reason
// too.
func (b *Builder) Add(from, to uint32, rel Rel) {
	if from == to || int(from) >= b.nodes || int(to) >= b.nodes {
		return
	}
	if b.last == chunk {
		b.blocks = append(b.blocks, new(block))
		b.last = 0
	}
	last := b.blocks[len(b.blocks)-1]
	last.from[b.last], last.to[b.last], last.rel[b.last] = from, to, rel&^Realtime
	b.last++
}

// Times tells where each transaction was invoked and where it completed, as
// positions in the history, and so gives real-time order: a comes before b when
// ret[a] < call[b]. A call of -1 is not known (the history holds only the
// completion): nothing comes before that transaction. A ret of Never is in doubt:
// it comes before nothing. A call after its own ret counts as not known.
// The graph keeps both slices. They must be as long as there are nodes.
func (b *Builder) Times(call, ret []int32) {
	if len(call) == b.nodes && len(ret) == b.nodes {
		b.call, b.ret = call, ret
	}
}

// Processes gives the order of each process: of the transactions in order, which
// is their order of completion (nil: as they are numbered), each comes before the
// next one of the same process. Those that are not ok do not belong in there:
// they are left out of order, or their process is negative.
func (b *Builder) Processes(process []int32, order []uint32) {
	before := make(map[int32]uint32)
	add := func(n uint32) {
		if int(n) >= len(process) || process[n] < 0 {
			return
		}
		if last, ok := before[process[n]]; ok {
			b.Add(last, n, Process)
		}
		before[process[n]] = n
	}
	if order == nil {
		for n := range process {
			add(uint32(n))
		}
		return
	}
	for _, n := range order {
		add(n)
	}
}

// Graph returns the graph of what was added and empties the builder.
func (b *Builder) Graph() *Graph {
	g := &Graph{call: b.call, ret: b.ret}
	g.n = b.nodes
	g.off = make([]uint32, b.nodes+1)
	edges := 0
	for i, block := range b.blocks {
		size := b.size(i)
		edges += size
		for _, from := range block.from[:size] {
			g.off[from+1]++
		}
	}
	for n := range b.nodes {
		g.off[n+1] += g.off[n]
	}
	// off[n] walks from the start of n's edges to their end while they are placed,
	// which is where n+1's begin; moving all by one afterwards puts that right.
	g.to = make([]uint32, edges)
	g.rel = make([]Rel, edges)
	for i, block := range b.blocks {
		size := b.size(i)
		for e, from := range block.from[:size] {
			at := g.off[from]
			g.to[at], g.rel[at] = block.to[e], block.rel[e]
			g.off[from]++
		}
		b.blocks[i] = nil
	}
	copy(g.off[1:], g.off[:b.nodes])
	if b.nodes > 0 {
		g.off[0] = 0
	}
	*b = Builder{last: chunk}
	g.merge()
	return g
}

func (b *Builder) size(block int) int {
	if block == len(b.blocks)-1 {
		return b.last
	}
	return chunk
}

// merge sorts the edges of each node and makes one of those to the same node.
func (g *Graph) merge() {
	var packed []uint64
	kept := uint32(0)
	start := g.off[0]
	for n := range g.n {
		end := g.off[n+1]
		to, rel := g.to[start:end], g.rel[start:end]
		if len(to) <= 16 {
			insertionSort(to, rel)
		} else {
			packed = packed[:0]
			for i, t := range to {
				packed = append(packed, uint64(t)<<8|uint64(rel[i]))
			}
			slices.Sort(packed)
			for i, p := range packed {
				to[i], rel[i] = uint32(p>>8), Rel(p)
			}
		}
		first := kept
		for i, t := range to {
			if kept > first && g.to[kept-1] == t {
				g.rel[kept-1] |= rel[i]
				continue
			}
			g.to[kept], g.rel[kept] = t, rel[i]
			kept++
		}
		start = end
		g.off[n+1] = kept
	}
	g.to, g.rel = g.to[:kept:kept], g.rel[:kept:kept]
}

func insertionSort(to []uint32, rel []Rel) {
	for i := 1; i < len(to); i++ {
		t, r := to[i], rel[i]
		j := i
		for ; j > 0 && to[j-1] > t; j-- {
			to[j], rel[j] = to[j-1], rel[j-1]
		}
		to[j], rel[j] = t, r
	}
}
