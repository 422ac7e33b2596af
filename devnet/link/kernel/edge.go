package kernel

import (
	"errors"
	"sync"

	"github.com/jepgo/jepgo/devnet/link"
)

// edge is one direction between two nodes.
type edge struct {
	links    *Links
	from, to *node

	mu     sync.Mutex // guards what follows, and changes of the edge
	state  link.State
	last   link.Counters // as read last
	resets int64
}

// State returns what the edge is asked to do.
func (ed *edge) State() link.State {
	ed.mu.Lock()
	defer ed.mu.Unlock()
	return ed.state
}

// Counters returns what the kernel has counted on the edge, and what was read last
// after Close. Held is how often a packet found the line of a rate busy, and at most
// how many there were; for how long they waited the kernel does not say. A SYN that
// is sent again counts again.
func (ed *edge) Counters() link.Counters {
	ed.mu.Lock()
	defer ed.mu.Unlock()
	if c, err := read(ed); err == nil {
		ed.last = c
	}
	c := ed.last
	c.Resets = ed.resets
	return c
}

// Change replaces what the edge is asked to do; after an error it has the state that
// it had, as far as the kernel lets it. TCP sends again what a cut swallowed, so
// connections outlive it. What a rate held back leaves when the rate is taken away;
// what has not left after a second is lost.
func (ed *edge) Change(f func(*link.State)) error {
	defer settle() // also where nothing changed: who did may not have returned yet
	ed.mu.Lock()
	defer ed.mu.Unlock()
	was := ed.state
	f(&ed.state)
	if ed.state == was {
		return nil
	}
	if err := enforce(ed, was.Shape.Rate); err != nil {
		rate := ed.state.Shape.Rate
		ed.state = was
		return errors.Join(err, enforce(ed, rate))
	}
	return nil
}

// Reset breaks the connections between the two nodes, in both namespaces.
func (ed *edge) Reset() (int, error) {
	ed.mu.Lock()
	defer ed.mu.Unlock()
	n, err := ed.links.Break(ed.from.name, ed.to.name, ed.from.name, ed.to.name)
	ed.resets += int64(n)
	return n, err
}
