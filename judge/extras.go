package judge

import (
	"slices"

	"github.com/jepgo/jepgo/checker"
)

// extra is a checker that may judge a history beside its model's.
type extra struct {
	name  string
	begin func() checker.Stream
	usual bool // goes with a workload
}

// extras lists them. To add one, add it here.
func extras() []extra {
	return []extra{
		{"unhandled-exceptions", checker.Exceptions, true},
		{"perf", func() checker.Stream { return checker.Perf(checker.PerfOptions{}) }, true},
		{"clock-plot", func() checker.Stream { return checker.ClockPlot() }, false},
	}
}

// Checkers lists what --checker takes.
func Checkers() []string {
	var names []string
	for _, e := range extras() {
		names = append(names, e.name)
	}
	return names
}

// beside begins the checkers that go beside the model's: sanity always, as it
// changes nothing but a valid that would mean nothing, and those asked for.
func beside(m model, o *Options) []checker.Stream {
	streams := []checker.Stream{checker.Sanity(checker.SanityOptions{Pairless: m.pairless})}
	for _, e := range extras() {
		if slices.Contains(o.Checkers, e.name) || e.usual && o.Workload != "" {
			streams = append(streams, e.begin())
		}
	}
	return streams
}
