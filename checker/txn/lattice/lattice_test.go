package lattice_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jepgo/jepgo/checker/txn/lattice"
	"github.com/jepgo/jepgo/history/historytest"
)

func TestNamesAreOnlyOnceAndKnown(t *testing.T) {
	seen := make(map[string]bool)
	for _, m := range lattice.Models() {
		for _, name := range append(lattice.Aliases(m), m) {
			if seen[name] {
				t.Errorf("name %s stands for two models", name)
			}
			seen[name] = true
			if got, ok := lattice.Model(":" + name); !ok || got != m {
				t.Errorf("Model(%q) = %q, %v; want %q", ":"+name, got, ok, m)
			}
		}
	}
	anomalies := lattice.Anomalies()
	for i, a := range anomalies {
		if slices.Contains(anomalies[:i], a) {
			t.Errorf("anomaly %s is there twice", a)
		}
		if !lattice.Anomaly(a) || !lattice.Anomaly(":"+a) {
			t.Errorf("Anomaly(%q) is false", a)
		}
	}
	if _, ok := lattice.Model("PL-4"); ok || lattice.Anomaly("G3") {
		t.Error("unknown names are known")
	}
}

func TestModelsAreOrdered(t *testing.T) {
	for _, m := range lattice.Models() {
		implied := lattice.Implied(m)
		if !slices.Contains(implied, m) {
			t.Errorf("%s does not imply itself", m)
		}
		for _, w := range implied {
			// Transitive: all that the weaker one implies.
			for _, ww := range lattice.Implied(w) {
				if !slices.Contains(implied, ww) {
					t.Errorf("%s implies %s, which implies %s, but %s does not", m, w, ww, m)
				}
			}
			// Acyclic.
			if w != m && slices.Contains(lattice.Implied(w), m) {
				t.Errorf("%s and %s imply each other", m, w)
			}
			// A stronger model forbids no less.
			for _, a := range lattice.Forbidden([]string{w}) {
				if !slices.Contains(lattice.Forbidden([]string{m}), a) {
					t.Errorf("%s implies %s, but allows %s", m, w, a)
				}
			}
		}
	}
}

func TestAnomaliesAreOrdered(t *testing.T) {
	for _, a := range lattice.Anomalies() {
		cases := lattice.Including([]string{a})
		for _, c := range cases {
			for _, cc := range lattice.Including([]string{c}) {
				if !slices.Contains(cases, cc) {
					t.Errorf("%s is a %s, which is a %s, but is none", cc, c, a)
				}
			}
			if c != a && slices.Contains(lattice.Including([]string{c}), a) {
				t.Errorf("%s and %s are cases of each other", a, c)
			}
		}
	}
}

// An anomaly rules out exactly the models that forbid it.
func TestBrokenAgreesWithForbidden(t *testing.T) {
	for _, a := range lattice.Anomalies() {
		not, alsoNot := lattice.Broken([]string{a})
		for _, m := range lattice.Models() {
			broken := slices.Contains(not, m) || slices.Contains(alsoNot, m)
			if forbidden := slices.Contains(lattice.Forbidden([]string{m}), a); broken != forbidden {
				t.Errorf("%s: broken by %s %v, forbids it %v", m, a, broken, forbidden)
			}
		}
		for _, m := range not {
			for _, w := range lattice.Implied(m) {
				if w != m && (slices.Contains(not, w) || slices.Contains(alsoNot, w)) {
					t.Errorf("%s: %s is not the weakest, %s is broken too", a, m, w)
				}
			}
		}
	}
}

// What follows from the tables is worked out once, so asking again takes little but
// what the answer itself takes: a check asks dozens of times.
func TestAskingAgainIsCheap(t *testing.T) {
	lattice.Forbidden([]string{"strict-serializable"})
	for name, ask := range map[string]func(){
		"Forbidden": func() { lattice.Forbidden([]string{"strict-serializable"}) },
		"Implied":   func() { lattice.Implied("strict-serializable") },
		"Broken":    func() { lattice.Broken([]string{"G0", "lost-update"}) },
	} {
		if n := testing.AllocsPerRun(10, ask); n > 20 {
			t.Errorf("%s allocates %.0f times", name, n)
		}
	}
	// What is handed out is the caller's.
	lattice.Forbidden([]string{"serializable"})[0] = "changed"
	if got := lattice.Forbidden([]string{"serializable"})[0]; got == "changed" {
		t.Error("an answer shares what another one was made of")
	}
}

