package lattice

import (
	"strings"
	"sync"
)

// closures is what follows from the two tables, by places in them.
type closures struct {
	model   map[string]int // by each of its names
	anomaly map[string]int

	weaker     [][]int  // by model: the next weaker ones
	proscribed [][]int  // by model: the anomalies in its row
	implied    [][]bool // by model: those that hold where it does
	forbidden  [][]bool // by model: the anomalies that fail a test of it
	general    [][]bool // by anomaly: what a history that has it has too
	cases      [][]bool // by anomaly: those that have it too
}

// tables is asked many times for each history that is judged, so what follows from
// the tables is worked out once.
var tables = sync.OnceValue(func() *closures {
	t := &closures{model: make(map[string]int), anomaly: make(map[string]int)}
	for i, a := range anomalies {
		t.anomaly[a.name] = i
	}
	for i, m := range models {
		t.model[m.name] = i
		for _, alias := range m.aliases {
			t.model[alias] = i
		}
	}
	t.general, t.cases = square(len(anomalies)), square(len(anomalies))
	for i := range anomalies {
		for _, a := range t.from(i) {
			t.general[i][a], t.cases[a][i] = true, true
		}
	}
	t.implied = square(len(models))
	for i, m := range models {
		t.implied[i][i] = true
		var weaker, proscribed []int
		found := make([]bool, len(anomalies))
		// The table has every model after those that it implies.
		for _, name := range m.implies {
			w := t.model[name]
			weaker = append(weaker, w)
			union(t.implied[i], t.implied[w])
			union(found, t.forbidden[w])
		}
		for _, name := range m.forbids {
			a := t.anomaly[name]
			proscribed = append(proscribed, a)
			union(found, t.cases[a])
		}
		t.weaker = append(t.weaker, weaker)
		t.proscribed = append(t.proscribed, proscribed)
		t.forbidden = append(t.forbidden, found)
	}
	return t
})

// from returns an anomaly and all that it implies.
func (t *closures) from(a int) []int {
	all := []int{a}
	seen := map[int]bool{a: true}
	for n := 0; n < len(all); n++ {
		for _, name := range anomalies[all[n]].implies {
			if next := t.anomaly[name]; !seen[next] {
				seen[next] = true
				all = append(all, next)
			}
		}
	}
	return all
}

// modelAt returns the place of a model, given by any of its names, or -1.
func modelAt(name string) int { return placeOf(tables().model, name) }

// anomalyAt returns the place of an anomaly, or -1.
func anomalyAt(name string) int { return placeOf(tables().anomaly, name) }

func placeOf(places map[string]int, name string) int {
	if at, ok := places[strings.TrimPrefix(name, ":")]; ok {
		return at
	}
	return -1
}

// reached joins the rows of the anomalies named.
func reached(names []string, rows [][]bool) []bool {
	found := make([]bool, len(anomalies))
	for _, name := range names {
		if at := anomalyAt(name); at >= 0 {
			union(found, rows[at])
		}
	}
	return found
}

func union(into, from []bool) {
	for i, in := range from {
		into[i] = into[i] || in
	}
}

func square(n int) [][]bool {
	rows := make([][]bool, n)
	for i := range rows {
		rows[i] = make([]bool, n)
	}
	return rows
}

func pick(which []bool, name func(int) string) []string {
	var names []string
	for i, in := range which {
		if in {
			names = append(names, name(i))
		}
	}
	return names
}
