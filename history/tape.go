package history

import (
	"iter"
	"strconv"
)

// Tape holds values as one flat run of words, so that a history can be read and
// walked without an allocation for each value. Values are appended at its end
// and looked at through a View. The zero Tape is empty and ready for use, by one
// goroutine.
//
// A word has its kind in the low 4 bits. Of a Bool or small Integer the rest is
// the value; of a String, Char, KeywordKind, Symbol it is place and length of
// its bytes in text; of a collection it is how many elements follow, and how
// many words all of it takes; of any other value it is a place in rest.
type Tape struct {
	words []uint64
	text  []byte
	rest  []Value
}

const (
	kindBits  = 4
	kindMask  = 1<<kindBits - 1
	countBits = 28 // of elements, of bytes
	countMask = 1<<countBits - 1
	skipShift = kindBits + countBits
	inRest    = kindMask // kind of a word whose value is in rest
)

// Reset empties t and keeps its memory. Views of what it held are void.
func (t *Tape) Reset() { t.words, t.text, t.rest = t.words[:0], t.text[:0], t.rest[:0] }

// Len is the number of words in use: where the next value will stand.
func (t *Tape) Len() int { return len(t.words) }

// Append puts v at the end of t and returns a View of it.
func (t *Tape) Append(v Value) View {
	at := len(t.words)
	t.append(v)
	return View{tape: t, at: at}
}

func (t *Tape) append(v Value) {
	switch v.kind {
	case Nil:
		t.words = append(t.words, 0)
	case Bool:
		t.words = append(t.words, uint64(Bool)|v.num<<kindBits)
	case Integer:
		t.appendInt(int64(v.num))
	case String, Char, KeywordKind, Symbol:
		t.words = append(t.words, t.textWord(v.kind, len(v.str)))
		t.text = append(t.text, v.str...)
	case List, Vector, Set, Map:
		head := t.open()
		for i := range v.list {
			t.append(v.list[i])
		}
		t.close(head, v.kind, len(v.list))
	default:
		t.words = append(t.words, inRest|uint64(len(t.rest))<<kindBits)
		t.rest = append(t.rest, v)
	}
}

// appendInt puts an integer at the end.
func (t *Tape) appendInt(n int64) {
	if n<<kindBits>>kindBits == n {
		t.words = append(t.words, uint64(Integer)|uint64(n)<<kindBits)
		return
	}
	t.words = append(t.words, inRest|uint64(len(t.rest))<<kindBits)
	t.rest = append(t.rest, Int(n))
}

// textWord is the word of a text of n bytes that is about to be put at the end
// of text.
func (t *Tape) textWord(kind Kind, n int) uint64 {
	return uint64(kind) | uint64(n)<<kindBits | uint64(len(t.text))<<skipShift
}

// open begins a collection; its elements follow, then close.
func (t *Tape) open() (head int) {
	t.words = append(t.words, 0)
	return len(t.words) - 1
}

// close ends the collection that open began.
func (t *Tape) close(head int, kind Kind, elems int) {
	t.words[head] = uint64(kind) | uint64(elems)<<kindBits | uint64(len(t.words)-head)<<skipShift
}

// View is one value on a Tape. It is valid until the Tape is reset. The zero
// View is nil.
type View struct {
	tape *Tape
	at   int
}

func (v View) word() uint64 {
	if v.tape == nil {
		return 0
	}
	return v.tape.words[v.at]
}

// Kind returns the sort of the value.
func (v View) Kind() Kind {
	w := v.word()
	if k := w & kindMask; k != inRest {
		return Kind(k)
	}
	return v.tape.rest[w>>kindBits].kind
}

// IsNil reports whether the value is nil.
func (v View) IsNil() bool { return v.word()&kindMask == uint64(Nil) }

// Int returns the integer; ok is false when the value is not one of at most 64
// bits.
func (v View) Int() (n int64, ok bool) {
	w := v.word()
	if w&kindMask == uint64(Integer) {
		return int64(w) >> kindBits, true
	}
	if w&kindMask == inRest {
		return v.tape.rest[w>>kindBits].Int()
	}
	return 0, false
}

// Flag returns the boolean; ok is false when the value is not one.
func (v View) Flag() (b, ok bool) {
	w := v.word()
	return w>>kindBits == 1, w&kindMask == uint64(Bool)
}

// Bytes returns the content of a string, character, keyword or symbol without
// its mark, nil for every other kind. The caller must not change it, and it is
// valid as long as v is.
func (v View) Bytes() []byte {
	w := v.word()
	switch Kind(w & kindMask) {
	case String, Char, KeywordKind, Symbol:
		from := int(w >> skipShift)
		to := from + int(w>>kindBits&countMask)
		return v.tape.text[from:to:to]
	}
	return nil
}

// Is reports whether the value is the keyword, or the string, of that name: what
// EDN has as :append JSON has as "append".
func (v View) Is(name string) bool {
	w := v.word()
	if k := Kind(w & kindMask); k != KeywordKind && k != String {
		return false
	}
	from, n := int(w>>skipShift), int(w>>kindBits&countMask)
	return n == len(name) && string(v.tape.text[from:from+n]) == name
}

