package history

import "context"

// Each delivers the events of the history in order, on the calling goroutine. An
// event, and what its Value views, holds until take returns. Each ends with the
// error of take, with that of ctx, or with the one that ReadAll would give. It
// may be called again and begins anew. It cannot end while the input is waited
// for, as at a terminal.
func (s *Scan) Each(ctx context.Context, take func(*Event) error) error {
	s.count, s.places = 0, nil
	s.cut, s.skipped = nil, nil
	text, err := s.in.open()
	if err != nil {
		return s.fail(err)
	}
	defer text.close()
	s.packed = text.packed
	to := &events{s: s, take: take}
	p, err := run(ctx, text, to, supplyOptions{workers: s.workers, chunk: s.chunkSize, first: s.first})
	if s.first = p.first; p.started {
		s.first = nil // a long history has better use for the memory
	}
	s.cut, s.skipped, s.indent = p.cut, p.serial.skipped, p.serial.indent
	if err != nil && !to.refused && ctx.Err() == nil {
		err = s.fail(err)
	}
	return err
}

// events hands on events to take, and remembers where they are.
type events struct {
	s       *Scan
	take    func(*Event) error
	tape    Tape // of single ops
	refused bool // take ended it
}

func (to *events) chunk(c *chunk, base int64) error {
	for i := range c.events {
		if err := to.event(&c.events[i], base+int64(c.starts[i])); err != nil {
			return err
		}
	}
	return nil
}

func (to *events) op(op *Op, offset int64) error {
	to.tape.Reset()
	e := op.event(&to.tape, &to.tape)
	return to.event(&e, offset)
}

func (to *events) event(e *Event, offset int64) error {
	e.Position = to.s.count
	if e.Position%to.s.every == 0 {
		to.s.places = append(to.s.places, offset)
	}
	to.s.count++
	err := to.take(e)
	to.refused = err != nil
	return err
}
