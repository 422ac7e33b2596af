package chain

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// side is one of the final blocks of a forked height, and who stands by it.
type side struct {
	block   int32
	op      int // the first op that says so
	nodes   []string
	derived bool // nobody called it final itself, but a block above it is final
}

// gather lists what every node has at the forked heights.
func (c *fork) gather(splits map[int64][]side) {
	for n := range splits {
		claims := slices.Clone(c.heights[c.at[n]])
		slices.SortFunc(claims, func(a, b claim) int { return cmp.Compare(a.op, b.op) })
		for _, now := range claims {
			sides := splits[n]
			at := slices.IndexFunc(sides, func(d side) bool { return d.block == now.block && !d.derived })
			if at < 0 {
				at = len(sides)
				sides = append(sides, side{block: now.block, op: int(now.op)})
				splits[n] = sides
			}
			node := c.r.nodeName(now.node)
			if d := &sides[at]; !slices.Contains(d.nodes, node) {
				d.nodes = append(d.nodes, node)
			}
		}
	}
	for _, sides := range splits {
		for i := range sides {
			slices.Sort(sides[i].nodes)
		}
		slices.SortFunc(sides, func(a, b side) int {
			return cmp.Or(cmp.Compare(len(b.nodes), len(a.nodes)), cmp.Compare(a.op, b.op))
		})
	}
}

// reportSplits tells of each run of forked heights once, at its lowest.
func (c *fork) reportSplits(splits map[int64][]side) {
	heights := slices.Sorted(maps.Keys(splits))
	for i := 0; i < len(heights); {
		last := i
		for last+1 < len(heights) && heights[last+1] == heights[last]+1 {
			last++
		}
		sides := splits[heights[i]]
		text := &strings.Builder{}
		fmt.Fprintf(text, "at height %d, which is final here (%s), %s.", heights[i], c.finalTag, c.r.sayViews(sides))
		text.WriteString(c.r.sayParents(sides))
		if last > i {
			fmt.Fprintf(text, " Every height from %d to %d is forked.", heights[i], heights[last])
		}
		var positions []int
		for _, d := range sides {
			positions = append(positions, d.op)
			if d.derived {
				positions = append(positions, int(c.r.blocks[d.block].nOp))
			}
		}
		c.found.report("fork", positions, saying("%s", text)).nodes = involved(sides)
		c.found.count += last - i
		i = last + 1
	}
}

// sayViews lists what the nodes have, the side of most nodes first.
func (r *Reader) sayViews(sides []side) string {
	views := make([]string, len(sides))
	count := make(map[string]int)
	for i, d := range sides {
		has := "have"
		if len(d.nodes) == 1 {
			has = "has"
		}
		if d.derived {
			has += " a final block that stands on"
		}
		views[i] = fmt.Sprintf("%s %s %s (op %d)", join(d.nodes), has, r.short(r.blocks[d.block].h), d.op)
		for _, node := range d.nodes {
			count[node]++
		}
	}
	text := join(views)
	var torn []string
	for node, n := range count {
		if n > 1 {
			torn = append(torn, node)
		}
	}
	slices.Sort(torn)
	switch len(torn) {
	case 0:
		return text
	case 1:
		return text + ", so " + torn[0] + " contradicts itself"
	}
	return text + ", so " + join(torn) + " contradict themselves"
}

// sayParents says whether the sides part at this very height, where all of them
// name their parent.
func (r *Reader) sayParents(sides []side) string {
	var parents []string
	for _, d := range sides {
		parent := r.blocks[d.block].parent
		if parent == 0 {
			return ""
		}
		if text := r.short(parent); !slices.Contains(parents, text) {
			parents = append(parents, text)
		}
	}
	if len(parents) == 1 {
		return fmt.Sprintf(" Their parents are the same, %s.", parents[0])
	}
	return fmt.Sprintf(" Their parents differ too: %s.", join(parents))
}

// involved lists the nodes of all sides, the minority first where there is one.
func involved(sides []side) []string {
	bySize := slices.Clone(sides)
	slices.SortStableFunc(bySize, func(a, b side) int { return cmp.Compare(len(a.nodes), len(b.nodes)) })
	var nodes []string
	for _, d := range bySize {
		for _, node := range d.nodes {
			if !slices.Contains(nodes, node) {
				nodes = append(nodes, node)
			}
		}
	}
	return nodes
}