// IsSequence reports whether the value is a vector or a list.
func (v View) IsSequence() bool {
	k := Kind(v.word() & kindMask)
	return k == Vector || k == List
}

// Len is the number of elements of a list, vector or set, twice the number of
// entries of a map (key, value, key, value…), and 0 for every other kind.
func (v View) Len() int {
	w := v.word()
	switch Kind(w & kindMask) {
	case List, Vector, Set, Map:
		return int(w >> kindBits & countMask)
	}
	return 0
}

// First returns the first element of a value whose Len is not 0; Next leads from
// there to the others.
func (v View) First() View { return View{tape: v.tape, at: v.at + 1} }

// Next returns the value that follows v in the collection that holds both; the
// caller counts, with Len.
func (v View) Next() View {
	return View{tape: v.tape, at: v.at + span(v.tape.words[v.at])}
}

// Elems yields the elements of a list, vector or set, key, value, key, value… of a
// map, and nothing of every other kind.
func (v View) Elems() iter.Seq[View] {
	return func(yield func(View) bool) {
		for n, elem := v.Len(), v.First(); n > 0 && yield(elem); n-- {
			if n > 1 {
				elem = elem.Next()
			}
		}
	}
}

// span is how many words the value takes that begins with word w.
func span(w uint64) int {
	switch Kind(w & kindMask) {
	case List, Vector, Set, Map:
		return int(w >> skipShift)
	}
	return 1
}

// Field returns the value of a map under a keyword or string of that name.
func (v View) Field(name string) (View, bool) {
	if Kind(v.word()&kindMask) != Map {
		return View{}, false
	}
	key := v.First()
	for n := v.Len(); n >= 2; n -= 2 {
		value := key.Next()
		if key.Is(name) {
			return value, true
		}
		if n > 2 {
			key = value.Next()
		}
	}
	return View{}, false
}

// Pair returns both elements of a vector or list of two.
func (v View) Pair() (first, second View, ok bool) {
	if !v.IsSequence() || v.Len() != 2 {
		return View{}, View{}, false
	}
	first = v.First()
	return first, first.Next(), true
}

// AppendInts appends the elements of a vector or list of integers to dst; ok is
// false, and dst as it was, when the value is anything else.
func (v View) AppendInts(dst []int64) (ints []int64, ok bool) {
	if !v.IsSequence() {
		return dst, false
	}
	n := v.Len()
	before := len(dst)
	// Integers take a word each, so no element is longer than its place says.
	for i := 1; i <= n; i++ {
		w := v.tape.words[v.at+i]
		if w&kindMask != uint64(Integer) {
			elem, isInt := View{tape: v.tape, at: v.at + i}.Int()
			if !isInt {
				return dst[:before], false
			}
			dst = append(dst, elem)
			continue
		}
		dst = append(dst, int64(w)>>kindBits)
	}
	return dst, true
}

// Value copies the value off the tape.
func (v View) Value() Value {
	w := v.word()
	switch k := Kind(w & kindMask); k {
	case Nil:
		return Value{}
	case Bool:
		return Value{kind: Bool, num: w >> kindBits}
	case Integer:
		return Int(int64(w) >> kindBits)
	case String, Char, KeywordKind, Symbol:
		return Value{kind: k, str: string(v.Bytes())}
	case List, Vector, Set, Map:
		list := make([]Value, v.Len())
		elem := v.First()
		for i := range list {
			list[i] = elem.Value()
			if i+1 < len(list) {
				elem = elem.Next()
			}
		}
		return Value{kind: k, list: list}
	}
	return v.tape.rest[w>>kindBits]
}

// AppendKey appends what Value.Key says of the value: equal bytes for equal
// values and for no others. It allocates nothing for integers, texts, and vectors
// and lists of them.
func (v View) AppendKey(dst []byte) []byte {
	w := v.word()
	switch Kind(w & kindMask) {
	case Integer:
		return strconv.AppendInt(dst, int64(w)>>kindBits, 10)
	case KeywordKind:
		return appendString(append(dst, ':'), v.Bytes())
	case String:
		return appendString(dst, v.Bytes())
	case List, Vector:
		dst = append(dst, '[')
		for elem := range v.Elems() {
			dst = append(elem.AppendKey(dst), ' ')
		}
		return append(dst, ']')
	}
	return v.Value().appendKey(dst)
}

// CopyTo appends the value to another tape and returns a View of it there.
func (v View) CopyTo(t *Tape) View {
	at := len(t.words)
	switch w := v.word(); Kind(w & kindMask) {
	case List, Vector, Set, Map:
		head := t.open()
		elem, n := v.First(), v.Len()
		for i := range n {
			elem.CopyTo(t)
			if i+1 < n {
				elem = elem.Next()
			}
		}
		t.close(head, Kind(w&kindMask), n)
	case String, Char, KeywordKind, Symbol:
		b := v.Bytes()
		t.words = append(t.words, t.textWord(Kind(w&kindMask), len(b)))
		t.text = append(t.text, b...)
	case inRest:
		t.words = append(t.words, inRest|uint64(len(t.rest))<<kindBits)
		t.rest = append(t.rest, v.tape.rest[w>>kindBits])
	default:
		t.words = append(t.words, w)
	}
	return View{tape: t, at: at}
}
