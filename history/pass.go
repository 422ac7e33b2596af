package history

import (
	"context"
	"errors"
	"io"
)

// pass reads a text once, from its start to its end or an error.
//
// Chunks are parsed as if each of them began with an op. That is so of the first
// one, and of another when the one before it ended behind an op: only then what
// was parsed counts. Where parsing stopped early, the general reader goes on from
// there with one op, since it alone knows what is around the ops; and what is
// left of the chunk in which that op ends is parsed anew. So what is read depends
// neither on where chunks end nor on who parses them when.
type pass struct {
	*supply
	ctx  context.Context
	sink sink

	c      *chunk // nil behind the last one
	base   int64  // offset of c
	lines  int    // line ends before c
	column int    // characters before c in its line

	serial *ednReader // the general reader
	handed int        // bytes of c that serial has
	some   bool       // there was an op
	over   bool       // the text is, and cut says how
	cut    *CutError
}

// sink takes what a pass reads, in order.
type sink interface {
	// chunk takes what was parsed of a chunk that begins at that offset.
	chunk(c *chunk, base int64) error
	// op takes an op that begins behind that offset, and nothing else between.
	op(op *Op, offset int64) error
}

// run reads text to its end. The error is that of the text, as a reader gives
// it, or of ctx or s.
func run(ctx context.Context, text io.Reader, s sink, o supplyOptions) (*pass, error) {
	p := &pass{supply: newSupply(text, o), ctx: ctx, sink: s}
	defer p.stop()
	p.serial = newEDNReader(p)
	p.serial.skips = true
	for !p.over && p.advance() {
		if err := p.chunk(); err != nil {
			return p, err
		}
	}
	for !p.over { // only serial knows whether anything is still open
		if err := p.general(); err != nil {
			return p, err
		}
	}
	return p, nil
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

// chunk hands on the ops of the chunk, and where one of them goes on beyond it
// those of the chunks up to the next one that starts with an op.
func (p *pass) chunk() error {
	for {
		if err := p.ctx.Err(); err != nil {
			return err
		}
		if p.c.count() > 0 {
			p.some = true
			if err := p.sink.chunk(p.c, p.base); err != nil {
				return err
			}
		}
		if p.c.stopped == p.c.n {
			return nil
		}
		if err := p.general(); err != nil || p.over || p.c == nil {
			return err
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
	offset := r.offset()
	r.begun = r.begun || offset > 0
	r.some = r.some || p.some
	op, err := r.Read()
	if err == io.EOF || errors.As(err, &p.cut) {
		p.over = true
		return nil
	}
	if err != nil {
		return err
	}
	if err := p.sink.op(&op, offset); err != nil {
		return err
	}
	if p.c != nil {
		p.c.parse(int(r.offset() - p.base))
	}
	return nil
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
