package chain

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/jepgo/jepgo/checker"
)

// maxClimb bounds how far one reorganisation is followed through parents; a
// deeper one counts as not measured.
const maxClimb = 1 << 14

// reorgs measures how often a node's head left the branch that it was on.
type reorgs struct {
	t     *tree
	heads map[string][]headAt
}

type headAt struct {
	id int32
	op int
}

func newReorgs(t *tree) *reorgs { return &reorgs{t: t, heads: make(map[string][]headAt)} }

// head notes the next head of a node.
func (r *reorgs) head(node string, id int32, op int) {
	list := r.heads[node]
	if len(list) == 0 || list[len(list)-1].id != id {
		r.heads[node] = append(list, headAt{id, op})
	}
}

// measure climbs from each pair of successive heads to their last common
// ancestor, once all parents are known. A reorganisation is a warning: whether
// it is more is for the final tag to say.
func (r *reorgs) measure(ctx context.Context, found *findings) []checker.Stat {
	var stats []checker.Stat
	for _, node := range slices.Sorted(maps.Keys(r.heads)) {
		list := r.heads[node]
		count, fell, gaps := 0, 0, 0
		var deepest int64
		for i := 1; i < len(list) && ctx.Err() == nil; i++ {
			depth, ok := r.depth(list[i-1].id, list[i].id)
			before, now := &r.t.blocks[list[i-1].id], &r.t.blocks[list[i].id]
			switch {
			case !ok:
				gaps++
			case depth == 0:
			case before.N-depth == now.N:
				fell++
				found.warn("%s's head fell from %d (op %d) to its ancestor %d (op %d)", node, before.N, list[i-1].op, now.N, list[i].op)
			default:
				count++
				deepest = max(deepest, depth)
				found.warn("%s's head left %s behind: from %d %s (op %d) to %d %s (op %d)",
					node, plural(int(depth), "block"), before.N, short(before.H), list[i-1].op, now.N, short(now.H), list[i].op)
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
	top, known := r.t.height(a)
	other, known2 := r.t.height(b)
	if !known || !known2 {
		return 0, false
	}
	n := min(top, other)
	if a, ok = r.t.ancestor(a, n, maxClimb); !ok {
		return 0, false
	}
	if b, ok = r.t.ancestor(b, n, maxClimb); !ok {
		return 0, false
	}
	for range maxClimb {
		if a == b {
			return top - n, true
		}
		a, b, n = r.t.blocks[a].parent, r.t.blocks[b].parent, n-1
		if x, known := r.t.height(a); !known || x != n {
			return 0, false
		}
		if x, known := r.t.height(b); !known || x != n {
			return 0, false
		}
	}
	return 0, false
}
