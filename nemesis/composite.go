package nemesis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/jepgo/jepgo/history"
)

// piece is one of the faults that a composite one is made of.
type piece struct {
	name string // with its spec
	app  Application
}

// partError says which part of a composite fault is in its way, and why.
type partError struct {
	whole, part string
	err         error
}

// Error has the reason without the name that the part itself puts before it.
func (e *partError) Error() string {
	why := strings.TrimPrefix(e.err.Error(), fmt.Sprintf("nemesis %q: ", e.part))
	return fmt.Sprintf("nemesis %q: its part %s: %s", e.whole, e.part, why)
}

func (e *partError) Unwrap() error { return e.err }

// planPieces plans the parts of a composite fault, the whole, on the same nodes.
// Each has a generator of its own, so that what one draws does not shift what the
// next one gets.
func planPieces(ctx context.Context, net Net, rng *rand.Rand, nodes []string, whole string, faults []Fault) ([]piece, error) {
	net.Only = nodes
	var pieces []piece
	for _, f := range faults {
		app, err := f.Plan(ctx, net, rand.New(rand.NewPCG(rng.Uint64(), rng.Uint64())))
		if err != nil {
			return nil, &partError{whole, f.Name(), err}
		}
		pieces = append(pieces, piece{f.Name(), app})
	}
	return pieces, nil
}

// together is an application of several faults on the same nodes, which are all
// in force in the end. Each is seen to bite before the next is applied, because
// what the next does would be measured with it; each is seen undone before the
// one under it is taken back, for the same reason.
type together struct {
	nodes  []string
	pieces []piece

	applied int             // pieces whose Apply was called
	bites   []history.Value // evidence of pieces, in their order
	undone  []history.Value // of those applied; nil where it was not seen yet
}

func (t *together) Value() history.Value {
	var parts []history.Value
	restarts := false
	for _, p := range t.pieces {
		v := p.app.Value()
		yes, _ := v.Field("restarts")
		flag, _ := yes.Flag()
		restarts = restarts || flag
		parts = append(parts, history.Text(p.name), v)
	}
	kvs := []history.Value{
		history.Keyword("nodes"), history.Vec(texts(t.nodes)...),
		history.Keyword("parts"), history.MapOf(parts...),
	}
	if restarts {
		kvs = append(kvs, history.Keyword("restarts"), history.Flag(true))
	}
	return history.MapOf(kvs...)
}

// UndoSteps are those of all, in the order of Apply: Heal goes backwards.
func (t *together) UndoSteps() []Step {
	var steps []Step
	for _, p := range t.pieces {
		steps = append(steps, p.app.UndoSteps()...)
	}
	return steps
}

func (t *together) Apply(ctx context.Context) error {
	for i, p := range t.pieces {
		t.applied++
		t.undone = append(t.undone, history.Value{})
		if err := p.app.Apply(ctx); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		if i == len(t.pieces)-1 {
			break // Probe's
		}
		if err := t.probe(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

func (t *together) probe(ctx context.Context, p piece) error {
	v, err := p.app.Probe(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	t.bites = append(t.bites, v)
	return nil
}

// Probe has the evidence of every piece: a composite of which only a part bites
// is another fault.
func (t *together) Probe(ctx context.Context) (history.Value, error) {
	if len(t.bites) != len(t.pieces)-1 {
		return history.Value{}, errors.New("not all of its parts were applied")
	}
	if err := t.probe(ctx, t.pieces[len(t.pieces)-1]); err != nil {
		return history.Value{}, err
	}
	return t.evidence(t.bites), nil
}

func (t *together) evidence(values []history.Value) history.Value {
	var kvs []history.Value
	for i, v := range values {
		kvs = append(kvs, history.Text(t.pieces[i].name), v)
	}
	return history.MapOf(kvs...)
}

// Stands asks the parts.
func (t *together) Stands() error {
	var errs []error
	for _, p := range t.pieces {
		if s, ok := p.app.(Standing); ok {
			if err := s.Stands(); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", p.name, err))
			}
		}
	}
	return errors.Join(errs...)
}

// Undo goes on after an error: what can be taken back is.
func (t *together) Undo(ctx context.Context) error {
	var errs []error
	for i, p := range slices.Backward(t.pieces[:t.applied]) {
		if !t.undone[i].IsNil() {
			continue
		}
		err := p.app.Undo(ctx)
		if err == nil {
			t.undone[i], err = p.app.VerifyUndone(ctx)
		}
		if err != nil {
			t.undone[i] = history.Value{}
			errs = append(errs, fmt.Errorf("%s: %w", p.name, err))
		}
	}
	return errors.Join(errs...)
}

// VerifyUndone has what Undo saw.
func (t *together) VerifyUndone(context.Context) (history.Value, error) {
	for i, v := range t.undone {
		if v.IsNil() {
			return history.Value{}, fmt.Errorf("%s: not seen to be undone", t.pieces[i].name)
		}
	}
	return t.evidence(t.undone), nil
}
