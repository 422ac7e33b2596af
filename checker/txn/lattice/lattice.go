// Package lattice knows the consistency models of transactions and of single
// objects, which of them imply which, and which anomalies rule out which: the
// order that Elle uses (Adya 1999; Kingsbury & Alvaro, VLDB 2020), with its
// names for both. It answers what a test of some models has to look for, and
// which models an anomaly that was found rules out.
//
// All of it is in two tables (models.go, anomalies.go). Where they go beyond
// Elle's, a comment says so. Every name is accepted with or without a leading
// colon. Lists come back in the order of the tables, weaker models first.
//
// An anomaly that is named here is not always one that some checker can find:
// G-cursor, G-monotonic, G-MSR, G-update, G-SI and G-SIb only give the models
// their definitions.
package lattice

import "slices"

// Model returns the name that this package uses for a model given by any of its
// names (PL-3 is serializable, PL-SS is strict-serializable); ok is false for a
// name that is not known.
func Model(name string) (canonical string, ok bool) {
	at := modelAt(name)
	if at < 0 {
		return "", false
	}
	return models[at].name, true
}

// Anomaly reports whether a name is that of an anomaly.
func Anomaly(name string) bool {
	return anomalyAt(name) >= 0
}

// Models returns the names of all models, weaker ones before those that imply them.
func Models() []string {
	names := make([]string, len(models))
	for i := range models {
		names[i] = models[i].name
	}
	return names
}

// Aliases returns the other names of a model.
func Aliases(model string) []string {
	if at := modelAt(model); at >= 0 {
		return slices.Clone(models[at].aliases)
	}
	return nil
}

// Anomalies returns the names of all anomalies.
func Anomalies() []string {
	names := make([]string, len(anomalies))
	for i := range anomalies {
		names[i] = anomalies[i].name
	}
	return names
}

// Implied returns the models that hold wherever all the given ones hold: they
// themselves and every weaker one. Names that are not known add nothing.
func Implied(names ...string) []string {
	t := tables()
	held := make([]bool, len(models))
	for _, name := range names {
		if at := modelAt(name); at >= 0 {
			union(held, t.implied[at])
		}
	}
	return pick(held, func(i int) string { return models[i].name })
}

// Forbidden returns every anomaly that fails a test of those models: what they
// or the weaker models that they imply proscribe, and whatever implies one of
// these.
func Forbidden(names []string) []string {
	t := tables()
	found := make([]bool, len(anomalies))
	for _, name := range names {
		if at := modelAt(name); at >= 0 {
			union(found, t.forbidden[at])
		}
	}
	return pick(found, func(i int) string { return anomalies[i].name })
}

// Including returns the given anomalies and every other one that is a case of
// one of them: what a test that looks for G1 has to look for. Names that are not
// known add nothing.
func Including(names []string) []string {
	found := reached(names, tables().cases)
	return pick(found, func(i int) string { return anomalies[i].name })
}

// Broken returns the models that those anomalies rule out: the weakest of them,
// and all the stronger ones that therefore cannot hold either. They are what
// Elle calls :not and :also-not.
func Broken(names []string) (not, alsoNot []string) {
	t := tables()
	found := reached(names, t.general)
	broken := make([]bool, len(models))
	for i := range models {
		m := &models[i]
		weakest := true
		for _, weaker := range t.weaker[i] {
			if broken[weaker] {
				broken[i], weakest = true, false
			}
		}
		for _, a := range t.proscribed[i] {
			broken[i] = broken[i] || found[a]
		}
		switch {
		case broken[i] && weakest:
			not = append(not, m.name)
		case broken[i]:
			alsoNot = append(alsoNot, m.name)
		}
	}
	return not, alsoNot
}

// Unchecked reports whether a model is one that no anomaly of this lattice rules
// out by itself, so that a test of it alone would look for nothing; advice is a
// clause that says who does judge it.
func Unchecked(model string) (advice string, unchecked bool) {
	at := modelAt(model)
	if at < 0 || len(Forbidden([]string{model})) > 0 {
		return "", false
	}
	return models[at].judge, true
}
