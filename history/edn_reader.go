package history

import (
	"bytes"
	"io"
	"unicode/utf8"
)

// ednReader reads the ops of an EDN history: one map after another, or one
// vector or list of maps.
type ednReader struct {
	forms
	ednState
	fields []Field // unused part of the current block of extra fields
	inOp   bool    // an op's map has begun
	failed error
}

// ednState is what a reader knows between two ops.
type ednState struct {
	begun   bool
	some    bool // an op was read
	whole   bool // the input was one vector or list, and it is over
	closing byte // ends the vector or list that holds the ops; 0 outside
	indent  int  // column of the first op in it, from 0
	skips   bool // an op that cannot be read is passed over
	skipped *Skipped
}

func newEDNReader(r io.Reader) *ednReader {
	return &ednReader{forms: forms{scanner: scanner{source: r}}}
}

// Read returns the next op.
func (r *ednReader) Read() (Op, error) {
	var op Op
	err := r.read(&op)
	return op, err
}

// read is Read without a copy. When it fails op is empty.
func (r *ednReader) read(op *Op) error {
	for r.failed == nil {
		err := r.next(op)
		if err == nil && r.tooLong(r.pos) {
			err = r.overlong()
		}
		if err == nil {
			r.some = true
			return nil
		}
		r.failed = r.pass(err)
	}
	*op = Op{}
	return r.failed
}

func (r *ednReader) next(op *Op) error {
	if !r.begun {
		r.begun = true
		r.byteOrderMark()
	}
	r.inOp = false
	prefixed := false // a tag or metadata stands before what comes
	for {
		r.limit = 0
		c, ok := r.skip()
		if !prefixed {
			r.opened = r.offset()
			r.forget()
			if r.closing != 0 && !r.some {
				_, r.indent = advance(r.lines, r.column, r.buf[:r.pos])
			}
		}
		r.limit = r.opened + maxOp
		switch {
		case !ok && r.err == io.EOF && !prefixed && r.closing == 0:
			return io.EOF
		case !ok:
			return r.ended()
		case c == '{' && !r.whole:
			r.pos++
			r.inOp = true
			return r.op(op, "")
		case c == '#':
			space, kind, err := r.prefix()
			if err != nil {
				return err
			}
			if kind == mapBegun {
				r.inOp = true
				return r.op(op, space)
			}
			prefixed = prefixed || kind == tagBegun
		case c == '^':
			r.pos++
			if err := r.discard(1); err != nil {
				return err
			}
			prefixed = true
		case prefixed || r.whole:
			return r.notAnOp(c)
		case c == r.closing && c != 0:
			r.pos++
			r.closing, r.whole = 0, true
		case (c == '[' || c == '(') && r.closing == 0 && !r.some:
			r.pos++
			r.closing = ']'
			if c == '(' {
				r.closing = ')'
			}
		default:
			return r.notAnOp(c)
		}
	}
}

// forget makes room for the next op.
func (r *ednReader) forget() {
	r.count = 0
	r.torn = nil
	if r.reuse {
		r.block = r.used
	}
	r.stack = r.stack[:0]
	if cap(r.stack) > 1<<16 {
		r.stack = nil
	}
}

// lend makes the reader go on at text[pos], and behind the text with its source.
func (r *ednReader) lend(text []byte, pos int) {
	r.buf, r.start, r.pos, r.end = text, pos, pos, len(text)
	r.base, r.lines, r.column, r.before = 0, 0, 0, 0
	r.lent = true
	r.err, r.failed = nil, nil
}

const byteOrderMark = "\ufeff"

func (r *ednReader) byteOrderMark() {
	for r.end < len(byteOrderMark) && r.more() {
	}
	if bytes.HasPrefix(r.buf[:r.end], []byte(byteOrderMark)) {
		r.pos = len(byteOrderMark)
	}
}

// prefixKind says what a # at the top began.
type prefixKind uint8

const (
	noForm   prefixKind = iota // a comment, or a form that was discarded
	tagBegun                   // the tag of the form that follows
	mapBegun                   // a namespaced map, read up to behind its brace
)

func (r *ednReader) prefix() (space string, kind prefixKind, err error) {
	r.pos++
	c, ok := r.peek()
	if !ok {
		return "", noForm, r.ended()
	}
	switch c {
	case '_':
		r.pos++
		return "", noForm, r.discard(1)
	case '!':
		r.comment()
		return "", noForm, nil
	case '^':
		return "", noForm, nil
	case ':':
		if space, err = r.namespace(); err != nil {
			return "", noForm, err
		}
		if r.whole {
			return "", noForm, r.notAnOp(c)
		}
		r.pos++
		return space, mapBegun, nil
	case '{', '"', '#', '\'':
		r.pos--
		return "", noForm, r.notAnOp('#')
	}
	_, err = r.tag()
	return "", tagBegun, err
}

// notAnOp returns the error for what starts with c where an op should.
func (r *ednReader) notAnOp(c byte) error {
	found, note := r.ahead(), ""
	if r.whole {
		return r.fail(r.pos, "history is one vector or list of ops, but %s follows its end", found)
	}
	if isDelimiter(c) && bytes.IndexByte([]byte(`"\[(`), c) < 0 {
		return r.unexpected(c)
	}
	if !utf8.Valid(r.buf[r.pos:min(r.pos+8, r.end)]) {
		note = ": this is not EDN text"
	}
	return r.fail(r.pos, "expected an op such as {:type :invoke, :process 0, :f :read, :value nil}, found %s%s", found, note)
}

// ahead quotes what comes next, to the end of the line at most.
func (r *ednReader) ahead() string {
	r.start = r.pos
	for r.end-r.pos <= quoteSize && r.more() {
		// What is quoted must not depend on what was buffered.
	}
	text := r.buf[r.pos:r.end]
	if at := bytes.IndexByte(text, '\n'); at >= 0 {
		text = text[:at]
	}
	return quote(bytes.TrimRight(text, "\r"))
}
