package linear

import "slices"

// marksKept is how many places to go back to are kept.
const marksKept = 9

// marks are frontiers as they were, to go back to, the first first.
type marks []*frontier

// add adds one. When there are too many, one before is left out such that the
// others lie the farther apart the longer ago they are: so one of them is always
// about as far back as is wanted.
func (m *marks) add(f *frontier) {
	list := append(*m, f)
	if len(list) > marksKept {
		out, gap, back := 0, int64(1), int64(0) // gap/back is the least gap for its distance
		from := int32(0)
		for i := range len(list) - 2 {
			g, b := int64(list[i+1].next-from), int64(f.next-from)
			if i == 0 || g*back < gap*b {
				out, gap, back = i, g, b
			}
			from = list[i].next
		}
		list = slices.Delete(list, out, out+1)
	}
	*m = list
}

// before is the last one up to call at, nil if there is none. Those after it are
// gone.
func (m *marks) before(at int32) *frontier {
	n := len(*m)
	for n > 0 && (*m)[n-1].next > at {
		n--
	}
	*m = slices.Delete(*m, n, len(*m))
	if n == 0 {
		return nil
	}
	return (*m)[n-1]
}
