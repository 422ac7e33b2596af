package history

// Kind is the sort of an EDN value.
type Kind uint8

const (
	Nil Kind = iota
	Bool
	Integer // fits in 64 bits
	Float
	Number // any other number, kept as text: bignum, decimal, ratio
	String
	Char
	KeywordKind
	Symbol
	List
	Vector
	Set
	Map
	Tagged // #tag form
)

// Value is one immutable EDN value. The zero value is nil.
type Value struct {
	kind Kind
	num  uint64  // Bool, Integer, Float (as bits)
	str  string  // String, Char, KeywordKind, Symbol, Number; the tag of Tagged
	list []Value // elements; key, value, key, value… of a Map; the one form of Tagged
}

// Int returns an integer.
func Int(n int64) Value { return Value{kind: Integer, num: uint64(n)} }

// Flag returns a boolean.
func Flag(b bool) Value {
	if b {
		return Value{kind: Bool, num: 1}
	}
	return Value{kind: Bool}
}

// Text returns a string.
func Text(s string) Value { return Value{kind: String, str: s} }

// Keyword returns the keyword of that name, given without its colon.
func Keyword(name string) Value { return Value{kind: KeywordKind, str: name} }

// Vec returns a vector.
func Vec(vs ...Value) Value { return Value{kind: Vector, list: vs} }

// SetOf returns a set of those elements, in the order given; the caller sees to
// it that none occurs twice.
func SetOf(vs ...Value) Value { return Value{kind: Set, list: vs} }

// MapOf returns a map from alternating keys and values.
func MapOf(kvs ...Value) Value { return Value{kind: Map, list: kvs} }

// Kind returns the sort of v.
func (v Value) Kind() Kind { return v.kind }

// IsNil reports whether v is nil.
func (v Value) IsNil() bool { return v.kind == Nil }

// Int returns the integer; ok is false when v is not one of at most 64 bits.
func (v Value) Int() (n int64, ok bool) { return int64(v.num), v.kind == Integer }

// Flag returns the boolean; ok is false when v is not one.
func (v Value) Flag() (b, ok bool) { return v.num == 1, v.kind == Bool }

// Text returns the content of a string, character, keyword or symbol (without
// its mark), the digits of a Number, the tag of a Tagged; "" for every other kind.
func (v Value) Text() string { return v.str }

// Elems returns the elements of a list, vector or set, key, value, key, value…
// of a map, the one form of a tagged value; nil for every other kind. The
// caller must not change it.
func (v Value) Elems() []Value { return v.list }

// Field returns the value of a map under a keyword or string of that name.
func (v Value) Field(name string) (Value, bool) {
	if v.kind != Map {
		return Value{}, false
	}
	for i := 0; i+1 < len(v.list); i += 2 {
		k := v.list[i]
		if k.str == name && (k.kind == KeywordKind || k.kind == String) {
			return v.list[i+1], true
		}
	}
	return Value{}, false
}

// String renders v as EDN on one line.
func (v Value) String() string { return string(v.Append(nil)) }
