package format

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/jepgo/jepgo/history"
)

// jsonReader reads ops that are JSON objects: in one array, one a line, or one
// after another however they stand.
//
// What JSON cannot say is read so: the types, names and processes of ops are
// names; so is the first element of a micro-op such as ["append", 3, 1], which is
// an array in an array; "12" as a key is the number 12, and any other key that
// could be one a keyword; ":name" is a keyword everywhere.
type jsonReader struct {
	jsonValues
	source io.Reader
	start  int   // of the op under way in buf; what is before is done with
	base   int64 // offset of buf[0] in the input
	lines  int   // line ends before buf[0]
	column int   // characters before buf[0] in its line
	ended  error // why there is no more input
	failed error // what every further Read returns

	keepsOps bool // ops are valid for ever, and have all their fields
	java     bool // as jepsen-in-java writes them
	nemesis  bool // of jepsen-in-java: the op under way is no client's
	begun    bool
	inArray  bool
	whole    bool // the input was one array, and it is over
}

func readJSON(r io.Reader, keep bool) history.Reader {
	return &jsonReader{source: r, keepsOps: keep}
}

// Read returns the next op.
func (r *jsonReader) Read() (history.Op, error) {
	if r.failed != nil {
		return history.Op{}, r.failed
	}
	op := newOp()
	for {
		err := r.next(&op)
		if err == nil {
			r.start = r.pos
			return op, nil
		}
		if err == errMore {
			if err = r.fill(); err == nil {
				op = newOp()
				continue
			}
		}
		r.failed = r.located(err)
		return history.Op{}, r.failed
	}
}

// next reads the op that begins behind start.
func (r *jsonReader) next(op *history.Op) error {
	r.pos = r.start
	r.count = 0
	r.stack = r.stack[:0]
	if !r.keepsOps {
		r.block = r.blocks
	}
	for {
		c, ok := r.skip()
		switch {
		case !ok:
			r.start = r.pos
			return errMore
		case !r.begun && c == 0xef:
			if len(r.buf)-r.pos < 3 {
				return errMore
			}
			if !bytes.HasPrefix(r.buf[r.pos:], []byte("\ufeff")) {
				return r.notAnOp()
			}
			r.pos += 3
			r.start = r.pos
		case c == '[' && !r.begun:
			r.begun, r.inArray = true, true
			r.pos++
			r.start = r.pos
		case c == ']' && r.inArray:
			r.inArray, r.whole = false, true
			r.pos++
			r.start = r.pos
		case c == ',' && !r.whole:
			r.pos++
			r.start = r.pos
		case c == '{' && !r.whole:
			r.begun = true
			return r.op(op)
		default:
			return r.notAnOp()
		}
	}
}

func (r *jsonReader) notAnOp() error {
	if r.whole {
		return r.bad(r.pos, "history is one array of ops, but %s follows its end", r.ahead())
	}
	return r.bad(r.pos, `expected an op such as {"type": "invoke", "process": 0, "f": "read", "value": null}, found %s`, r.ahead())
}

// fill reads more input behind what buf holds from start on, which it moves.
func (r *jsonReader) fill() error {
	const firstBuffer = 256 << 10
	if r.ended != nil {
		return r.end()
	}
	r.lines, r.column = advance(r.lines, r.column, r.buf[:r.start])
	r.base += int64(r.start)
	n := copy(r.buf[:cap(r.buf)], r.buf[r.start:])
	r.start = 0
	switch {
	case n >= maxJSONOp:
		r.buf = r.buf[:n]
		return r.bad(0, "one op takes more than %d MiB; it starts with %s", maxJSONOp>>20, quote(r.buf))
	case 2*n >= cap(r.buf):
		grown := make([]byte, max(firstBuffer, 2*cap(r.buf)))
		copy(grown, r.buf[:n])
		r.buf = grown
	}
	// All of the buffer is filled, so that an op that does not fit is read anew
	// only when it has twice the room.
	r.buf = r.buf[:cap(r.buf)]
	before := n
	for idle := 0; n < len(r.buf) && r.ended == nil; {
		more, err := r.source.Read(r.buf[n:])
		n += more
		r.ended = err
		if idle++; more > 0 {
			idle = 0
		} else if idle == 100 && err == nil {
			r.ended = io.ErrNoProgress
		}
	}
	if r.buf = r.buf[:n]; n == before {
		return r.end()
	}
	return nil
}

