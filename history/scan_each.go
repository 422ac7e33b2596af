package history

import (
	"context"
	"errors"
	"io"
)

// pass is one run of Each.
type pass struct {
	*supply
	s    *Scan
	ctx  context.Context
	take func(*Event) error

	c      *chunk // nil behind the last one
	base   int64  // offset of c
	lines  int    // line ends before c
	column int    // characters before c in its line

	serial *ednReader // knows what is around the ops
	tape   Tape       // of what serial reads
	handed int        // bytes of c that serial has
	over   bool       // the history is
}

// each has chunks parsed as if each of them began with an op. That is so of the
// first one, and of another when the one before it ended behind an op: only then
// its events count. Where parsing stopped early, the general reader goes on from
// there with one op, and what is left of the chunk in which that op ends is
// parsed anew.
func (s *Scan) each(ctx context.Context, take func(*Event) error) error {
	s.count, s.cut, s.skipped, s.places = 0, nil, nil, nil
	text, err := s.in.open()
	if err != nil {
		return s.fail(err)
	}
	defer text.close()
	s.packed = text.packed
	p := &pass{s: s, ctx: ctx, take: take, supply: newSupply(text, s.chunkSize, s.workers)}
	defer p.stop()
	p.serial = newEDNReader(p)
	p.serial.skips = true
	for err == nil && !p.over && p.advance() {
		err = p.chunk()
	}
	for err == nil && !p.over {
		err = p.general() // only serial knows whether anything is still open
	}
	return err
}

// advance goes on to the next chunk; false behind the last one.
func (p *pass) advance() bool {
	if c := p.c; c != nil {
		if c.lines > 0 {
			p.column = 0
		}
		p.base += int64(c.n)
		p.lines += c.lines
		p.column += c.column
		p.release(c)
	}
	p.c = p.next()
	p.handed = 0
	return p.c != nil
}

// chunk delivers the events of the chunk, and where ops go on beyond it those of
// the chunks up to the next one that starts with an op.
func (p *pass) chunk() error {
	for {
		if err := p.ctx.Err(); err != nil {
			return err
		}
		for i := range p.c.events {
			if err := p.deliver(&p.c.events[i], p.base+int64(p.c.starts[i])); err != nil {
				return err
			}
		}
		if p.c.stopped == p.c.n {
			return nil
		}
		if err := p.general(); err != nil {
			return err
		}
		if p.over || p.c == nil {
			return nil
		}
	}
}

// general reads one op where parsing stopped, and parses what is behind it.
func (p *pass) general() error {
	r := p.serial
	text, at := []byte(nil), 0
	if p.c != nil {
		text, at = p.c.text(), p.c.stopped
	}
	r.lend(text, at)
	r.base, r.lines, r.column = p.base, p.lines, p.column
	p.handed = len(text)
	start := r.offset()
	r.begun = r.begun || start > 0
	r.some = r.some || p.s.count > 0
	op, err := r.Read()
	p.s.skipped, p.s.indent = r.skipped, r.indent
	if err == io.EOF || errors.As(err, &p.s.cut) {
		p.over = true
		return nil
	}
	if err != nil {
		return p.s.fail(err)
	}
	p.tape.Reset()
	e := eventOf(&op, &p.tape)
	if err := p.deliver(&e, start); err != nil {
		return err
	}
	if p.c != nil {
		p.c.parse(int(r.offset() - p.base))
	}
	return nil
}

func (p *pass) deliver(e *Event, start int64) error {
	e.Position = p.s.count
	if e.Position%placeEvery == 0 {
		p.s.places = append(p.s.places, start)
	}
	p.s.count++
	return p.take(e)
}

// Read gives serial what follows the chunk at which it began.
func (p *pass) Read(dst []byte) (int, error) {
	for p.c == nil || p.handed == p.c.n {
		if !p.advance() {
			return 0, p.supply.err
		}
	}
	n := copy(dst, p.c.text()[p.handed:])
	p.handed += n
	return n, nil
}
