package graph

import (
	"slices"
	"strings"
	"testing"
)

func TestImpliesIsElles(t *testing.T) {
	direct := map[string]string{
		"G0": "G1c", "G-single-item": "G-single G-nonadjacent-item", "G-single": "G-nonadjacent",
		"G-nonadjacent-item": "G-nonadjacent G2-item", "G-nonadjacent": "G2", "G2-item": "G2", "G1c": "", "G2": "",
	}
	edges := map[string][]string{}
	for name, others := range direct {
		for _, suffix := range []string{"", "-process", "-realtime"} {
			for _, other := range strings.Fields(others) {
				edges[name+suffix] = append(edges[name+suffix], other+suffix)
			}
		}
		edges[name] = append(edges[name], name+"-process")
		edges[name+"-process"] = append(edges[name+"-process"], name+"-realtime")
	}
	classes := Classes()
	if len(classes) != 24 {
		t.Fatalf("%d classes", len(classes))
	}
	for _, c := range classes {
		all := []string{c}
		for i := 0; i < len(all); i++ {
			for _, next := range edges[all[i]] {
				if !slices.Contains(all, next) {
					all = append(all, next)
				}
			}
		}
		got := Implies(c)
		if got[0] != c {
			t.Errorf("%s is not first of %v", c, got)
		}
		slices.Sort(all)
		slices.Sort(got)
		if !slices.Equal(got, all) {
			t.Errorf("%s implies %v, want %v", c, got, all)
		}
	}
	if Implies("G3") != nil {
		t.Error("G3 is no class")
	}
}

func TestRelString(t *testing.T) {
	for r, want := range map[Rel]string{WW: "ww", RWP: "rwp", Process: "process", Realtime: "realtime", 0: "none", WW | RW: "ww|rw"} {
		if r.String() != want {
			t.Errorf("got %s, want %s", r, want)
		}
	}
}
