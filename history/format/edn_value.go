package format

import (
	"github.com/jepgo/jepgo/history"
)

// plainDepth is how deep collections may be for the short cut.
const plainDepth = 16

// plainValue reads all of text as an EDN value of the kinds that nearly every line
// of a log has: nil, integers, plain keywords, strings without escapes, vectors and
// maps. ok is false for everything else, right or wrong, which is for the general
// reader to look at.
func (p *jsonValues) plainValue(text []byte) (v history.Value, ok bool) {
	p.stack, p.count = p.stack[:0], 0
	end, ok := p.plain(text, 0, 0)
	if !ok || skipBlank(text, end) != len(text) {
		return v, false
	}
	return p.pop(), true
}

// plain reads the value at text[at], pushes it, and returns where it ends.
func (p *jsonValues) plain(text []byte, at, depth int) (end int, ok bool) {
	at = skipBlank(text, at)
	if at == len(text) || depth > plainDepth {
		return at, false
	}
	switch c := text[at]; {
	case c >= '0' && c <= '9' || c == '-':
		return p.plainNumber(text, at)
	case c == '[':
		return p.plainElems(text, at+1, depth, ']')
	case c == '{':
		return p.plainElems(text, at+1, depth, '}')
	case c == '"':
		for end = at + 1; end < len(text) && text[end] != '"'; end++ {
			if text[end] == '\\' {
				return at, false
			}
		}
		if end == len(text) {
			return at, false
		}
		p.push(history.Text(p.keep(text[at+1 : end])))
		return end + 1, true
	}
	end = wordEnd(text, at)
	word := text[at:end]
	switch {
	case string(word) == "nil":
		p.push(history.Value{})
	case len(word) > 1 && word[0] == ':' && isPlain(word[1:]):
		p.push(history.Keyword(p.keep(word[1:])))
	default:
		return at, false
	}
	return end, true
}

func (p *jsonValues) plainNumber(text []byte, at int) (end int, ok bool) {
	end = wordEnd(text, at)
	n, ok := wholeNumber(text[at:end])
	if ok {
		p.push(history.Int(n))
	}
	return end, ok
}

// wordEnd returns where the word at text[at] ends.
func wordEnd(text []byte, at int) int {
	for at < len(text) && text[at] > ' ' && text[at] != ',' && text[at] != ']' && text[at] != '}' && text[at] != '[' && text[at] != '{' && text[at] != '"' {
		at++
	}
	return at
}

// plainElems reads the elements of a collection, behind its bracket.
func (p *jsonValues) plainElems(text []byte, at, depth int, closing byte) (end int, ok bool) {
	height := len(p.stack)
	for {
		for at < len(text) && (isBlank(text[at]) || text[at] == ',') {
			at++
		}
		if at == len(text) {
			return at, false
		}
		if text[at] == closing {
			break
		}
		if at, ok = p.plain(text, at, depth+1); !ok {
			return at, false
		}
	}
	elems := p.stack[height:]
	var v history.Value
	if closing == ']' {
		v = history.Vec(p.keepAll(elems)...)
	} else {
		if len(elems)%2 != 0 {
			return at, false
		}
		v = history.MapOf(p.keepAll(lastOfEqual(elems))...)
	}
	p.stack = p.stack[:height]
	p.push(v)
	return at + 1, true
}
