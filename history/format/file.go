package format

import (
	"context"
	"errors"

	"github.com/jepgo/jepgo/history"
)

// Traits is what a format says about how its histories are to be judged. The
// zero Traits says nothing.
type Traits struct {
	// NilAbsent: a read of nil saw that the key is absent. Otherwise it saw nothing.
	NilAbsent bool
	// Keyed: the value of every client op is [key value].
	Keyed bool
	// Model is the kind of history, as the checkers call it: cas-register, kv,
	// rw-register, register; "" where the format holds any kind.
	Model string
	// NoRealtime: the order of ops in the file is the order within each process
	// and says nothing between processes.
	NoRealtime bool
	// InitialTxn: the first op of the file wrote the initial state, and comes before
	// every other op.
	InitialTxn bool
}

// File is an open history. It is for one goroutine.
type File struct {
	in     *input
	format string
	traits Traits
	body   body
}

// body is the history in a File.
type body interface {
	each(ctx context.Context, take func(*history.Event) error) error
	ops(take func(at int, op *history.Op) error) error
	source() history.Source
	cut() *history.CutError
	skipped() *history.Skipped
	history() (*history.History, error)
	close() error
}

// Format returns the name of the format, one of Names.
func (f *File) Format() string { return f.format }

// Traits returns what the format says about its histories.
func (f *File) Traits() Traits { return f.traits }

// Each calls take with every event in order, from the first one on each time it
// is called, and stops at the first error. The event is valid until take returns.
func (f *File) Each(ctx context.Context, take func(*history.Event) error) error {
	return f.body.each(ctx, take)
}

// Source gives back ops by their position, after Each, and may read the file
// again.
func (f *File) Source() history.Source { return f.body.source() }

// Cut is not nil when the file was found to end in the middle of an op. Everything
// before it was kept. It is known when Each or History have returned.
func (f *File) Cut() *history.CutError { return f.body.cut() }

// Skipped is not nil when ops could not be read and were left out. It is known
// when Each or History have returned.
func (f *File) Skipped() *history.Skipped { return f.body.skipped() }

// History reads everything into memory. An error comes with the ops before it.
func (f *File) History() (*history.History, error) { return f.body.history() }

// Close ends the use of f.
func (f *File) Close() error { return errors.Join(f.body.close(), f.in.close()) }
