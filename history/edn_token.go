package history

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// Limits that keep memory bounded whatever the input is.
const (
	maxToken = 64 << 20  // bytes of one string, name or number
	maxOp    = 256 << 20 // bytes of one op
	maxForms = 4 << 20   // values in one op
	maxDepth = 10_000    // collections inside each other

	maxUnreadable = 64 << 10 // bytes of one #<object>

	firstBuffer = 128 << 10
)

// scanner hands out bytes and tokens of a stream. Its buffer holds the input
// from start on and grows only while one token does.
type scanner struct {
	source io.Reader
	buf    []byte
	start  int    // first byte that must stay in buf
	pos    int    // next byte to read
	end    int    // end of the input in buf
	base   int64  // offset of buf[0] in the input
	lines  int    // line ends before buf[0]
	column int    // characters before buf[0] in its line
	limit  int64  // offset at which the op under way is too long
	err    error  // why there is no more input
	before byte   // the byte before buf[0]
	lent   bool   // buf is somebody else's, to be read only
	own    []byte // to go on with when the end of a lent buf is reached
}

// offset returns where the next byte is in the input.
func (s *scanner) offset() int64 { return s.base + int64(s.pos) }

// more reads further input behind what buf holds from start on, and may move
// it. It returns false at the end of the input and sets err.
func (s *scanner) more() bool {
	if s.err != nil {
		return false
	}
	if s.tooLong(s.end) {
		s.err = s.overlong()
		return false
	}
	if s.start > 0 || s.lent {
		s.settle()
	}
	if s.end == len(s.buf) {
		if len(s.buf) >= maxToken {
			s.err = s.refuse(0, "one token takes more than %d MiB; it starts with %s", maxToken>>20, quote(s.buf))
			return false
		}
		grown := make([]byte, min(maxToken, max(firstBuffer, 2*len(s.buf))))
		copy(grown, s.buf)
		s.buf = grown
	}
	for range 100 {
		n, err := s.source.Read(s.buf[s.end:])
		s.end += n
		switch {
		case err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF):
			s.err = err
		case err != nil:
			s.err = fmt.Errorf("history cannot be read beyond byte %d: %w", s.base+int64(s.end), err)
		}
		if n > 0 {
			return true
		}
		if s.err != nil {
			return false
		}
	}
	s.err = fmt.Errorf("history cannot be read beyond byte %d: %w", s.base+int64(s.end), io.ErrNoProgress)
	return false
}

// previous returns the byte before buf[at].
func (s *scanner) previous(at int) byte {
	if at > 0 {
		return s.buf[at-1]
	}
	return s.before
}

// settle moves what must stay to the front of a buffer of its own.
func (s *scanner) settle() {
	s.lines, s.column = advance(s.lines, s.column, s.buf[:s.start])
	if s.start > 0 {
		s.before = s.buf[s.start-1]
	}
	kept := s.buf[s.start:s.end]
	if s.lent {
		if len(s.own) < len(kept) {
			s.own = make([]byte, max(firstBuffer, len(kept)))
		}
		s.buf, s.lent = s.own, false
	}
	copy(s.buf, kept)
	s.base += int64(s.start)
	s.pos -= s.start
	s.end -= s.start
	s.start = 0
}

// tooLong reports whether the op under way is too long if it goes on to buf[at].
func (s *scanner) tooLong(at int) bool {
	return s.limit > 0 && s.base+int64(at) > s.limit
}

// overlong is the error of an op that is too long. The limit is within buf: what
// was read before cannot have been beyond it.
func (s *scanner) overlong() *SyntaxError {
	return s.refuse(int(s.limit-s.base), "one op takes more than %d MiB", maxOp>>20)
}

// advance moves a line and a column over text.
func advance(lines, column int, text []byte) (int, int) {
	if at := bytes.LastIndexByte(text, '\n'); at >= 0 {
		lines += bytes.Count(text, []byte{'\n'})
		column = 0
		text = text[at+1:]
	}
	for _, c := range text {
		if c&0xc0 != 0x80 {
			column++
		}
	}
	return lines, column
}

