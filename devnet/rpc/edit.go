package rpc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// Operation is what an Edit does to a value.
type Operation string

// The operations. Those on hex act on a string that starts with 0x, and on
// nothing else.
const (
	SetField      Operation = "set_field"      // put Value in its place
	DeleteField   Operation = "delete_field"   // a key with its value, or an element
	TruncateArray Operation = "truncate_array" // leave the first Keep elements
	FlipHex       Operation = "flip_hex"       // another digit somewhere; the length stays
	OversizeHex   Operation = "oversize_hex"   // 32 bytes more
	MalformHex    Operation = "malform_hex"    // a digit that is none
	NegateHex     Operation = "negate_hex"     // -0x1
	NestValue     Operation = "nest"           // within arrays, a hundred deep
)

// Edit changes one place, or all that its path names, in a result.
type Edit struct {
	// Path leads from the result to the value: keys and indices joined by dots, *
	// for every key or element of one level; "" is the result itself. What is not
	// there is left alone. Keys with a dot in them cannot be named.
	Path  string
	Do    Operation
	Value string // JSON, for SetField
	Keep  int    // for TruncateArray
}

func (e Edit) check() error {
	switch e.Do {
	case SetField:
		if !json.Valid([]byte(e.Value)) {
			return fmt.Errorf("edit %s %q: value %q: expected JSON", e.Do, e.Path, e.Value)
		}
	case TruncateArray:
		if e.Keep < 0 {
			return fmt.Errorf("edit %s %q: keep %d: expected 0 or more", e.Do, e.Path, e.Keep)
		}
	case DeleteField:
		if e.Path == "" {
			return fmt.Errorf("edit %s: expected a path, as a result has to be there", e.Do)
		}
	case FlipHex, OversizeHex, MalformHex, NegateHex, NestValue:
	default:
		return fmt.Errorf("edit %q: unknown; expected one of %s", e.Do, strings.Join(operations(), ", "))
	}
	return nil
}

func operations() []string {
	var names []string
	for _, o := range []Operation{SetField, DeleteField, TruncateArray, FlipHex, OversizeHex, MalformHex, NegateHex, NestValue} {
		names = append(names, string(o))
	}
	return names
}

// place is a value that a path led to, with its key where it has one.
type place struct{ key, value span }

// places lists what the path names at s, in the order of the document.
func places(doc []byte, at place, path []string) []place {
	if len(path) == 0 {
		return []place{at}
	}
	var found []place
	name, rest := path[0], path[1:]
	for k, v := range members(doc, at.value) {
		if key, _ := text(doc, k); name == "*" || key == name {
			found = append(found, places(doc, place{k, v}, rest)...)
		}
	}
	i := 0
	for v := range elements(doc, at.value) {
		if name == "*" || name == strconv.Itoa(i) {
			found = append(found, places(doc, place{v, v}, rest)...)
		}
		i++
	}
	return found
}

// apply edits the value at s in doc. It returns doc itself when there is nothing
// to edit.
func (e Edit) apply(doc []byte, s span, rng *rand.Rand) []byte {
	var path []string
	if e.Path != "" {
		path = strings.Split(e.Path, ".")
	}
	// From the last to the first, so that those before stay where they are.
	for _, at := range slices.Backward(places(doc, place{s, s}, path)) {
		if e.Do == DeleteField {
			doc = splice(doc, removal(doc, at), nil)
			continue
		}
		if with := e.instead(doc, at.value, rng); with != nil {
			doc = splice(doc, at.value, with)
		}
	}
	return doc
}

// removal is the span of a member or an element with one of its commas.
func removal(doc []byte, at place) span {
	out := span{at.key.start, at.value.end}
	if i := skipSpace(doc, out.end); doc[i] == ',' {
		out.end = skipSpace(doc, i+1)
		return out
	}
	for i := out.start - 1; i > 0; i-- {
		if doc[i] == ',' {
			out.start = i
			return out
		}
		if doc[i] == '{' || doc[i] == '[' {
			return out
		}
	}
	return out
}

// nesting is deeper than sane readers look, and no danger to any.
const nesting = 100

// instead is what takes the place of the value at s; nil where the operation does
// not fit, or would change nothing.
func (e Edit) instead(doc []byte, s span, rng *rand.Rand) []byte {
	old := s.of(doc)
	var with []byte
	switch e.Do {
	case SetField:
		with = []byte(e.Value)
	case TruncateArray:
		var kept [][]byte
		n := 0
		for v := range elements(doc, s) {
			if n++; n <= e.Keep {
				kept = append(kept, v.of(doc))
			}
		}
		if n <= e.Keep { // also what is no array
			return nil
		}
		with = join(kept)
	case NestValue:
		with = []byte(strings.Repeat("[", nesting) + string(old) + strings.Repeat("]", nesting))
	default:
		with = e.hex(old, rng)
	}
	if bytes.Equal(with, old) {
		return nil
	}
	return with
}

const digits = "0123456789abcdef"

// hex spoils a string of hex digits; nil when it is none.
func (e Edit) hex(old []byte, rng *rand.Rand) []byte {
	body, ok := bytes.CutPrefix(old, []byte(`"0x`))
	if !ok || len(body) < 2 {
		return nil
	}
	n := len(body) - 1 // without the quote
	at := 3 + rng.IntN(n)
	switch e.Do {
	case FlipHex:
		with := bytes.Clone(old)
		was := max(0, strings.IndexByte(digits, with[at]|0x20)) // in lower case
		with[at] = digits[was^(1+rng.IntN(15))]
		return with
	case OversizeHex:
		return []byte(`"0x` + strings.Repeat("f", 64) + string(body))
	case MalformHex:
		with := bytes.Clone(old)
		with[at] = 'g'
		return with
	case NegateHex:
		return []byte(`"-0x1"`)
	}
	return nil
}
