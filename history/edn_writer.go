package history

import (
	"math"
	"strconv"
	"unicode"
	"unicode/utf8"
)

// Append writes v as EDN on one line to dst, as Clojure prints it, and returns
// the longer slice. What it writes reads back as an equal value, except that a
// keyword, symbol or character that EDN has no way to write becomes a string,
// and such a tag is left out.
func (v Value) Append(dst []byte) []byte {
	switch v.kind {
	case Bool:
		return strconv.AppendBool(dst, v.num == 1)
	case Integer:
		return strconv.AppendInt(dst, int64(v.num), 10)
	case Float:
		return appendFloat(dst, math.Float64frombits(v.num))
	case Number:
		return append(dst, v.str...)
	case Symbol:
		return appendSymbol(dst, v.str)
	case String:
		return appendString(dst, v.str)
	case Char:
		return appendChar(dst, v.str)
	case KeywordKind:
		return appendKeyword(dst, v.str)
	case List:
		return append(appendForms(append(dst, '('), v.list), ')')
	case Vector:
		return append(appendForms(append(dst, '['), v.list), ']')
	case Set:
		return append(appendForms(append(dst, "#{"...), v.list), '}')
	case Map:
		return appendMap(dst, v.list)
	case Tagged:
		if isTag(v.str) {
			dst = append(append(append(dst, '#'), v.str...), ' ')
		}
		if len(v.list) > 0 {
			return v.list[0].Append(dst)
		}
	}
	return append(dst, "nil"...)
}

// isTag reports whether #name is a tag: Clojure wants a letter first.
func isTag(name string) bool {
	first, _ := utf8.DecodeRuneInString(name)
	return unicode.IsLetter(first) && isToken(name)
}

func appendForms(dst []byte, vs []Value) []byte {
	for i := range vs {
		if i > 0 {
			dst = append(dst, ' ')
		}
		dst = vs[i].Append(dst)
	}
	return dst
}

func appendMap(dst []byte, kvs []Value) []byte {
	dst = append(dst, '{')
	for i := 0; i+1 < len(kvs); i += 2 {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		dst = kvs[i].Append(dst)
		dst = append(dst, ' ')
		dst = kvs[i+1].Append(dst)
	}
	return append(dst, '}')
}

// appendFloat always leaves a dot or an exponent, without which the number
// would come back as an integer.
func appendFloat(dst []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, "##NaN"...)
	case math.IsInf(f, 1):
		return append(dst, "##Inf"...)
	case math.IsInf(f, -1):
		return append(dst, "##-Inf"...)
	}
	start := len(dst)
	if abs := math.Abs(f); abs == 0 || abs >= 1e-3 && abs < 1e7 {
		dst = strconv.AppendFloat(dst, f, 'f', -1, 64)
	} else {
		dst = strconv.AppendFloat(dst, f, 'E', -1, 64)
	}
	for _, c := range dst[start:] {
		if c == '.' || c == 'E' {
			return dst
		}
	}
	return append(dst, ".0"...)
}

// appendString escapes what Clojure escapes and no more: its reader takes any
// other character, control characters included, as it is.
func appendString[T string | []byte](dst []byte, s T) []byte {
	dst = append(dst, '"')
	from := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		mark := escapeOf(c)
		if mark == 0 {
			continue
		}
		dst = append(append(dst, s[from:i]...), '\\', mark)
		from = i + 1
	}
	return append(append(dst, s[from:]...), '"')
}

// escapeOf returns the letter that stands for c after a backslash, or 0.
func escapeOf(c byte) byte {
	switch c {
	case '"', '\\':
		return c
	case '\n':
		return 'n'
	case '\t':
		return 't'
	case '\r':
		return 'r'
	case '\f':
		return 'f'
	case '\b':
		return 'b'
	}
	return 0
}

// appendSymbol writes a name that reads back as a symbol and not as a number,
// nil or a boolean.
func appendSymbol(dst []byte, name string) []byte {
	if !isSymbol(name) {
		return appendString(dst, name)
	}
	return append(dst, name...)
}

func isSymbol(name string) bool {
	switch name {
	case "nil", "true", "false", "NaN", "Infinity", "-Infinity":
		return false
	}
	if !isToken(name) || name[0] == ':' || name[0] == '#' {
		return false
	}
	first := name
	if len(name) > 1 && (name[0] == '-' || name[0] == '+') {
		first = name[1:]
	}
	return first[0] < '0' || first[0] > '9'
}

func appendChar(dst []byte, s string) []byte {
	r, n := utf8.DecodeRuneInString(s)
	if n != len(s) || r > 0xffff || r == utf8.RuneError && n < 3 {
		return appendString(dst, s) // the JVM's characters have 16 bits
	}
	dst = append(dst, '\\')
	if name := charName(r); name != "" {
		return append(dst, name...)
	}
	if r < ' ' || r == 0x7f {
		const hex = "0123456789abcdef"
		return append(dst, 'u', '0', '0', hex[r>>4&15], hex[r&15])
	}
	return append(dst, s...)
}

func charName(r rune) string {
	switch r {
	case '\n':
		return "newline"
	case ' ':
		return "space"
	case '\t':
		return "tab"
	case '\r':
		return "return"
	case '\f':
		return "formfeed"
	case '\b':
		return "backspace"
	}
	return ""
}
