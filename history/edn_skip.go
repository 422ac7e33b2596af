package history

import (
	"bytes"
	"errors"
	"fmt"
)

// Skipped says that there are ops in a file that could not be read and are
// missing from the history: one that an op of theirs explains may look like an
// anomaly, and one that they would show may stay hidden.
type Skipped struct {
	Ops   int          // how many, at least: where an op ends that cannot be read is a guess
	First *SyntaxError // where and why the first of them could not be read
}

func (s *Skipped) String() string {
	if s.Ops == 1 {
		return fmt.Sprintf("1 op could not be read and was left out: %v", s.First)
	}
	return fmt.Sprintf("%d ops could not be read and were left out; the first: %v", s.Ops, s.First)
}

// pass passes over the op that could not be read because of err. It returns the
// error with which reading ends if it cannot.
func (r *ednReader) pass(err error) error {
	var syntax *SyntaxError
	if !r.skips || !errors.As(err, &syntax) {
		return err
	}
	if !r.inOp || syntax.final || !r.resume() {
		if !r.some && r.skipped != nil {
			return r.skipped.First // this is no history at all
		}
		return err
	}
	if r.skipped == nil {
		r.skipped = &Skipped{First: syntax}
	}
	r.skipped.Ops++
	return nil
}

// resume goes to the next line that begins as an op does: with a map or a tag,
// not indented or as far as the first op. It returns false where there is none,
// or none near.
func (r *ednReader) resume() bool {
	r.limit = 0
	for end := r.offset() + maxOp; r.offset() < end; {
		at := bytes.IndexByte(r.buf[r.pos:r.end], '\n')
		if at < 0 {
			r.pos = r.end
			r.start = r.pos
			if !r.more() {
				return false
			}
			continue
		}
		r.pos += at + 1
		r.start = r.pos
		if r.opAhead() {
			return true
		}
	}
	return false
}

// opAhead reports whether the line that begins here looks like the start of an op.
func (r *ednReader) opAhead() bool {
	const most = 64 // indentation beyond that is none that a program prints
	indent := min(r.indent, most)
	for r.end-r.pos < indent+2 && r.more() {
	}
	line := r.buf[r.pos:r.end]
	spaces := 0
	for spaces < min(indent, len(line)) && (line[spaces] == ' ' || line[spaces] == '\t') {
		spaces++
	}
	if spaces > 0 && spaces < indent || len(line) < spaces+2 {
		return false
	}
	c, next := line[spaces], line[spaces+1]
	return c == '{' || c == '#' && (next == ':' || next|0x20 >= 'a' && next|0x20 <= 'z')
}
