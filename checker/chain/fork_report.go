package chain

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jepgo/jepgo/history"
)

// side is one of the final blocks of a forked height, and who stands by it.
type side struct {
	id      int32
	op      int // the first op that says so
	nodes   []string
	derived bool // nobody called it final itself, but a block above it is final
}

// gather reads the history again for what every node has at the forked heights;
// only a history with forks pays for it.
func (c fork) gather(h *history.History, t *tree, splits map[int64][]side) {
	if len(splits) == 0 {
		return
	}
	for i := range h.Ops {
		eachSighting(h, i, func(s *sighting) {
			sides, forked := splits[s.N]
			id, known := t.ids[s.H]
			if !forked || !known || !s.final(c.finalTag) {
				return
			}
			at := slices.IndexFunc(sides, func(d side) bool { return d.id == id && !d.derived })
			if at < 0 {
				at = len(sides)
				sides = append(sides, side{id: id, op: s.op})
				splits[s.N] = sides
			}
			if d := &sides[at]; !slices.Contains(d.nodes, s.node) {
				d.nodes = append(d.nodes, s.node)
			}
		})
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
func (c fork) reportSplits(t *tree, found *findings, splits map[int64][]side) {
	heights := slices.Sorted(maps.Keys(splits))
	for i := 0; i < len(heights); {
		last := i
		for last+1 < len(heights) && heights[last+1] == heights[last]+1 {
			last++
		}
		sides := splits[heights[i]]
		text := &strings.Builder{}
		fmt.Fprintf(text, "at height %d, which is final here (%s), %s.", heights[i], c.finalTag, sayViews(t, sides))
		text.WriteString(sayParents(t, sides))
		if last > i {
			fmt.Fprintf(text, " Every height from %d to %d is forked.", heights[i], heights[last])
		}
		var positions []int
		for _, d := range sides {
			positions = append(positions, d.op)
			if d.derived {
				positions = append(positions, t.blocks[d.id].nOp)
			}
		}
		told := len(found.anomalies)
		found.report("fork", text.String(), positions...)
		if told < len(found.anomalies) {
			found.anomalies[told].Nodes = involved(sides)
		}
		found.count += last - i
		i = last + 1
	}
}

// sayViews lists what the nodes have, the side of most nodes first.
func sayViews(t *tree, sides []side) string {
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
		views[i] = fmt.Sprintf("%s %s %s (op %d)", join(d.nodes), has, short(t.blocks[d.id].H), d.op)
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
func sayParents(t *tree, sides []side) string {
	var parents []string
	for _, d := range sides {
		parent := t.blocks[d.id].Parent
		if parent == "" {
			return ""
		}
		if !slices.Contains(parents, short(parent)) {
			parents = append(parents, short(parent))
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

// join lists names as a sentence does: a, b and c.
func join(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}