// fail makes the error of the byte at buf[at].
func (s *scanner) fail(at int, format string, args ...any) *SyntaxError {
	at = min(at, s.end)
	lines, column := advance(s.lines, s.column, s.buf[:at])
	return &SyntaxError{
		Offset:  s.base + int64(at),
		Line:    lines + 1,
		Column:  column + 1,
		Message: fmt.Sprintf(format, args...),
	}
}

// refuse makes the error of an input that is not to be read on.
func (s *scanner) refuse(at int, format string, args ...any) *SyntaxError {
	e := s.fail(at, format, args...)
	e.final = true
	return e
}

// quoteSize is how many bytes of the input an error shows.
const quoteSize = 32

// quote shows the first bytes of text.
func quote(text []byte) string {
	if len(text) > quoteSize {
		return fmt.Sprintf("%q…", text[:quoteSize])
	}
	return fmt.Sprintf("%q", text)
}

// peek returns the next byte without reading it; ok is false at the end.
func (s *scanner) peek() (c byte, ok bool) {
	if s.pos >= s.end && !s.more() {
		return 0, false
	}
	return s.buf[s.pos], true
}

// skip passes over white space and comments and returns the next byte without
// reading it.
func (s *scanner) skip() (c byte, ok bool) {
	for {
		for s.pos < s.end {
			c := s.buf[s.pos]
			if !isSpace(c) {
				if c != ';' {
					s.start = s.pos
					return c, true
				}
				s.comment()
				continue
			}
			s.pos++
		}
		s.start = s.pos
		if !s.more() {
			return 0, false
		}
	}
}

// comment passes over the rest of the line.
func (s *scanner) comment() {
	for {
		if at := bytes.IndexByte(s.buf[s.pos:s.end], '\n'); at >= 0 {
			s.pos += at + 1
			return
		}
		s.pos = s.end
		s.start = s.pos
		if !s.more() {
			return
		}
	}
}

// token reads up to the next delimiter. What it returns holds until the next
// read. ok is false when the input ends before a delimiter: then the token may
// lack its tail.
func (s *scanner) token() (text []byte, ok bool) {
	s.start = s.pos
	for {
		for i := s.pos; i < s.end; i++ {
			if isDelimiter(s.buf[i]) {
				s.pos = i
				return s.buf[s.start:i], true
			}
		}
		s.pos = s.end
		if !s.more() {
			return nil, false
		}
	}
}

// quoted reads up to the closing quote, which is behind pos, and passes over it.
// It returns the text between the quotes as it stands.
func (s *scanner) quoted() (text []byte, escaped, ok bool) {
	s.start = s.pos
	for {
		for s.pos < s.end {
			switch s.buf[s.pos] {
			case '"':
				s.pos++
				return s.buf[s.start : s.pos-1], escaped, true
			case '\\':
				escaped = true
				s.pos++
			}
			s.pos++
		}
		if !s.more() {
			return nil, false, false
		}
	}
}

// isSpace reports what EDN takes for white space: commas too.
func isSpace(c byte) bool {
	const spaces = 1<<' ' | 1<<',' | 1<<'\n' | 1<<'\r' | 1<<'\t' | 1<<'\v' | 1<<'\f' |
		1<<0x1c | 1<<0x1d | 1<<0x1e | 1<<0x1f
	return c < 64 && uint64(spaces)>>c&1 != 0
}

// isDelimiter reports whether c cannot be inside a token. Control characters
// cannot, which is what tells a binary file.
func isDelimiter(c byte) bool {
	const (
		low  = 1<<33 - 1 | 1<<'"' | 1<<',' | 1<<';' | 1<<'(' | 1<<')'
		high = 1<<('['-64) | 1<<('\\'-64) | 1<<(']'-64) | 1<<('^'-64) | 1<<('{'-64) | 1<<('}'-64) | 1<<(0x7f-64)
	)
	if c < 64 {
		return uint64(low)>>c&1 != 0
	}
	return c < 128 && uint64(high)>>(c-64)&1 != 0
}
