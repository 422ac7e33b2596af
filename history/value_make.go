package history

import (
	"math"
	"math/big"
)

// FloatOf returns a floating-point number.
func FloatOf(f float64) Value { return Value{kind: Float, num: math.Float64bits(f)} }

// BigOf returns the integer n, of any size: an Integer where 64 bits hold it, a
// Number otherwise.
func BigOf(n *big.Int) Value {
	if n.IsInt64() {
		return Int(n.Int64())
	}
	return Value{kind: Number, str: n.String() + "N"}
}

// CharOf returns a character.
func CharOf(r rune) Value { return Value{kind: Char, str: string(r)} }

// SymbolOf returns the symbol of that name.
func SymbolOf(name string) Value { return Value{kind: Symbol, str: name} }

// ListOf returns a list.
func ListOf(vs ...Value) Value { return Value{kind: List, list: vs} }

// TaggedOf returns the tagged literal #tag form; tag is given without its #.
func TaggedOf(tag string, form Value) Value {
	return Value{kind: Tagged, str: tag, list: []Value{form}}
}

// Float returns an integer or floating-point number as a float64; ok is false
// for every other kind.
func (v Value) Float() (f float64, ok bool) {
	switch v.kind {
	case Float:
		return math.Float64frombits(v.num), true
	case Integer:
		return float64(int64(v.num)), true
	}
	return 0, false
}

// Big returns an integer of any size; ok is false when v is not one. The caller
// may change the result.
func (v Value) Big() (n *big.Int, ok bool) {
	switch v.kind {
	case Integer:
		return big.NewInt(int64(v.num)), true
	case Number:
		digits := v.str
		if n := len(digits); n > 0 && digits[n-1] == 'N' {
			digits = digits[:n-1]
		}
		return new(big.Int).SetString(digits, 10)
	}
	return nil, false
}
