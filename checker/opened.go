package checker

import (
	"iter"

	"github.com/jepgo/jepgo/history"
)

// opened keeps something for each client operation that is open. The zero opened
// is ready for use. It holds what is open only, so crashed clients aside it is as
// small as the concurrency is, but for a place for each client of a small number.
type opened[T any] struct {
	near []place[T]  // by client, of small numbers
	far  map[int64]T // of others
}

type place[T any] struct {
	what T
	busy bool
}

// nearClients is how many clients are found without a map. Jepsen counts a client
// up when it crashes.
const nearClients = 1 << 12

// begin notes that a client invoked something.
func (o *opened[T]) begin(p history.Process, what T) {
	n, ok := p.Client()
	switch {
	case !ok:
	case 0 <= n && n < nearClients:
		for int(n) >= len(o.near) {
			o.near = append(o.near, place[T]{})
		}
		o.near[n] = place[T]{what, true}
	default:
		if o.far == nil {
			o.far = make(map[int64]T)
		}
		o.far[n] = what
	}
}

// end takes away what the client of a completion has open; ok is false when that
// is nothing, as for every op without a process.
func (o *opened[T]) end(p history.Process) (what T, ok bool) {
	n, client := p.Client()
	switch {
	case !client:
	case 0 <= n && n < int64(len(o.near)):
		now := &o.near[n]
		what, ok = now.what, now.busy
		*now = place[T]{}
	default:
		if what, ok = o.far[n]; ok {
			delete(o.far, n)
		}
	}
	return what, ok
}

// all is what is open, in no order.
func (o *opened[T]) all() iter.Seq[T] {
	return func(yield func(T) bool) {
		for i := range o.near {
			if o.near[i].busy && !yield(o.near[i].what) {
				return
			}
		}
		for _, what := range o.far {
			if !yield(what) {
				return
			}
		}
	}
}

// ofClient reports whether a model of clients' operations looks at the event.
// Ops without a process count: some histories have none at all.
func ofClient(e *history.Event) bool { return e.Process.IsClient() || e.Process.IsZero() }

// nowhere is the position of an op that the history lacks.
const nowhere = -1
