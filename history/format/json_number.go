package format

import (
	"bytes"
	"errors"
	"math/big"
	"strconv"

	"github.com/jepgo/jepgo/history"
)

func (p *jsonValues) number() error {
	from := p.pos
	i := from
	negative := p.buf[i] == '-'
	if negative {
		i++
	}
	n := int64(0)
	digits := i
	for ; i < len(p.buf) && p.buf[i] >= '0' && p.buf[i] <= '9'; i++ {
		n = n*10 + int64(p.buf[i]-'0')
	}
	if i < len(p.buf) && i > digits && i-digits <= 18 && !isNumeric(p.buf[i]) {
		if p.pos = i; negative {
			n = -n
		}
		p.push(history.Int(n))
		return nil
	}
	for i < len(p.buf) && isNumeric(p.buf[i]) {
		i++
	}
	if i == len(p.buf) && i-from <= maxJSONNumber {
		return errMore
	}
	v, ok := numberOf(p.buf[from:i])
	if !ok {
		return p.bad(from, "number %s cannot be read", quote(p.buf[from:i]))
	}
	p.pos = i
	p.push(v)
	return nil
}

// isNumeric reports whether c can be within a number.
func isNumeric(c byte) bool {
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || c == '.' || c == '-' || c == '+' || c == '_'
}

// numberOf reads an integer of any size or a float. One that is out of range is
// infinity, as on the JVM.
func numberOf(token []byte) (history.Value, bool) {
	if len(token) > maxJSONNumber || bytes.ContainsFunc(token, func(r rune) bool {
		return (r < '0' || r > '9') && r != '-' && r != '+' && r != '.' && r != 'e' && r != 'E'
	}) {
		return history.Value{}, false
	}
	if bytes.ContainsAny(token, ".eE") {
		f, err := strconv.ParseFloat(string(token), 64)
		return history.FloatOf(f), err == nil || errors.Is(err, strconv.ErrRange)
	}
	n, ok := new(big.Int).SetString(string(token), 10)
	if !ok {
		return history.Value{}, false
	}
	return history.BigOf(n), true
}

// wholeNumber reads an integer as Go prints it: no sign but a minus, and no zeros
// before it.
func wholeNumber(text []byte) (int64, bool) {
	digits := text
	if len(text) > 1 && text[0] == '-' {
		digits = text[1:]
	}
	if len(digits) == 0 || len(digits) > 20 || digits[0] < '0' || digits[0] > '9' || digits[0] == '0' && len(text) > 1 {
		return 0, false
	}
	return plainInt(text)
}
