package chain

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/jepgo/jepgo/checker"
)

// maxClimb bounds how far one reorganisation is followed through parents; a
// deeper one counts as not measured.
const maxClimb = 1 << 14

// reorgs measures how often a node's head left the branch that it was on.
type reorgs struct {
	r     *Reader
	heads [][]headAt // by node
}

type headAt struct {
	block, op int32
}

func newReorgs(r *Reader) *reorgs { return &reorgs{r: r} }

// head notes the next head of a node.
func (r *reorgs) head(node, block int32, op int) {
	if node < 0 {
		return
	}
	for int(node) >= len(r.heads) {
		r.heads = append(r.heads, nil)
	}
	list := r.heads[node]
	if len(list) == 0 || list[len(list)-1].block != block {
		r.heads[node] = append(list, headAt{block, int32(op)})
	}
}

// byName lists the nodes by their names.
func (r *Reader) byName() []int32 {
	list := make([]int32, len(r.nodeNames))
	for i := range list {
		list[i] = int32(i)
	}
	slices.SortFunc(list, func(a, b int32) int { return cmp.Compare(r.nodeNames[a], r.nodeNames[b]) })
	return list
}

// measure climbs from each pair of successive heads to their last common
// ancestor, once all parents are known. A reorganisation is a warning: whether
// it is more is for the final tag to say.
func (r *reorgs) measure(ctx context.Context, found *findings) []checker.Stat {
	var stats []checker.Stat
	for _, n := range r.r.byName() {
		if int(n) >= len(r.heads) {
			continue
		}
		list, node := r.heads[n], r.r.nodeName(n)
		count, fell, gaps := 0, 0, 0
		var deepest int64
		for i := 1; i < len(list) && ctx.Err() == nil; i++ {
			depth, ok := r.depth(list[i-1].block, list[i].block)
			before, now := &r.r.blocks[list[i-1].block], &r.r.blocks[list[i].block]
			switch {
			case !ok:
				gaps++
			case depth == 0:
			case before.n-depth == now.n:
				fell++
				found.warn("%s's head fell from %d (op %d) to its ancestor %d (op %d)", node, before.n, list[i-1].op, now.n, list[i].op)
			default:
				count++
				deepest = max(deepest, depth)
				found.warn("%s's head left %s behind: from %d %s (op %d) to %d %s (op %d)",
					node, plural(int(depth), "block"), before.n, r.r.short(before.h), list[i-1].op, now.n, r.r.short(now.h), list[i].op)
			}
		}
		if count > 0 || fell > 0 || gaps > 0 {
			stats = append(stats, checker.Stat{Name: "reorgs of " + node,
				Value: fmt.Sprintf("%d, deepest %d; %d times the head only fell; %d steps not measured", count, deepest, fell, gaps)})
		}
	}
	return stats
}

// depth is how many blocks of the branch that ends in a are not below b.
func (r *reorgs) depth(a, b int32) (depth int64, ok bool) {
	top, known := r.r.height(a)
	other, known2 := r.r.height(b)
	if !known || !known2 {
		return 0, false
	}
	n := min(top, other)
	if a, ok = r.r.ancestor(a, n, maxClimb); !ok {
		return 0, false
	}
	if b, ok = r.r.ancestor(b, n, maxClimb); !ok {
		return 0, false
	}
	for range maxClimb {
		if a == b {
			return top - n, true
		}
		a, b, n = r.r.blocks[a].up, r.r.blocks[b].up, n-1
		if x, known := r.r.height(a); !known || x != n {
			return 0, false
		}
		if x, known := r.r.height(b); !known || x != n {
			return 0, false
		}
	}
	return 0, false
}
