package history

import (
	"bytes"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// maxNumber bounds the text of one number. It keeps a hostile file from asking
// for arithmetic that never ends.
const maxNumber = 4096

// parseNumber reads a token that starts with a digit or with a sign and a digit,
// as Clojure does.
func parseNumber(token []byte) (v Value, ok bool) {
	if len(token) > maxNumber {
		return Value{}, false
	}
	text := string(bytes.TrimPrefix(token, []byte("+")))
	body, negative := strings.CutPrefix(text, "-")
	if body == "" {
		return Value{}, false
	}
	last := body[len(body)-1]
	switch {
	case len(body) > 2 && body[0] == '0' && (body[1] == 'x' || body[1] == 'X'):
		return integerOf(strings.TrimSuffix(body[2:], "N"), 16, negative)
	case radixEnd(body) > 0:
		at := radixEnd(body)
		base, err := strconv.Atoi(body[:at])
		if err != nil || base < 2 || base > 36 {
			return Value{}, false
		}
		return integerOf(body[at+1:], base, negative)
	case strings.IndexByte(body, '/') > 0:
		return ratioOf(text, body)
	case last == 'M':
		if !isDecimal(body[:len(body)-1]) {
			return Value{}, false
		}
		return Value{kind: Number, str: text}, true
	case strings.ContainsAny(body, ".eE"):
		if !isDecimal(body) {
			return Value{}, false
		}
		// Out of range is infinity, as on the JVM.
		f, _ := strconv.ParseFloat(text, 64)
		return FloatOf(f), true
	}
	digits := strings.TrimSuffix(body, "N")
	if len(digits) > 1 && digits[0] == '0' {
		return integerOf(digits[1:], 8, negative)
	}
	return integerOf(digits, 10, negative)
}

// radixEnd returns the place of the r in 2r1010, or 0.
func radixEnd(body string) int {
	for i := 1; i <= 2 && i+1 < len(body); i++ {
		if body[i] == 'r' || body[i] == 'R' {
			return i
		}
	}
	return 0
}

func integerOf(digits string, base int, negative bool) (Value, bool) {
	if digits == "" || digits[0] == '-' || digits[0] == '+' || strings.IndexByte(digits, '_') >= 0 {
		return Value{}, false
	}
	n, ok := new(big.Int).SetString(digits, base)
	if !ok {
		return Value{}, false
	}
	if negative {
		n.Neg(n)
	}
	return BigOf(n), true
}

func ratioOf(text, body string) (Value, bool) {
	over, under, _ := strings.Cut(body, "/")
	if !isDigits(over) || !isDigits(under) || strings.Trim(under, "0") == "" {
		return Value{}, false
	}
	return Value{kind: Number, str: text}, true
}

func isDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// isDecimal reports whether s is digits[.[digits]][e[sign]digits].
func isDecimal(s string) bool {
	whole, exponent, found := strings.Cut(strings.Replace(s, "E", "e", 1), "e")
	if found {
		if exponent != "" && (exponent[0] == '-' || exponent[0] == '+') {
			exponent = exponent[1:]
		}
		if !isDigits(exponent) {
			return false
		}
	}
	whole, fraction, _ := strings.Cut(whole, ".")
	return isDigits(whole) && (fraction == "" || isDigits(fraction))
}

// numberKey returns the text that all numbers of one value share.
func (v Value) numberKey() string {
	switch v.kind {
	case Integer:
		return strconv.FormatInt(int64(v.num), 10)
	case Float:
		f := math.Float64frombits(v.num)
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return string(appendFloat(nil, f))
		}
		return decimalKey(strconv.FormatFloat(f, 'e', -1, 64))
	}
	text := strings.TrimRight(v.str, "NM")
	if over, under, found := strings.Cut(text, "/"); found {
		return ratioKey(text, over, under)
	}
	return decimalKey(text)
}

// decimalKey writes a decimal as plain digits where it is an integer of at most
// 19 digits, so that it meets the key of an Integer, and as significant digits
// and exponent otherwise.
func decimalKey(text string) string {
	body, negative := strings.CutPrefix(text, "-")
	mantissa, exponent, _ := strings.Cut(strings.Replace(body, "E", "e", 1), "e")
	exp := 0
	if exponent != "" {
		n, err := strconv.ParseInt(exponent, 10, 32)
		if err != nil {
			return text
		}
		exp = int(n)
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	exp -= len(fraction)
	short := strings.TrimRight(digits, "0")
	exp += len(digits) - len(short)
	if short == "" {
		return "0"
	}
	sign := ""
	if negative {
		sign = "-"
	}
	if exp >= 0 && len(short)+exp <= 19 {
		return sign + short + strings.Repeat("0", exp)
	}
	return sign + short + "e" + strconv.Itoa(exp)
}

func ratioKey(text, over, under string) string {
	p, ok := new(big.Int).SetString(over, 10)
	q, ok2 := new(big.Int).SetString(under, 10)
	if !ok || !ok2 || q.Sign() == 0 {
		return text
	}
	ratio := new(big.Rat).SetFrac(p, q)
	// A ratio whose denominator has no factor but 2 and 5 is a decimal.
	if places, exact := ratio.FloatPrec(); exact {
		return decimalKey(ratio.FloatString(places))
	}
	return ratio.String()
}
