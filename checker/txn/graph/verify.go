package graph

// verify tells the class of a cycle that really is one in the graph: simple,
// closed, and with an edge for each step.
func (g *Graph) verify(steps []Step) (class, bool) {
	met := make(map[uint32]bool, len(steps))
	for i, s := range steps {
		if s.To != steps[(i+1)%len(steps)].From || met[s.From] || s.Rel.first() != s.Rel || g.Rel(s.From, s.To)&s.Rel == 0 {
			return 0, false
		}
		met[s.From] = true
	}
	return classify(steps)
}
