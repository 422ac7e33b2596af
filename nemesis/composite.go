package nemesis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/jepgo/jepgo/history"
)

// piece is one of the faults that a composite one is made of.
type piece struct {
	name string // with its spec
	app  Application
}

// planPieces plans faults on the same nodes. Each has a generator of its own, so
// that what one draws does not shift what the next one gets.
func planPieces(ctx context.Context, net Net, rng *rand.Rand, nodes []string, faults []Fault) ([]piece, error) {
	net.Only = nodes
	var pieces []piece
	for _, f := range faults {
		app, err := f.Plan(ctx, net, rand.New(rand.NewPCG(rng.Uint64(), rng.Uint64())))
		if err != nil {
			return nil, err
		}
		pieces = append(pieces, piece{f.Name(), app})
	}
	return pieces, nil
}

// together is an application of several faults at once: applied in their order,
// undone in reverse, with the evidence of each.
type together struct {
	nodes   []string
	pieces  []piece
	applied int // pieces whose Apply was called
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
	for _, p := range t.pieces {
		t.applied++
		if err := p.app.Apply(ctx); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return nil
}

// Probe asks for the evidence of every piece: a brownout of which only a part
// bites is another fault.
func (t *together) Probe(ctx context.Context) (history.Value, error) {
	return t.gather(func(p piece) (history.Value, error) { return p.app.Probe(ctx) })
}

// gather asks all at the same time, because they bite at the same time.
func (t *together) gather(ask func(p piece) (history.Value, error)) (history.Value, error) {
	values := make([]history.Value, len(t.pieces))
	err := each(len(t.pieces), func(i int) (err error) {
		if values[i], err = ask(t.pieces[i]); err != nil {
			err = fmt.Errorf("%s: %w", t.pieces[i].name, err)
		}
		return err
	})
	if err != nil {
		return history.Value{}, err
	}
	var kvs []history.Value
	for i, p := range t.pieces {
		kvs = append(kvs, history.Text(p.name), values[i])
	}
	return history.MapOf(kvs...), nil
}

// Undo goes on after an error: what can be taken back is.
func (t *together) Undo(ctx context.Context) error {
	var errs []error
	for _, p := range slices.Backward(t.pieces[:t.applied]) {
		if err := p.app.Undo(ctx); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", p.name, err))
		}
	}
	return errors.Join(errs...)
}

func (t *together) VerifyUndone(ctx context.Context) (history.Value, error) {
	t.pieces = t.pieces[:t.applied] // of the others there is nothing to see
	return t.gather(func(p piece) (history.Value, error) { return p.app.VerifyUndone(ctx) })
}
