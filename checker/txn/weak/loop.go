package weak

// loop returns the transactions of a short cycle of known edges; order holds the nodes
// that lead to none.
func (s *search) loop(order []int32) []int32 {
	n := len(s.txn)
	left := make([]bool, n)
	for i := range left {
		left[i] = true
	}
	for _, node := range order {
		left[node] = false
	}
	// Whatever is left has an edge from something that is left, so that going back
	// leads into a cycle.
	at := int32(0)
	for !left[at] {
		at++
	}
	met := make([]bool, n)
	for !met[at] {
		met[at] = true
		for _, prev := range s.in[s.inOff[at]:s.inOff[at+1]] {
			if left[prev] {
				at = prev
				break
			}
		}
	}
	// The shortest way around from there.
	start := at
	came := make([]int32, n)
	for i := range came {
		came[i] = -1
	}
	queue := []int32{start}
	for head := 0; head < len(queue) && came[start] < 0; head++ {
		node := queue[head]
		for _, next := range s.out[s.outOff[node]:s.outOff[node+1]] {
			if left[next] && came[next] < 0 {
				came[next] = node
				queue = append(queue, next)
			}
		}
	}
	met = make([]bool, s.h.Len())
	var core []int32
	for node := start; ; {
		if t := s.txn[node]; t >= 0 && !met[t] {
			met[t] = true
			core = append(core, t)
		}
		if node = came[node]; node == start {
			return core
		}
	}
}
