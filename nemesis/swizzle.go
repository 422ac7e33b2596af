package nemesis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/jepgo/jepgo/devnet/link"
	"github.com/jepgo/jepgo/history"
)

// swizzling clogs nodes one by one, and unclogs them in another order: what
// found the most bugs in FoundationDB's simulation.
type swizzling struct {
	*cut
	clog, unclog []string // the orders
	gap          time.Duration

	unclogged int // of unclog
}

func swizzle(c *cut, side []string, _ partitionFault, rng *rand.Rand) Application {
	s := &swizzling{cut: c, clog: side, unclog: shuffled(side, rng), gap: time.Duration(1+rng.IntN(10)) * 50 * time.Millisecond}
	if slices.Equal(s.clog, s.unclog) {
		slices.Reverse(s.unclog)
	}
	return s
}

func (s *swizzling) brief() string { return s.kind + ": " + strings.Join(s.clog, " ") }

func (s *swizzling) Value() history.Value {
	return history.MapOf(append(s.parts(),
		history.Keyword("unclog"), history.Vec(texts(s.unclog)...),
		history.Keyword("gap-ms"), history.Int(s.gap.Milliseconds()))...)
}

// touching lists the edges of the cut from or to a node.
func (s *swizzling) touching(node string) []link.Edge {
	return slices.DeleteFunc(slices.Clone(s.edges), func(e link.Edge) bool { return e.From != node && e.To != node })
}

// Apply clogs each node when the one before it was seen cut off, and the gap has
// passed.
func (s *swizzling) Apply(ctx context.Context) error {
	for _, e := range s.edges {
		if s.net.Links.Counters(e).Bytes > 0 {
			s.used = append(s.used, e)
		}
	}
	s.cutAt = make(map[link.Edge]link.Counters)
	for i, node := range s.clog {
		if i > 0 && !idle(ctx, s.gap) {
			return fmt.Errorf("clogging %s: %w", node, context.Cause(ctx))
		}
		fresh := s.touching(node)
		for _, e := range fresh {
			if _, cut := s.cutAt[e]; cut {
				continue
			}
			if err := s.net.Links.Cut(e); err != nil {
				return err
			}
			s.cutAt[e] = s.net.Links.Counters(e)
		}
		err := await(ctx, look, func() (string, error) {
			for _, e := range fresh {
				was, is := s.cutAt[e], s.net.Links.Counters(e)
				if is.Dropped > was.Dropped || is.RefusedDials > was.RefusedDials {
					return "", nil
				}
			}
			return fmt.Sprintf("clogging %s: no bytes dropped and no dial refused", node), nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Undo unclogs one by one; an edge between two of them heals with the later. When
// ctx ends, or at a second call, what is left heals at once.
func (s *swizzling) Undo(ctx context.Context) error {
	for first := s.unclogged == 0; first && s.unclogged < len(s.unclog); {
		still := s.unclog[s.unclogged+1:]
		var errs []error
		for _, e := range s.touching(s.unclog[s.unclogged]) {
			if !slices.Contains(still, e.From) && !slices.Contains(still, e.To) {
				errs = append(errs, s.net.Links.Heal(e))
			}
		}
		s.unclogged++
		if err := errors.Join(errs...); err != nil {
			return err
		}
		if len(still) > 0 && !idle(ctx, s.gap) {
			break
		}
	}
	return s.cut.Undo(ctx)
}
