package history

import (
	"context"
	"errors"
	"io"
)

func (s *Scan) each(ctx context.Context, take func(*Event) error) error {
	s.count, s.cut, s.places = 0, nil, nil
	text, err := s.in.open()
	if err != nil {
		return s.fail(err)
	}
	defer text.close()
	s.packed = text.packed
	r := newEDNReader(text)
	var tape Tape
	var e Event
	for {
		if s.count%placeEvery == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			s.places = append(s.places, r.offset())
		}
		op, err := r.Read()
		if err == io.EOF || errors.As(err, &s.cut) {
			return nil
		}
		if err != nil {
			return s.fail(err)
		}
		tape.Reset()
		e = Event{Position: s.count, Index: op.Index, Time: op.Time, Type: op.Type, Process: op.Process, F: op.F, Value: tape.Append(op.Value)}
		s.count++
		if err := take(&e); err != nil {
			return err
		}
	}
}
