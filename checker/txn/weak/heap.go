package weak

import "slices"

// heap holds numbers with a rank, of which pop gives the lowest; of equal ranks the
// lowest number.
type heap []uint64

func (h *heap) push(rank, node int32) {
	*h = append(*h, uint64(uint32(rank))<<32|uint64(uint32(node)))
	list := *h
	for i := len(list) - 1; i > 0; {
		up := (i - 1) / 2
		if list[up] <= list[i] {
			return
		}
		list[up], list[i] = list[i], list[up]
		i = up
	}
}

func (h *heap) pop() (node int32, ok bool) {
	list := *h
	if len(list) == 0 {
		return 0, false
	}
	top := list[0]
	last := len(list) - 1
	list[0] = list[last]
	list = list[:last]
	*h = list
	for i := 0; ; {
		down := 2*i + 1
		if down >= last {
			break
		}
		if down+1 < last && list[down+1] < list[down] {
			down++
		}
		if list[i] <= list[down] {
			break
		}
		list[i], list[down] = list[down], list[i]
		i = down
	}
	return int32(uint32(top)), true
}

func sortInts(list []int32) { slices.Sort(list) }

// sort sorts nodes by their places.
func (l *line) sort(nodes []int32) {
	slices.SortFunc(nodes, func(a, b int32) int { return int(l.pos[a] - l.pos[b]) })
}
