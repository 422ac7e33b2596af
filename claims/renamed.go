package claims

import (
	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history"
)

// renamed gives a checker the operations of clients that names has, under the
// names that it knows them by, and no others.
func renamed(s checker.Stream, names map[string]string) checker.Stream {
	return &rename{Stream: s, names: names}
}

type rename struct {
	checker.Stream
	names map[string]string
	event history.Event
}

func (r *rename) Take(e *history.Event) {
	f, ours := r.names[e.F]
	if !ours || !e.Process.IsClient() {
		return
	}
	r.event = *e
	r.event.F = f
	r.Stream.Take(&r.event)
}
