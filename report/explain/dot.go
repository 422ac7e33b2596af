package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history"
)

// colour is that of a dependency in drawings.
func colour(rel string) string {
	switch strings.TrimSuffix(rel, "p") {
	case "ww":
		return "#b5482a"
	case "wr":
		return "#8a2f9e"
	case "rw":
		return "#2f55b5"
	case "realtime":
		return "#6b7280"
	}
	return "#2a8a8a" // process
}

// box is one transaction of a cycle.
type box struct {
	position int
	name     string   // T1, T2, …
	lines    []string // its value, broken into short lines
}

// boxes lists the transactions of a cycle in the order of the steps.
func boxes(a *checker.Anomaly) []box {
	names := nameSteps(a)
	list := make([]box, 0, len(names))
	for position, name := range names {
		b := box{position: position, name: name}
		for _, r := range a.Witness {
			if r.Index == position {
				b.lines = label(r.Op)
			}
		}
		list = append(list, b)
	}
	slices.SortFunc(list, func(x, y box) int {
		if len(x.name) != len(y.name) {
			return len(x.name) - len(y.name)
		}
		return strings.Compare(x.name, y.name)
	})
	return list
}

const (
	lineLength = 28
	maxLines   = 8
)

// label renders the value of an op for a box, one micro-operation a line.
func label(line string) []string {
	op, err := history.ParseValue(line)
	if err != nil {
		return []string{shorten(line)}
	}
	value, _ := op.Field("value")
	process, _ := op.Field("process")
	lines := []string{"process " + process.String()}
	parts := value.Elems()
	if value.Kind() != history.Vector && value.Kind() != history.List || len(parts) == 0 {
		return append(lines, shorten(value.String()))
	}
	for i, part := range parts {
		if i == maxLines-1 && len(parts) > maxLines {
			return append(lines, fmt.Sprintf("and %d more", len(parts)-i))
		}
		lines = append(lines, shorten(part.String()))
	}
	return lines
}

func shorten(s string) string {
	if r := []rune(s); len(r) > lineLength {
		return string(r[:lineLength/2]) + "…" + string(r[len(r)-lineLength/2+1:])
	}
	return s
}

// DOT renders a cycle for graphviz.
func DOT(a *checker.Anomaly) string {
	var t strings.Builder
	fmt.Fprintf(&t, "digraph %q {\n  node [shape=box, fontname=\"monospace\", style=rounded];\n  edge [fontname=\"sans-serif\"];\n", a.Name)
	for _, b := range boxes(a) {
		fmt.Fprintf(&t, "  %s [label=%s];\n", b.name, dotString(strings.Join(append([]string{b.name + " (op " + fmt.Sprint(b.position) + ")"}, b.lines...), "\n")))
	}
	names := nameSteps(a)
	for _, s := range a.Steps {
		fmt.Fprintf(&t, "  %s -> %s [label=%s, color=%q, fontcolor=%q, tooltip=%s];\n",
			names[s.From], names[s.To], dotString(s.Rel), colour(s.Rel), colour(s.Rel), dotString(s.Why))
	}
	t.WriteString("}\n")
	return t.String()
}

// dotString quotes for DOT, where a backslash has meanings of its own.
func dotString(s string) string {
	s = strings.ReplaceAll(s, `\`, `\\`)
	s = strings.ReplaceAll(s, `"`, `\"`)
	return `"` + strings.ReplaceAll(s, "\n", `\l`) + `"`
}
