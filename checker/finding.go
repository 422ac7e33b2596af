package checker

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/jepgo/jepgo/history"
)

// enough is how many anomalies of one name a result explains; the others are
// counted.
const enough = 8

// longOp is from how many bytes on an op of a witness is shortened in its middle:
// a full read of a large set has megabytes.
const longOp = 4096

// findings collects anomalies whose witnesses are looked up at the end, together.
type findings struct {
	list   []finding
	counts map[string]int
}

type finding struct {
	Anomaly
	at []int
}

// room counts one more anomaly of that name and reports whether it is among those
// to explain.
func (f *findings) room(name string) bool {
	if f.counts == nil {
		f.counts = make(map[string]int)
	}
	f.counts[name]++
	return f.counts[name] <= enough
}

// explain adds an anomaly with the positions of its witness.
func (f *findings) explain(name string, at []int, format string, args ...any) {
	f.list = append(f.list, finding{Anomaly: Anomaly{Name: name, Message: fmt.Sprintf(format, args...)}, at: at})
}

// count is how many anomalies of that name there are.
func (f *findings) count(name string) int { return f.counts[name] }

// total is how many anomalies there are.
func (f *findings) total() int {
	n := 0
	for _, c := range f.counts {
		n += c
	}
	return n
}

// anomalies asks src once for all witnesses.
func (f *findings) anomalies(src history.Source) []Anomaly {
	var at []int
	for i := range f.list {
		at = append(at, f.list[i].at...)
	}
	if len(at) == 0 && len(f.list) == 0 {
		return nil
	}
	refs := RefsFrom(src, at...)
	shorten(refs)
	anomalies := make([]Anomaly, len(f.list))
	for i := range f.list {
		anomalies[i] = f.list[i].Anomaly
		for _, at := range sortedPositions(f.list[i].at) {
			n, found := slices.BinarySearchFunc(refs, at, func(r Ref, at int) int { return r.Index - at })
			if found {
				anomalies[i].Witness = append(anomalies[i].Witness, refs[n])
			}
		}
		if all := f.counts[f.list[i].Name]; all > enough {
			anomalies[i].Message += fmt.Sprintf(" This is one of %d of its kind.", all)
		}
	}
	return anomalies
}

// shorten cuts the middle out of ops that nobody would read to their end.
func shorten(refs []Ref) {
	for i := range refs {
		if op := refs[i].Op; len(op) > longOp {
			head := strings.ToValidUTF8(op[:longOp/2], "")
			tail := strings.ToValidUTF8(op[len(op)-longOp/2:], "")
			refs[i].Op = fmt.Sprintf("%s … (%d bytes left out) … %s", head, len(op)-longOp, tail)
		}
	}
}

// intervals renders a set of values as Jepsen does, runs of integers as
// first..last, at most so many runs.
func (in *interner) intervals(ids []int32) string {
	const most = 24
	var ints []int64
	var others []string
	for _, id := range ids {
		if n, ok := in.integer(id); ok {
			ints = append(ints, n)
		} else {
			others = append(others, in.name(id))
		}
	}
	slices.Sort(ints)
	slices.Sort(others)
	var parts []string
	for i := 0; i < len(ints); {
		j := i
		for j+1 < len(ints) && ints[j+1] == ints[j]+1 {
			j++
		}
		if j == i {
			parts = append(parts, fmt.Sprint(ints[i]))
		} else {
			parts = append(parts, fmt.Sprintf("%d..%d", ints[i], ints[j]))
		}
		i = j + 1
	}
	parts = append(parts, others...)
	if len(parts) > most {
		parts = append(parts[:most], fmt.Sprintf("and %d more", len(parts)-most))
	}
	return "#{" + strings.Join(parts, " ") + "}"
}

// plural is "1 read", "2 reads".
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// countOf is a Stat of a number of elements and which they are.
func (in *interner) countOf(name string, ids []int32) Stat {
	if len(ids) == 0 {
		return Stat{Name: name, Value: "0"}
	}
	return Stat{Name: name, Value: fmt.Sprintf("%d: %s", len(ids), in.intervals(ids))}
}

// sortBy sorts ids by what key says of them, those of one key by number.
func sortBy(ids []int32, key func(int32) int) {
	slices.SortFunc(ids, func(a, b int32) int { return cmp.Or(cmp.Compare(key(a), key(b)), cmp.Compare(a, b)) })
}

// such continues a reason with the first sentence about the first anomaly.
func such(anomalies []Anomaly) string {
	const long = 200
	if len(anomalies) == 0 {
		return ""
	}
	text, _, _ := strings.Cut(anomalies[0].Message, ". ")
	text = strings.TrimSuffix(text, ".")
	if len(text) > long {
		text = strings.ToValidUTF8(text[:long], "") + "…"
	}
	return ": " + text
}
