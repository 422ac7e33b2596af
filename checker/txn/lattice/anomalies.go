package lattice

import "slices"

// anomaly is one row of the table of anomalies: a history that has it also has
// those that it implies.
type anomaly struct {
	name    string
	implies []string
}

// anomalies begins with the cycles, each without other orders, then with the
// order of each process, then with real time.
var anomalies = slices.Concat(
	cycles("", "-process"),
	cycles("-process", "-realtime"),
	cycles("-realtime", ""),
	[]anomaly{
		// Seen in the ops themselves.
		{"G1a", []string{"G1"}},
		{"G1b", []string{"G1"}},
		{"dirty-update", []string{"G1a"}},
		{"incompatible-order", []string{"G1a"}},
		{"duplicate-elements", nil},
		{"cyclic-versions", nil},
		{"internal", nil},
		{"future-read", []string{"G1c"}},
		{"lost-update", []string{"write-skew", "G2-item"}},
		{"predicate-read-miss", nil},

		// Names that are used for kinds of the above.
		{"write-skew", []string{"G2"}},
		{"GSIa", []string{"GSI"}},
		{"GSIb", []string{"GSI", "G-SIb"}},
		{"GSI", []string{"G-SI"}},
		{"G-SI", nil},
		{"G-SIb", nil},
		{"G-cursor", nil},
		{"G-monotonic", nil},
		{"G-MSR", nil},
		{"G-update", nil},

		// Elle's proofs that there is some cycle at a level, where it found none to
		// show: of read committed and above, of the classes that the level forbids.
		// No checker here follows predicates, so that a cycle with rw edges is one of
		// items.
		{"PL-1-cycle-exists", []string{"G0"}},
		{"PL-2-cycle-exists", []string{"G1c"}},
		{"PL-SI-cycle-exists", []string{"G-nonadjacent-item"}},
		{"PL-2.99-cycle-exists", []string{"G2-item"}},
		{"PL-3-cycle-exists", []string{"G2"}},
		{"strong-session-PL-1-cycle-exists", []string{"G0-process"}},
		{"strong-session-PL-2-cycle-exists", []string{"G1c-process"}},
		{"strong-session-snapshot-isolation-cycle-exists", []string{"G-nonadjacent-item-process"}},
		{"strong-session-serializable-cycle-exists", []string{"G2-process"}},
		{"strong-PL-1-cycle-exists", []string{"G0-realtime"}},
		{"strong-PL-2-cycle-exists", []string{"G1c-realtime"}},
		{"strong-snapshot-isolation-cycle-exists", []string{"G-nonadjacent-item-realtime"}},
		{"PL-SS-cycle-exists", []string{"G2-realtime"}},

		// About the search, not about the history.
		{"empty-transaction-graph", nil},
		{"cycle-search-timeout", nil},
	},
)

// cycles are the anomalies that are cycles of dependencies, with a suffix for
// the order of operations that the cycle may also use. Each implies the same
// with the next suffix, if there is one: a cycle that does without an order is
// one where the order is allowed.
func cycles(suffix, next string) []anomaly {
	rows := []anomaly{
		{"G0", []string{"G1c"}},
		{"G1c", []string{"G1"}},
		{"G1", nil},
		{"G-single-item", []string{"G-single", "G-nonadjacent-item"}},
		{"G-single", []string{"G-nonadjacent"}},
		{"G-nonadjacent-item", []string{"G-nonadjacent", "G2-item"}},
		{"G-nonadjacent", []string{"G2"}},
		{"G2-item", []string{"G2"}},
		{"G2", nil},
	}
	for i := range rows {
		plain := rows[i].name
		for j := range rows[i].implies {
			rows[i].implies[j] += suffix
		}
		rows[i].name += suffix
		if next != "" {
			rows[i].implies = append(rows[i].implies, plain+next)
		}
	}
	return rows
}
