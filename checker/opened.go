package checker

import "github.com/jepgo/jepgo/history"

// opened keeps something for each client operation that is open. The zero opened
// is ready for use. It holds what is open only, so crashed clients aside it is as
// small as the concurrency is.
type opened[T any] struct{ byClient map[int64]T }

// begin notes that a client invoked something.
func (o *opened[T]) begin(p history.Process, what T) {
	n, ok := p.Client()
	if !ok {
		return
	}
	if o.byClient == nil {
		o.byClient = make(map[int64]T)
	}
	o.byClient[n] = what
}

// end takes away what the client of a completion has open; ok is false when that
// is nothing, as for every op without a process.
func (o *opened[T]) end(p history.Process) (what T, ok bool) {
	n, client := p.Client()
	if !client {
		return what, false
	}
	what, ok = o.byClient[n]
	if ok {
		delete(o.byClient, n)
	}
	return what, ok
}

// ofClient reports whether a model of clients' operations looks at the event.
// Ops without a process count: some histories have none at all.
func ofClient(e *history.Event) bool { return e.Process.IsClient() || e.Process.IsZero() }

// nowhere is the position of an op that the history lacks.
const nowhere = -1
