package format

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/jepgo/jepgo/history"
)

// checkEvery is how many events pass between two looks at a context.
const checkEvery = 4096

// stream is a history that is read again for each use.
type stream struct {
	in *input
	// begin starts to read. An op that it reads is valid until the next one is
	// read, unless keep is set.
	begin func(r io.Reader, keep bool) history.Reader
	found *history.CutError
}

// read gives take every op that can be read, each at the place of the one before.
// A cut is no error; io.EOF from take ends the reading, without one.
func (s *stream) read(keep bool, take func(at int, op *history.Op) error) error {
	text, err := s.in.open()
	if err != nil {
		return err
	}
	defer text.Close()
	reader := s.begin(text, keep)
	var op history.Op // one for all: take gets its address
	for at := 0; ; at++ {
		op, err = reader.Read()
		if err == io.EOF || errors.As(err, &s.found) {
			return nil
		}
		if err != nil {
			return s.in.failed(err)
		}
		if err := take(at, &op); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
	}
}

func (s *stream) ops(take func(at int, op *history.Op) error) error { return s.read(true, take) }

func (s *stream) each(ctx context.Context, take func(*history.Event) error) error {
	var tape history.Tape
	var e history.Event
	return s.read(false, func(at int, op *history.Op) error {
		if at%checkEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		tape.Reset()
		e = history.EventOf(at, op, &tape)
		return take(&e)
	})
}

func (s *stream) history() (*history.History, error) {
	h := &history.History{}
	err := s.read(true, func(_ int, op *history.Op) error {
		h.Ops = append(h.Ops, *op)
		return nil
	})
	h.Cut = s.found
	return h, err
}

func (s *stream) source() history.Source    { return s }
func (s *stream) cut() *history.CutError    { return s.found }
func (s *stream) skipped() *history.Skipped { return nil }
func (s *stream) close() error              { return nil }

// Ops reads the file up to the last of the positions.
func (s *stream) Ops(positions []int) ([]history.Op, error) {
	ops := make([]history.Op, len(positions))
	order := make([]int, len(positions)) // places in positions, by position
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return positions[a] - positions[b] })
	if len(order) > 0 && positions[order[0]] < 0 {
		return nil, fmt.Errorf("position %d is outside the history", positions[order[0]])
	}
	seen, next := 0, 0
	err := s.read(true, func(at int, op *history.Op) error {
		seen = at + 1
		for next < len(order) && positions[order[next]] == at {
			ops[order[next]] = *op
			next++
		}
		if next == len(order) {
			return io.EOF
		}
		return nil
	})
	if err == nil && next < len(order) {
		err = fmt.Errorf("position %d is outside the history of %d ops", positions[order[next]], seen)
	}
	if err != nil {
		return nil, err
	}
	return ops, nil
}
