package checker

import (
	"context"

	"github.com/jepgo/jepgo/history"
)

// Stream judges a history that passes by, event by event, so that nobody needs
// to hold all of it. Every Stream is used once, by one goroutine.
type Stream interface {
	// Name is the checker's.
	Name() string
	// Take looks at the next event. It keeps nothing that e.Value views, is fast,
	// and never panics on a malformed history; what is odd it remembers for Finish.
	Take(e *history.Event)
	// Finish judges what was taken; src gives back the ops of a witness. It ends
	// early (Unknown) when ctx does.
	Finish(ctx context.Context, src history.Source) Result
}

// Streamed returns the checker that gives each history to a Stream of its own.
func Streamed(begin func() Stream) Checker { return streamed{begin} }

type streamed struct{ begin func() Stream }

func (s streamed) Name() string { return s.begin().Name() }

func (s streamed) Check(ctx context.Context, h *history.History) Result {
	stream := s.begin()
	for e := range h.Events() {
		if e.Position%CheckEvery == 0 && ctx.Err() != nil {
			return Ended(ctx, stream.Name())
		}
		stream.Take(e)
	}
	return stream.Finish(ctx, h.Source())
}

// refsLater is a source whose user fills in the ops of refs, for all results at
// once.
type refsLater interface{ fillsRefs() }

// RefsFrom is Refs for a Source: the ops at those positions, in history order and
// each once. Negative positions are left out; where the source fails a Ref says so.
func RefsFrom(src history.Source, positions ...int) []Ref {
	positions = sortedPositions(positions)
	refs := make([]Ref, len(positions))
	if _, later := src.(refsLater); later {
		for i, at := range positions {
			refs[i].Index = at
		}
		return refs
	}
	ops, err := src.Ops(positions)
	for i, at := range positions {
		refs[i].Index = at
		if err != nil {
			refs[i].Op = "; this op could not be read again: " + err.Error()
			continue
		}
		refs[i].Op = ops[i].String()
	}
	return refs
}
