package lattice

import "testing"

// The tables name each other's rows; a name that is not there would be taken for
// the first row.
func TestTablesNameWhatIsThere(t *testing.T) {
	for i, m := range models {
		for _, name := range m.implies {
			if at := modelAt(name); at < 0 || at >= i {
				t.Errorf("%s implies %s, which is not above it", m.name, name)
			}
		}
		for _, name := range m.forbids {
			if anomalyAt(name) < 0 {
				t.Errorf("%s forbids %s, which is not there", m.name, name)
			}
		}
	}
	for _, a := range anomalies {
		for _, name := range a.implies {
			if anomalyAt(name) < 0 {
				t.Errorf("%s implies %s, which is not there", a.name, name)
			}
		}
	}
}
