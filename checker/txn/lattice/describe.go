package lattice

import (
	"fmt"
	"slices"
	"strings"
)

// exists ends the names of cycles that Elle could not show.
const exists = "-cycle-exists"

// said has a sentence on each anomaly that is not a kind of cycle with a suffix,
// from Adya's thesis (MIT 1999), Cerone, Bernardi & Gotsman (CONCUR 2015), and
// Elle's use of both.
var said = map[string]string{
	"G0":                 "A cycle of ww edges: transactions that overwrite each other in both directions (dirty write).",
	"G1c":                "A cycle of ww and wr edges: each transaction saw, or overwrote, what the one before wrote.",
	"G1":                 "G1a, G1b or G1c.",
	"G-single-item":      "A cycle with exactly one rw edge: somebody read what another had already overwritten, and yet came after it (read skew).",
	"G-single":           "G-single-item, or the same by a predicate.",
	"G-nonadjacent-item": "A cycle with rw edges, no two of them side by side: what snapshot isolation forbids beyond G-single.",
	"G-nonadjacent":      "G-nonadjacent-item, or the same by a predicate.",
	"G2-item":            "A cycle with at least one rw edge: two transactions read what the other overwrote (write skew).",
	"G2":                 "G2-item, or the same by a predicate.",

	"G1a":                     "A read of what a transaction wrote that failed (aborted read).",
	"G1b":                     "A read of a value that its transaction overwrote itself (intermediate read).",
	"dirty-update":            "A committed write on top of a value of a transaction that failed.",
	"incompatible-order":      "Two reads show the elements of one key in two orders, neither the beginning of the other.",
	"duplicate-elements":      "One read shows an element twice.",
	"cyclic-versions":         "The versions of one key can stand in no order.",
	"internal":                "A transaction reads something else than what it read or wrote itself just before.",
	"future-read":             "A transaction reads what it writes only later.",
	"lost-update":             "Two transactions read one version of a key and both wrote the next.",
	"predicate-read-miss":     "A read by predicate misses a change that it should have seen. No checker here follows predicates.",
	"write-skew":              "Two transactions read what the other overwrote. Reported as G2-item.",
	"empty-transaction-graph": "No transaction depends on another: nothing was tested, which makes a history unknown.",
	"cycle-search-timeout":    "Elle gave up its search. The checkers here do not.",
}

// Describe says in a few sentences what an anomaly or a consistency model of that
// name is, "" where there is none.
func Describe(name string) string {
	name = strings.TrimPrefix(name, ":")
	var b strings.Builder
	switch i := modelAt(name); {
	case i >= 0:
		m := models[i]
		if len(m.aliases) > 0 {
			fmt.Fprintf(&b, "Also called %s.\n", strings.Join(m.aliases, ", "))
		}
		forbids := slices.DeleteFunc(Forbidden([]string{m.name}), func(a string) bool { return strings.HasSuffix(a, exists) })
		if len(forbids) > 0 {
			fmt.Fprintf(&b, "A history has it if none of these is in it: %s.\n", strings.Join(forbids, ", "))
		}
		if advice, unchecked := Unchecked(m.name); unchecked {
			fmt.Fprintf(&b, "Not judged by transactions: %s.\n", advice)
		}
		if len(m.implies) > 0 {
			fmt.Fprintf(&b, "It implies %s, and what these imply.\n", strings.Join(m.implies, ", "))
		}
		return b.String()
	case anomalyAt(name) < 0:
		return ""
	}
	base, order := name, ""
	for suffix, says := range map[string]string{
		"-process":  "The cycle may also use the order of one client's own transactions.\n",
		"-realtime": "The cycle may also use real time: a transaction that ended before another began.\n",
	} {
		if cut, ok := strings.CutSuffix(name, suffix); ok && said[cut] != "" {
			base, order = cut, says
		}
	}
	switch {
	case said[base] != "":
		fmt.Fprintf(&b, "%s\n%s", said[base], order)
	case strings.HasSuffix(name, exists):
		b.WriteString("Elle's proof that there is a cycle which it could not show. Here the cycle is shown, under its own name.\n")
	default:
		b.WriteString("It gives a consistency model its definition; no checker looks for it by itself.\n")
	}
	if not, also := Broken([]string{name}); len(not) > 0 {
		fmt.Fprintf(&b, "It rules out %s", strings.Join(not, ", "))
		if len(also) > 0 {
			fmt.Fprintf(&b, ", and what is stronger: %s", strings.Join(also, ", "))
		}
		b.WriteString(".\n")
	}
	return b.String()
}
