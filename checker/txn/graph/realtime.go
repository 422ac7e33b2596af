package graph

// before tells whether real time puts a before b.
func (g *Graph) before(a, b uint32) bool {
	if g.call == nil || a == b {
		return false
	}
	call := g.invoked(b)
	return call >= 0 && g.ret[a] < call
}

// invoked returns where a transaction was invoked, -1 where that is not known.
func (g *Graph) invoked(n uint32) int32 {
	if g.call[n] > g.ret[n] {
		return -1
	}
	return g.call[n]
}
