package format

import (
	"bytes"
	"unicode"
	"unicode/utf8"

	"github.com/jepgo/jepgo/history"
)

// isMicroOp reports whether an array of n values that starts with that name is a
// micro-op of a transaction.
func isMicroOp(name string, n int) bool {
	switch name {
	case "append", "r", "w", "read", "write", "cas", "add", "inc", "dec", "insert", "delete", "rp", "send", "poll":
		return n >= 2 && n <= 4
	}
	return false
}

// textValue is what a string stands for: ":name" for a keyword, everything else
// for itself.
func (p *jsonValues) textValue(text []byte) history.Value {
	if len(text) > 1 && text[0] == ':' && isPlain(text[1:]) {
		return history.Keyword(p.keep(text[1:]))
	}
	return history.Text(p.keep(text))
}

// keyValue is what the key of an object stands for: "12" for a number, "name" and
// ":name" for a keyword, everything else for itself.
func (p *jsonValues) keyValue(text []byte) history.Value {
	if n, ok := wholeNumber(text); ok {
		return history.Int(n)
	}
	if isBare(text) {
		return history.Keyword(p.keep(text))
	}
	return p.textValue(text)
}

// isBare reports whether text can stand for a keyword without a colon.
func isBare(text []byte) bool {
	return isPlain(text) && (text[0] < '0' || text[0] > '9') &&
		(len(text) == 1 || text[0] != '-' && text[0] != '+' || text[1] < '0' || text[1] > '9')
}

// isPlain reports whether text is the name of a keyword in any reader's eyes.
func isPlain(text []byte) bool {
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9':
		case c == '/':
			if i == 0 || i == len(text)-1 || text[i+1] >= '0' && text[i+1] <= '9' || text[i+1] == '/' {
				return false
			}
		case c < utf8.RuneSelf:
			if bytes.IndexByte([]byte("*!_?$%&=<>.+-"), c) < 0 {
				return false
			}
		default:
			r, size := utf8.DecodeRune(text[i:])
			if !unicode.IsLetter(r) {
				return false
			}
			i += size
			continue
		}
		i++
	}
	return len(text) > 0
}
