package history

import (
	"fmt"
	"io"
	"slices"
)

const (
	placeEvery   = 64       // ops between two places that are remembered
	rereadBuffer = 16 << 10 // an op or two of a witness need no more
)

// Ops returns the ops at those positions, in the order asked for, of what Each
// delivered. It reads them again: at most 64 ops for each of them, and of a
// compressed history everything before the last.
func (s *Scan) Ops(positions []int) ([]Op, error) {
	order := make([]int, len(positions))
	for i, at := range positions {
		if at < 0 || at >= s.count {
			return nil, fmt.Errorf("position %d is outside the history of %d ops", at, s.count)
		}
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return positions[a] - positions[b] })
	ops := make([]Op, len(positions))
	again := rereader{s: s}
	defer again.close()
	for i, which := range order {
		if i > 0 && positions[which] == positions[order[i-1]] {
			ops[which] = ops[order[i-1]]
			continue
		}
		op, err := again.op(positions[which])
		if err != nil {
			return nil, s.fail(err)
		}
		ops[which] = op
	}
	return ops, nil
}

// rereader reads ops again, in rising order.
type rereader struct {
	s    *Scan
	text *counted
	r    *ednReader
	next int // position of the op that r reads next
}

func (a *rereader) op(position int) (Op, error) {
	if place := position / a.s.every; a.r == nil || place > a.next/a.s.every {
		if err := a.jump(place); err != nil {
			return Op{}, err
		}
	}
	for {
		op, err := a.r.Read()
		if err != nil {
			return Op{}, fmt.Errorf("op at position %d cannot be read again, as if the history had changed: %w", position, err)
		}
		a.next++
		if a.next > position {
			return op, nil
		}
	}
}

// jump goes on at a place that is remembered.
func (a *rereader) jump(place int) error {
	offset := a.s.places[place]
	if a.text == nil || !a.s.packed {
		if err := a.open(offset); err != nil {
			return err
		}
	}
	if a.text.n > offset {
		return nil // r has read ahead: what comes is in its buffer
	}
	if _, err := io.CopyN(io.Discard, a.text, offset-a.text.n); err != nil {
		return err
	}
	buf := make([]byte, rereadBuffer)
	if a.r != nil {
		buf = a.r.buf
	}
	a.r = newEDNReader(a.text)
	a.r.buf = buf
	a.next = place * a.s.every
	a.r.skips = true
	if place > 0 {
		a.r.begun, a.r.some, a.r.indent = true, true, a.s.indent
	}
	return nil
}

// open opens the text at offset, or at its start where it is packed.
func (a *rereader) open(offset int64) error {
	a.close()
	if !a.s.packed {
		a.text = &counted{unpacked: a.s.in.openAt(offset), n: offset}
		return nil
	}
	text, err := a.s.in.open()
	if err != nil {
		return err
	}
	a.text = &counted{unpacked: text}
	return nil
}

func (a *rereader) close() {
	if a.text != nil {
		a.text.close()
	}
}

// counted is a text of which n bytes have been read.
type counted struct {
	*unpacked
	n int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.unpacked.Read(p)
	c.n += int64(n)
	return n, err
}
