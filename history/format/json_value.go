package format

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/jepgo/jepgo/history"
)

// Limits that keep memory bounded whatever a JSON input is.
const (
	maxJSONOp     = 64 << 20 // bytes of one op
	maxJSONForms  = 4 << 20  // values in one op
	maxJSONKeys   = 1000     // keys of one op
	maxJSONDepth  = 1000     // arrays and objects inside each other
	maxJSONNumber = 4096     // characters of one number
)

// errMore says that a value goes on behind what is in the buffer.
var errMore = errors.New("value goes on behind the buffer")

// badJSON says what is wrong at a place in the buffer.
type badJSON struct {
	at      int
	message string
}

func (e *badJSON) Error() string { return e.message }

// jsonValues reads JSON values from buf, pushes them on stack, and copies the
// elements of arrays and objects from there into shared blocks.
type jsonValues struct {
	buf     []byte
	pos     int
	stack   []history.Value
	block   []history.Value // unused part of the current block of elements
	blocks  []history.Value // all of the current block
	names   [256]string     // names and short strings seen last, by hash
	scratch []byte
	count   int // values in the op under way
}

func (p *jsonValues) bad(at int, format string, args ...any) error {
	return &badJSON{at, fmt.Sprintf(format, args...)}
}

func (p *jsonValues) push(v history.Value) {
	if len(p.stack) == cap(p.stack) {
		p.stack = slices.Grow(p.stack, max(64, len(p.stack)))
	}
	p.stack = append(p.stack, v)
}

func (p *jsonValues) pop() history.Value {
	v := p.stack[len(p.stack)-1]
	p.stack = p.stack[:len(p.stack)-1]
	return v
}

// skip passes over white space and returns the next byte without reading it.
func (p *jsonValues) skip() (c byte, ok bool) {
	for ; p.pos < len(p.buf); p.pos++ {
		if c := p.buf[p.pos]; c > ' ' || c != ' ' && c != '\n' && c != '\r' && c != '\t' {
			return c, true
		}
	}
	return 0, false
}

// value reads the next value and pushes it.
func (p *jsonValues) value(depth int, inArray bool) error {
	c, ok := p.skip()
	if !ok {
		return errMore
	}
	switch {
	case c >= '0' && c <= '9' || c == '-':
		return p.number()
	case c == '"':
		text, err := p.string()
		if err != nil {
			return err
		}
		p.push(p.textValue(text))
		return nil
	case depth > maxJSONDepth:
		return p.bad(p.pos, "arrays and objects are nested more than %d deep", maxJSONDepth)
	case c == '[':
		return p.array(depth, inArray)
	case c == '{':
		return p.object(depth)
	}
	return p.literal()
}

func (p *jsonValues) literal() error {
	rest := p.buf[p.pos:]
	for _, word := range [...]string{"null", "true", "false"} {
		if len(rest) < len(word) && bytes.HasPrefix([]byte(word), rest) {
			return errMore
		}
		if !bytes.HasPrefix(rest, []byte(word)) {
			continue
		}
		p.pos += len(word)
		switch word {
		case "null":
			p.push(history.Value{})
		default:
			p.push(history.Flag(word == "true"))
		}
		return nil
	}
	return p.bad(p.pos, "expected a JSON value, found %s", p.ahead())
}

// ahead quotes what comes next, to the end of the line at most.
func (p *jsonValues) ahead() string {
	text := p.buf[p.pos:]
	if at := bytes.IndexByte(text, '\n'); at >= 0 {
		text = text[:at]
	}
	return quote(bytes.TrimRight(text, "\r"))
}

// array reads an array as a vector. One in an array whose first element is the
// name of a micro-op has that as a keyword.
func (p *jsonValues) array(depth int, inArray bool) error {
	p.pos++
	height := len(p.stack)
	for first := true; ; first = false {
		c, ok := p.skip()
		switch {
		case !ok:
			return errMore
		case c == ']':
			p.pos++
			elems := p.stack[height:]
			if inArray && len(elems) >= 2 && elems[0].Kind() == history.String && isMicroOp(elems[0].Text(), len(elems)) {
				elems[0] = history.Keyword(elems[0].Text())
			}
			v := history.Vec(p.keepAll(elems)...)
			p.stack = p.stack[:height]
			p.push(v)
			return nil
		case !first && c != ',':
			return p.bad(p.pos, "expected ',' or ']' in an array, found %s", p.ahead())
		case !first:
			p.pos++
		}
		if err := p.value(depth+1, true); err != nil {
			return err
		}
		if err := p.tooMany(); err != nil {
			return err
		}
	}
}

func (p *jsonValues) tooMany() error {
	if p.count+len(p.stack) > maxJSONForms {
		return p.bad(p.pos, "one op has more than %d values", maxJSONForms)
	}
	return nil
}

// object reads an object as a map, see keyValue. Of equal keys the last counts.
func (p *jsonValues) object(depth int) error {
	p.pos++
	height := len(p.stack)
	for first := true; ; first = false {
		key, more, err := p.member(first)
		if err != nil {
			return err
		}
		if !more {
			v := history.MapOf(p.keepAll(lastOfEqual(p.stack[height:]))...)
			p.stack = p.stack[:height]
			p.push(v)
			return nil
		}
		p.push(p.keyValue(key))
		if err := p.value(depth+1, false); err != nil {
			return err
		}
		if err := p.tooMany(); err != nil {
			return err
		}
	}
}

