package checker

// sample keeps positions, all of them or, of very many, one in every step.
type sample struct {
	at    []int
	count int // of those taken
	step  int // 0 and 1: all are kept
}

// manyPositions is how many a sample keeps at most.
const manyPositions = 100_000

func (s *sample) take(at int) {
	if len(s.at) == manyPositions {
		for i := range manyPositions / 2 {
			s.at[i] = s.at[2*i]
		}
		s.at = s.at[:manyPositions/2]
		s.step = 2 * max(s.step, 1)
	}
	if s.count%max(s.step, 1) == 0 {
		s.at = append(s.at, at)
	}
	s.count++
}
