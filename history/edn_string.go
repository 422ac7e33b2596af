package history

import (
	"unicode/utf16"
	"unicode/utf8"
)

// string reads the rest of a string, behind its opening quote.
func (f *forms) string() (string, error) {
	text, escaped, ok := f.quoted()
	if !ok {
		return "", f.ended()
	}
	if !escaped {
		return f.keep(text), nil
	}
	plain := f.scratch[:0]
	for i := 0; i < len(text); {
		c := text[i]
		if c != '\\' {
			plain = append(plain, c)
			i++
			continue
		}
		r, size := escape(text[i:])
		if size == 0 {
			return "", f.fail(f.start+i, "escape %s in a string cannot be read", quote(text[i:min(i+6, len(text))]))
		}
		i += size
		if utf16.IsSurrogate(r) {
			// Two escapes that form one character on the JVM.
			low, n := escape(text[i:])
			if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
				i += n
			}
		}
		plain = utf8.AppendRune(plain, r)
	}
	f.scratch = plain[:0]
	return f.keep(plain), nil
}

// escape reads the escape that text starts with; size is 0 when there is none.
func escape(text []byte) (r rune, size int) {
	if len(text) < 2 || text[0] != '\\' {
		return 0, 0
	}
	switch c := text[1]; c {
	case '"', '\\', '/', '\'':
		return rune(c), 2
	case 'n':
		return '\n', 2
	case 't':
		return '\t', 2
	case 'r':
		return '\r', 2
	case 'f':
		return '\f', 2
	case 'b':
		return '\b', 2
	case 'u':
		if len(text) < 6 {
			return 0, 0
		}
		r := digitsOf(text[2:6], 16)
		if r < 0 {
			return 0, 0
		}
		return r, 6
	case '0', '1', '2', '3', '4', '5', '6', '7':
		n := 2
		for n < 4 && n < len(text) && text[n] >= '0' && text[n] <= '7' {
			n++
		}
		if r := digitsOf(text[1:n], 8); r >= 0 && r <= 0o377 {
			return r, n
		}
	}
	return 0, 0
}
