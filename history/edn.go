package history

import (
	"io"
	"strconv"
	"unicode"
	"unicode/utf8"
)

// EDN returns the format of Jepsen's history.edn.
//
// Its Reader takes one op map after another, one vector, or one list of op maps,
// in all that Clojure prints and a little more; see the package comment for the
// limits. What has no place of its own in an Op is kept in Extra.
//
// Its Append writes one line that Clojure's reader accepts. Keys come in the
// order index, time, type, process, f, value, node, tag, error, extras; an empty
// place is left out, except :value. A name that cannot be a keyword is written
// as a string.
func EDN() Codec { return ednCodec{} }

type ednCodec struct{}

func (ednCodec) Name() string { return "edn" }

func (ednCodec) Reader(r io.Reader) Reader { return newEDNReader(r) }

func (ednCodec) Append(dst []byte, op *Op) []byte { return append(appendOp(dst, op), '\n') }

// String renders o as one line of EDN.
func (o *Op) String() string { return string(appendOp(nil, o)) }

// writes reports whether appendOp writes the known key of that name from its
// own place in o.
func (o *Op) writes(name string) bool {
	switch name {
	case indexName:
		return o.Index != Absent
	case timeName:
		return o.Time != Absent
	case typeName:
		return o.Type.String() != ""
	case processName:
		return !o.Process.IsZero()
	case fName:
		return o.F != ""
	case valueName:
		return true
	case nodeName:
		return o.Node != ""
	case tagName:
		return o.Tag != ""
	case errorName:
		return !o.Error.IsNil()
	}
	return false
}

func appendOp(dst []byte, o *Op) []byte {
	dst = append(dst, '{')
	if o.writes(indexName) {
		dst = strconv.AppendInt(append(dst, ":index "...), o.Index, 10)
		dst = append(dst, ", "...)
	}
	if o.writes(timeName) {
		dst = strconv.AppendInt(append(dst, ":time "...), o.Time, 10)
		dst = append(dst, ", "...)
	}
	if o.writes(typeName) {
		dst = append(append(dst, ":type :"...), o.Type.String()...)
		dst = append(dst, ", "...)
	}
	if o.writes(processName) {
		dst = appendProcess(append(dst, ":process "...), o.Process)
		dst = append(dst, ", "...)
	}
	if o.writes(fName) {
		dst = appendF(append(dst, ":f "...), o.F)
		dst = append(dst, ", "...)
	}
	dst = o.Value.Append(append(dst, ":value "...))
	if o.writes(nodeName) {
		dst = appendString(append(dst, ", :node "...), o.Node)
	}
	if o.writes(tagName) {
		dst = appendName(append(dst, ", :tag "...), o.Tag)
	}
	if o.writes(errorName) {
		dst = o.Error.Append(append(dst, ", :error "...))
	}
	for i := range o.Extra {
		// Clojure refuses a map that has a key twice.
		if o.writes(o.Extra[i].Key) || o.isRepeated(i) {
			continue
		}
		dst = appendName(append(dst, ", "...), o.Extra[i].Key)
		dst = o.Extra[i].Value.Append(append(dst, ' '))
	}
	return append(dst, '}')
}

// isRepeated reports whether a later extra has the name of extra i.
func (o *Op) isRepeated(i int) bool {
	for j := i + 1; j < len(o.Extra); j++ {
		if o.Extra[j].Key == o.Extra[i].Key {
			return true
		}
	}
	return false
}

func appendProcess(dst []byte, p Process) []byte {
	if n, ok := p.Client(); ok {
		return strconv.AppendInt(dst, n, 10)
	}
	return appendName(dst, p.name)
}

// appendF writes the name of an operation. An :f that was no name is in the Op
// as its EDN, and goes out as it came.
func appendF(dst []byte, f string) []byte {
	if !isPlain(f) && isForm(f) {
		return append(dst, f...)
	}
	return appendName(dst, f)
}

// ParseValue reads text that is one EDN value. Its error is a *SyntaxError, or
// a *CutError where the value has no end.
func ParseValue(text string) (Value, error) {
	// The line end tells a whole last token from one that was cut off.
	f := forms{scanner: scanner{buf: append([]byte(text), '\n'), end: len(text) + 1, err: io.EOF}}
	if _, some := f.skip(); !some {
		return Value{}, f.fail(0, "expected a value, found nothing")
	}
	if err := f.one(0); err != nil {
		return Value{}, err
	}
	v := f.pop()
	if _, more := f.skip(); more {
		return Value{}, f.fail(f.pos, "expected one value, found more: %s", quote(f.buf[f.pos:len(text)]))
	}
	return v, nil
}

// isForm reports whether text is one form that reading and writing leave as it
// is, and that is no string, whose content would be taken for the name.
func isForm(text string) bool {
	v, err := ParseValue(text)
	return err == nil && !v.isName() && v.kind != Nil && v.String() == text
}

// appendName writes a name that belongs to an op: as a keyword if Clojure can
// read it back, else as a string, which means the same there.
func appendName(dst []byte, name string) []byte {
	if !isPlain(name) {
		return appendString(dst, name)
	}
	return append(append(dst, ':'), name...)
}

// isPlain reports whether Clojure reads :name.
func isPlain(name string) bool {
	if name == "" || name[0] == ':' || name[0] == '/' {
		return false
	}
	before := rune(0)
	for _, r := range name {
		switch {
		case r == '@' || r == '~' || r == '`' || r == '\'' || r == utf8.RuneError || unicode.IsSpace(r):
			return false
		case r < utf8.RuneSelf && isDelimiter(byte(r)):
			return false
		case before == ':' && r == ':' || before == '/' && unicode.IsDigit(r):
			return false
		}
		before = r
	}
	return before != ':' && before != '/'
}

// appendKeyword writes the value :name as it came if that can be read at all.
func appendKeyword(dst []byte, name string) []byte {
	if !isToken(name) {
		return appendString(dst, name)
	}
	return append(append(dst, ':'), name...)
}

// isToken reports whether name can stand behind a colon or a #.
func isToken(name string) bool {
	ascii := true
	for i := range len(name) {
		if isDelimiter(name[i]) {
			return false
		}
		ascii = ascii && name[i] < utf8.RuneSelf
	}
	return name != "" && (ascii || utf8.ValidString(name))
}
