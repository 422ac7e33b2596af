package judge

import "github.com/jepgo/jepgo/checker"

// extras are checkers that may judge a history beside its model's.
func extras() []extra {
	return nil
}

type extra struct {
	name  string
	doc   string
	begin func() checker.Stream
}

// Checkers lists what --checker takes.
func Checkers() []string {
	var names []string
	for _, e := range extras() {
		names = append(names, e.name)
	}
	return names
}