func BenchmarkForbidden(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		lattice.Forbidden([]string{"strict-serializable"})
	}
}

func TestForbidden(t *testing.T) {
	for _, c := range []struct {
		models   string
		yes, not string
	}{
		{"read-uncommitted", "G0 cyclic-versions duplicate-elements", "G1c G1a G1b internal lost-update G0-process"},
		{"read-committed", "G0 G1a G1b G1c dirty-update incompatible-order future-read", "G-single-item internal lost-update G1c-process"},
		{"read-atomic", "internal G1b future-read", "lost-update G-single"},
		{"parallel-snapshot-isolation", "lost-update G-single-item internal", "G-nonadjacent-item G2-item write-skew G-single-item-process"},
		{"snapshot-isolation", "G-single-item G-nonadjacent-item lost-update", "G2-item write-skew G-nonadjacent-item-process"},
		{"PL-2.99", "G2-item G-nonadjacent-item lost-update", "internal G2"},
		{"serializable", "G2 G2-item internal write-skew", "G0-process G2-item-realtime"},
		{"strong-session-serializable", "G2-item-process G1c-process G0-process", "G0-realtime G2-item-realtime"},
		{"strict-serializable", "G2-item-realtime G2-item-process G0-realtime lost-update internal", "empty-transaction-graph cycle-search-timeout"},
		{"strong-snapshot-isolation", "G-nonadjacent-item-realtime G1c-realtime", "G2-item-realtime G2-item"},
		{"read-committed read-atomic", "internal G1a", "lost-update"},
	} {
		got := lattice.Forbidden(strings.Fields(c.models))
		for _, a := range strings.Fields(c.yes) {
			if !slices.Contains(got, a) {
				t.Errorf("%s allows %s", c.models, a)
			}
		}
		for _, a := range strings.Fields(c.not) {
			if slices.Contains(got, a) {
				t.Errorf("%s forbids %s", c.models, a)
			}
		}
	}
}

func TestUnchecked(t *testing.T) {
	for _, m := range lattice.Models() {
		advice, unchecked := lattice.Unchecked(m)
		if unchecked != (len(lattice.Forbidden([]string{m})) == 0) || unchecked != (advice != "") {
			t.Errorf("Unchecked(%s) = %q, %v", m, advice, unchecked)
		}
	}
	for _, m := range []string{"linearizable", "sequential", "causal", "PRAM", "view-serializable"} {
		if _, unchecked := lattice.Unchecked(m); !unchecked {
			t.Errorf("%s: something is said to be checked", m)
		}
	}
}

// Elle prints the models that it rules out also for anomalies that it found but
// was not asked for, and so leaves out of its list: those stand in another row
// of the same file.
func TestCorpusNot(t *testing.T) {
	lists := regexp.MustCompile(`^\[([^]]*)\]; :not #\{([^}]*)\}`)
	all := make(map[string][]string)
	rows := historytest.Rows(t)
	for _, row := range rows {
		if m := lists.FindStringSubmatch(row.Anomalies); m != nil {
			all[row.Name] = append(all[row.Name], strings.Fields(m[1])...)
		}
	}
	compared := 0
	for _, row := range rows {
		m := lists.FindStringSubmatch(row.Anomalies)
		if m == nil {
			continue
		}
		compared++
		for _, a := range all[row.Name] {
			if !lattice.Anomaly(a) {
				t.Errorf("%s: anomaly %s is not known", row.Name, a)
			}
		}
		var want []string
		for _, name := range strings.Fields(m[2]) {
			model, ok := lattice.Model(name)
			if !ok {
				t.Errorf("%s: model %s is not known", row.Name, name)
			}
			want = append(want, model)
		}
		got, _ := lattice.Broken(all[row.Name])
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v rules out %v, Elle says %v", row.Name, all[row.Name], got, want)
		}
	}
	if compared < 40 {
		t.Errorf("compared %d rows only", compared)
	}
}
