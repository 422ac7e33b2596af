package rpc

import (
	"encoding/json"
	"iter"
)

// span is where a value is in a document.
type span struct{ start, end int }

func (s span) of(doc []byte) []byte { return doc[s.start:s.end] }

// What follows reads only documents that json.Valid accepts, so that bytes can be
// replaced in place and all others stay as the node wrote them.

func skipSpace(doc []byte, i int) int {
	for i < len(doc) && (doc[i] == ' ' || doc[i] == '\n' || doc[i] == '\t' || doc[i] == '\r') {
		i++
	}
	return i
}

// skipString returns the end of the string that starts at i.
func skipString(doc []byte, i int) int {
	for i++; i < len(doc); i++ {
		switch doc[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return i
}

// skipValue returns the end of the value that starts at i.
func skipValue(doc []byte, i int) int {
	depth := 0
	for i < len(doc) {
		switch doc[i] {
		case '"':
			i = skipString(doc, i)
			if depth == 0 {
				return i
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return i // of the array or object around a number
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case ',', ' ', '\n', '\t', '\r':
			if depth == 0 {
				return i
			}
		}
		i++
	}
	return i
}

// whole is the span of the document's value, without the space around it.
func whole(doc []byte) span {
	start := skipSpace(doc, 0)
	return span{start, skipValue(doc, start)}
}

// elements lists the elements of the array at s; none when it is not an array.
func elements(doc []byte, s span) iter.Seq[span] {
	return func(yield func(span) bool) {
		if s.start >= len(doc) || doc[s.start] != '[' {
			return
		}
		i := skipSpace(doc, s.start+1)
		for i < s.end-1 {
			v := span{i, skipValue(doc, i)}
			if !yield(v) {
				return
			}
			i = skipSpace(doc, v.end)
			i = skipSpace(doc, i+1) // the comma
		}
	}
}

// members lists the keys and values of the object at s; none when it is not an
// object.
func members(doc []byte, s span) iter.Seq2[span, span] {
	return func(yield func(key, value span) bool) {
		if s.start >= len(doc) || doc[s.start] != '{' {
			return
		}
		i := skipSpace(doc, s.start+1)
		for i < s.end-1 {
			k := span{i, skipString(doc, i)}
			i = skipSpace(doc, skipSpace(doc, k.end)+1) // the colon
			v := span{i, skipValue(doc, i)}
			if !yield(k, v) {
				return
			}
			i = skipSpace(doc, v.end)
			i = skipSpace(doc, i+1) // the comma
		}
	}
}

// text is the string at s; ok is false when it is not one.
func text(doc []byte, s span) (value string, ok bool) {
	raw := s.of(doc)
	if len(raw) < 2 || raw[0] != '"' {
		return "", false
	}
	for _, c := range raw[1 : len(raw)-1] {
		if c == '\\' || c >= 0x80 {
			return value, json.Unmarshal(raw, &value) == nil
		}
	}
	return string(raw[1 : len(raw)-1]), true
}

// member finds a key of the object at s.
func member(doc []byte, s span, name string) (value span, ok bool) {
	for k, v := range members(doc, s) {
		if key, _ := text(doc, k); key == name {
			value, ok = v, true // of two the last counts, as for most readers
		}
	}
	return value, ok
}

// splice returns doc with another text at s.
func splice(doc []byte, s span, with []byte) []byte {
	out := make([]byte, 0, len(doc)-(s.end-s.start)+len(with))
	out = append(out, doc[:s.start]...)
	out = append(out, with...)
	return append(out, doc[s.end:]...)
}

// join makes an array of values.
func join(values [][]byte) []byte {
	out := []byte{'['}
	for i, v := range values {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, v...)
	}
	return append(out, ']')
}