// end returns the error for the end of the input.
func (r *jsonReader) end() error {
	switch {
	case r.ended == io.EOF && !r.inArray && len(bytes.TrimSpace(r.buf[r.start:])) == 0:
		return io.EOF
	case r.ended == io.EOF || errors.Is(r.ended, io.ErrUnexpectedEOF):
		return &history.CutError{Offset: r.base + int64(r.start)}
	}
	return fmt.Errorf("cannot be read beyond byte %d: %w", r.base+int64(len(r.buf)), r.ended)
}

// located gives the place of what is wrong in the buffer.
func (r *jsonReader) located(err error) error {
	bad, ok := err.(*badJSON)
	if !ok {
		return err
	}
	lines, column := advance(r.lines, r.column, r.buf[:bad.at])
	return &history.SyntaxError{Offset: r.base + int64(bad.at), Line: lines + 1, Column: column + 1, Message: bad.message}
}

// advance moves a line and a column over text.
func advance(lines, column int, text []byte) (int, int) {
	if at := bytes.LastIndexByte(text, '\n'); at >= 0 {
		return lines + bytes.Count(text, []byte{'\n'}), utf8.RuneCount(text[at+1:])
	}
	return lines, column + utf8.RuneCount(text)
}

// op reads an op, whose brace comes next.
func (r *jsonReader) op(op *history.Op) error {
	r.pos++
	r.nemesis = false
	for first := true; ; first = false {
		key, more, err := r.member(first)
		if err != nil {
			return err
		}
		if !more {
			break
		}
		if len(op.Extra) > maxJSONKeys {
			return r.bad(r.pos, "one op has more than %d keys", maxJSONKeys)
		}
		if err := r.field(op, r.keep(key)); err != nil {
			return err
		}
	}
	if r.java {
		javaOp(op, r.nemesis)
	}
	return nil
}

// field reads the value of a key of an op.
func (r *jsonReader) field(op *history.Op, name string) error {
	c, ok := r.skip()
	if !ok {
		return errMore
	}
	if c != '"' || !hasName(name) {
		if err := r.value(1, false); err != nil {
			return err
		}
		r.put(op, name, r.pop())
		return nil
	}
	text, err := r.string()
	if err != nil {
		return err
	}
	v := history.Text(r.keep(text))
	if len(text) > 1 && text[0] == ':' && name != "node" {
		v = history.Keyword(r.keep(text[1:]))
	}
	if n, ok := wholeNumber(text); ok && name == "process" {
		v = history.Int(n)
	}
	if r.java && (name == "type" || name == "f") {
		v = history.Text(r.keep(bytes.ToLower(text)))
	}
	r.put(op, name, v)
	return nil
}

// hasName reports whether the value of an op's key is a name: a string there is
// what EDN has as a keyword.
func hasName(key string) bool {
	switch key {
	case "type", "f", "process", "node", "tag":
		return true
	}
	return false
}

func (r *jsonReader) put(op *history.Op, name string, v history.Value) {
	if isField(name) || r.keepsOps && !(r.java && isJavaNoise(name)) {
		put(op, name, v)
	} else if r.java && name == "nemesis" {
		r.nemesis, _ = v.Flag()
	}
}

// isField reports whether an op has a place for that key.
func isField(name string) bool {
	switch name {
	case "index", "time", "type", "process", "f", "value", "error", "node", "tag":
		return true
	}
	return false
}
