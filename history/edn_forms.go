package history

import (
	"io"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// forms reads EDN values. What it reads is pushed on stack and copied from there
// into shared blocks, so that an op costs a fraction of an allocation.
type forms struct {
	scanner
	stack   []Value
	block   []Value         // unused part of the current block of elements
	used    []Value         // the part to be used again for the next op, with reuse
	reuse   bool            // elements of an op are not kept beyond it
	text    strings.Builder // current block of strings
	names   [256]string     // names and short strings seen last, by hash
	scratch []byte
	opened  int64        // offset of the top-level form under way
	count   int          // values in the op under way
	torn    *SyntaxError // where the next op seems to start within the one under way
}

// ended returns the error for an input that ends within the form under way.
func (f *forms) ended() error {
	if f.err == io.EOF || f.err == io.ErrUnexpectedEOF {
		if f.torn != nil {
			return f.torn
		}
		return &CutError{Offset: f.opened}
	}
	return f.err
}

func (f *forms) push(v Value) { f.stack = append(f.stack, v) }

func (f *forms) pop() Value {
	v := f.stack[len(f.stack)-1]
	f.stack = f.stack[:len(f.stack)-1]
	return v
}

// one reads the next form whatever comes before it, and pushes it.
func (f *forms) one(depth int) error {
	for height := len(f.stack); len(f.stack) == height; {
		c, ok := f.skip()
		if !ok {
			return f.ended()
		}
		if err := f.form(c, depth); err != nil {
			return err
		}
	}
	return nil
}

// discard reads the next form and forgets it.
func (f *forms) discard(depth int) error {
	if err := f.one(depth); err != nil {
		return err
	}
	f.pop()
	return nil
}

// form reads the form that starts with c, the next byte, and pushes it. Of a
// discarded form it pushes nothing.
func (f *forms) form(c byte, depth int) error {
	if depth > maxDepth {
		return f.refuse(f.pos, "collections are nested more than %d deep", maxDepth)
	}
	switch {
	case c == ':':
		name, err := f.keyword()
		if err != nil {
			return err
		}
		f.push(Value{kind: KeywordKind, str: name})
		return nil
	case c >= '0' && c <= '9':
		return f.number()
	case c == '"':
		f.pos++
		s, err := f.string()
		if err != nil {
			return err
		}
		f.push(Value{kind: String, str: s})
		return nil
	case c == '[':
		return f.collection(Vector, ']', depth)
	case c == '{':
		return f.collection(Map, '}', depth)
	case c == '(':
		return f.collection(List, ')', depth)
	case c == '#':
		f.pos++
		return f.dispatch(depth)
	case c == '^':
		f.pos++
		if err := f.discard(depth + 1); err != nil {
			return err
		}
		return f.one(depth + 1)
	case c == '\\':
		return f.char()
	case isDelimiter(c):
		return f.unexpected(c)
	}
	return f.symbol()
}

// unexpected returns the error of a byte that starts no form.
func (f *forms) unexpected(c byte) error {
	if c == ')' || c == ']' || c == '}' {
		return f.fail(f.pos, "unexpected %q: nothing that it closes is open here", c)
	}
	err := f.fail(f.pos, "unexpected byte 0x%02x (%q): this is not EDN text", c, c)
	if c != 0 || f.opened == 0 {
		return err
	}
	// A file system that lost power may leave zeros behind the last write.
	f.limit = 0
	for {
		c, ok := f.peek()
		if !ok {
			return f.ended()
		}
		if c != 0 {
			return err
		}
		f.pos++
		f.start = f.pos
	}
}

// collection reads from the opening bracket to the closing one.
func (f *forms) collection(kind Kind, closing byte, depth int) error {
	if kind == Map && f.torn == nil && f.previous(f.pos) == '\n' {
		f.torn = f.fail(f.pos, "op that starts at byte %d has no end, but here seems to be the next one", f.opened)
	}
	f.pos++
	height := len(f.stack)
	for {
		c, ok := f.skip()
		if !ok {
			return f.ended()
		}
		if c == closing {
			break
		}
		if c == ']' || c == '}' || c == ')' {
			return f.fail(f.pos, "unexpected %q: the collection that is open here ends with %q", c, closing)
		}
		if err := f.form(c, depth+1); err != nil {
			return err
		}
		if f.count+len(f.stack) > maxForms {
			return f.refuse(f.pos, "one op has more than %d values", maxForms)
		}
	}
	elems := f.stack[height:]
	switch kind {
	case Map:
		if len(elems)%2 != 0 {
			return f.fail(f.pos, "map has a key without a value: %s", quote(elems[len(elems)-1].Append(nil)))
		}
		elems = unique(elems, 2)
	case Set:
		elems = unique(elems, 1)
	}
	f.pos++
	list := f.keepAll(elems)
	f.stack = f.stack[:height]
	f.push(Value{kind: kind, list: list})
	return nil
}

// keepAll copies vs to where they can stay.
func (f *forms) keepAll(vs []Value) []Value {
	size := 256
	if f.reuse {
		size = 4096
	}
	n := len(vs)
	f.count += n
	if n > len(f.block) {
		if n > size/4 {
			return append([]Value(nil), vs...)
		}
		f.block = make([]Value, size)
		f.used = f.block
	}
	kept := f.block[:n:n]
	f.block = f.block[n:]
	copy(kept, vs)
	return kept
}

// keep copies s to where it can stay. Short texts that were seen lately are
// shared.
func (f *forms) keep(s []byte) string {
	const (
		blockSize = 4096
		nameSize  = 32
	)
	if len(s) == 0 {
		return ""
	}
	var slot *string
	if len(s) <= nameSize {
		hash := uint32(2166136261)
		for _, c := range s {
			hash = (hash ^ uint32(c)) * 16777619
		}
		slot = &f.names[(hash^hash>>16)%uint32(len(f.names))]
		if *slot == string(s) {
			return *slot
		}
	}
	if len(s) > blockSize/8 {
		return string(s)
	}
	if f.text.Cap()-f.text.Len() < len(s) {
		f.text = strings.Builder{}
		f.text.Grow(blockSize)
	}
	at := f.text.Len()
	f.text.Write(s)
	kept := f.text.String()[at:]
	if slot != nil {
		*slot = kept
	}
	return kept
}

// keyword reads a keyword and returns its name.
func (f *forms) keyword() (string, error) {
	token, ok := f.token()
	if !ok {
		return "", f.ended()
	}
	if len(token) == 1 {
		if f.buf[f.pos] == '"' || f.previous(f.start) == '"' {
			return "", f.refuse(f.start, "unexpected ':' beside a string: this looks like JSON, not EDN")
		}
		return "", f.fail(f.start, "keyword has no name")
	}
	if !utf8.Valid(token) {
		return "", f.fail(f.start, "keyword %s is not UTF-8", quote(token))
	}
	return f.keep(token[1:]), nil
}

func (f *forms) number() error {
	n := int64(0)
	for i := f.pos; i < f.end && i < f.pos+19; i++ {
		c := f.buf[i]
		if c >= '0' && c <= '9' {
			n = n*10 + int64(c-'0')
			continue
		}
		if !isDelimiter(c) || f.buf[f.pos] == '0' && i > f.pos+1 {
			break
		}
		f.pos = i
		f.push(Int(n))
		return nil
	}
	token, ok := f.token()
	if !ok {
		return f.ended()
	}
	return f.numberToken(token)
}

func (f *forms) numberToken(token []byte) error {
	v, ok := parseNumber(token)
	if !ok {
		return f.fail(f.start, "number %s cannot be read", quote(token))
	}
	f.push(v)
	return nil
}

func (f *forms) symbol() error {
	token, ok := f.token()
	if !ok {
		return f.ended()
	}
	if len(token) > 1 && (token[0] == '-' || token[0] == '+') && token[1] >= '0' && token[1] <= '9' {
		return f.numberToken(token)
	}
	switch string(token) {
	case "nil":
		f.push(Value{})
		return nil
	case "true", "false":
		f.push(Flag(token[0] == 't'))
		return nil
	case "NaN", "Infinity", "-Infinity": // as Clojure before 1.9 prints them
		v, _ := strconv.ParseFloat(string(token), 64)
		f.push(FloatOf(v))
		return nil
	}
	if !utf8.Valid(token) {
		return f.fail(f.start, "symbol %s is not UTF-8", quote(token))
	}
	f.push(Value{kind: Symbol, str: f.keep(token)})
	return nil
}

// char reads a character. The one behind the backslash may be a delimiter.
func (f *forms) char() error {
	f.start = f.pos
	f.pos++
	if _, ok := f.peek(); !ok {
		return f.ended()
	}
	f.pos++
	for {
		for f.pos < f.end {
			if isDelimiter(f.buf[f.pos]) {
				return f.charToken(f.buf[f.start:f.pos])
			}
			f.pos++
		}
		if !f.more() {
			return f.ended()
		}
	}
}

func (f *forms) charToken(token []byte) error {
	name := token[1:]
	if r, n := utf8.DecodeRune(name); n == len(name) && r != utf8.RuneError {
		f.push(Value{kind: Char, str: f.keep(name)})
		return nil
	}
	r := rune(-1)
	switch string(name) {
	case "newline":
		r = '\n'
	case "space":
		r = ' '
	case "tab":
		r = '\t'
	case "return":
		r = '\r'
	case "formfeed":
		r = '\f'
	case "backspace":
		r = '\b'
	case "\uFFFD":
		r = utf8.RuneError
	default:
		if n := len(name); name[0] == 'u' && n == 5 {
			r = digitsOf(name[1:], 16)
		} else if name[0] == 'o' && n >= 2 && n <= 4 {
			r = digitsOf(name[1:], 8)
		}
	}
	if r < 0 || utf16.IsSurrogate(r) {
		return f.fail(f.start, "character %s cannot be read", quote(token))
	}
	f.push(CharOf(r))
	return nil
}

// digitsOf returns the number that all of s stands for, or -1.
func digitsOf(s []byte, base int) rune {
	n, err := strconv.ParseUint(string(s), base, 16)
	if err != nil {
		return -1
	}
	return rune(n)
}