// member reads up to the value of an object's next member; more is false behind
// the last. The key holds until the next string is read.
func (p *jsonValues) member(first bool) (key []byte, more bool, err error) {
	c, ok := p.skip()
	switch {
	case !ok:
		return nil, false, errMore
	case c == '}':
		p.pos++
		return nil, false, nil
	case !first && c != ',':
		return nil, false, p.bad(p.pos, "expected ',' or '}' in an object, found %s", p.ahead())
	case !first:
		p.pos++
		if c, ok = p.skip(); !ok {
			return nil, false, errMore
		}
	}
	if c != '"' {
		return nil, false, p.bad(p.pos, "expected a key in double quotes, found %s", p.ahead())
	}
	if key, err = p.string(); err != nil {
		return nil, false, err
	}
	if c, ok = p.skip(); !ok {
		return nil, false, errMore
	}
	if c != ':' {
		return nil, false, p.bad(p.pos, "expected ':' behind the key %s, found %s", quote(key), p.ahead())
	}
	p.pos++
	return key, true, nil
}

// string reads a string and returns its content, which holds until the next one
// is read or the buffer moves.
func (p *jsonValues) string() ([]byte, error) {
	from := p.pos + 1
	at := bytes.IndexByte(p.buf[from:], '"')
	if at < 0 {
		return nil, errMore
	}
	if text := p.buf[from : from+at]; bytes.IndexByte(text, '\\') < 0 {
		p.pos = from + at + 1
		return text, nil
	}
	plain := p.scratch[:0]
	for i := from; ; {
		if i >= len(p.buf) {
			return nil, errMore
		}
		switch c := p.buf[i]; c {
		case '"':
			p.pos = i + 1
			p.scratch = plain
			return plain, nil
		case '\\':
			r, size, err := p.escape(i)
			if err != nil {
				return nil, err
			}
			plain = utf8.AppendRune(plain, r)
			i += size
		default:
			plain = append(plain, c)
			i++
		}
	}
}

// escape reads the escape at buf[at].
func (p *jsonValues) escape(at int) (r rune, size int, err error) {
	if at+1 >= len(p.buf) {
		return 0, 0, errMore
	}
	switch c := p.buf[at+1]; c {
	case '"', '\\', '/':
		return rune(c), 2, nil
	case 'n':
		return '\n', 2, nil
	case 't':
		return '\t', 2, nil
	case 'r':
		return '\r', 2, nil
	case 'f':
		return '\f', 2, nil
	case 'b':
		return '\b', 2, nil
	case 'u':
		r, err := p.unicode(at)
		if err != nil || !utf16.IsSurrogate(r) {
			return r, 6, err
		}
		if at+7 >= len(p.buf) {
			return 0, 0, errMore
		}
		if p.buf[at+6] != '\\' || p.buf[at+7] != 'u' {
			return utf8.RuneError, 6, nil
		}
		low, err := p.unicode(at + 6)
		if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
			return r, 6, err
		}
		return r, 12, err
	}
	return 0, 0, p.bad(at, "escape %s in a string cannot be read", quote(p.buf[at:at+2]))
}

func (p *jsonValues) unicode(at int) (rune, error) {
	if at+6 > len(p.buf) {
		return 0, errMore
	}
	n, err := strconv.ParseUint(string(p.buf[at+2:at+6]), 16, 16)
	if err != nil {
		return 0, p.bad(at, "escape %s in a string cannot be read", quote(p.buf[at:at+6]))
	}
	return rune(n), nil
}

// keepAll copies vs to where they can stay.
func (p *jsonValues) keepAll(vs []history.Value) []history.Value {
	const blockSize = 1024
	n := len(vs)
	p.count += n
	if n > len(p.block) {
		if n > blockSize/4 {
			return append([]history.Value(nil), vs...)
		}
		p.blocks = make([]history.Value, blockSize)
		p.block = p.blocks
	}
	kept := p.block[:n:n]
	p.block = p.block[n:]
	copy(kept, vs)
	return kept
}

// keep copies s to where it can stay. Short texts that were seen lately are
// shared.
func (p *jsonValues) keep(s []byte) string {
	const nameSize = 32
	if len(s) > nameSize {
		return string(s)
	}
	hash := uint32(2166136261)
	for _, c := range s {
		hash = (hash ^ uint32(c)) * 16777619
	}
	slot := &p.names[(hash^hash>>16)%uint32(len(p.names))]
	if *slot != string(s) {
		*slot = string(s)
	}
	return *slot
}

// lastOfEqual drops from a run of keys and values those whose key comes again.
func lastOfEqual(kvs []history.Value) []history.Value {
	const pairwise = 64
	if len(kvs) > pairwise {
		last := make(map[string]int, len(kvs)/2)
		kept := kvs[:0]
		for i := 0; i < len(kvs); i += 2 {
			key := kvs[i].Key()
			if at, seen := last[key]; seen {
				kept[at+1] = kvs[i+1]
				continue
			}
			last[key] = len(kept)
			kept = append(kept, kvs[i], kvs[i+1])
		}
		return kept
	}
	kept := kvs[:0]
next:
	for i := 0; i < len(kvs); i += 2 {
		for j := 0; j < len(kept); j += 2 {
			if kept[j].Equal(kvs[i]) {
				kept[j+1] = kvs[i+1]
				continue next
			}
		}
		kept = append(kept, kvs[i], kvs[i+1])
	}
	return kept
}
