package linear

import (
	"math"

	"github.com/jepgo/jepgo/history"
)

// action is what an operation does to a register.
type action uint8

const (
	other action = iota // nothing of the model's
	read
	write
	cas
	miss // a cas that certainly ran and found something else than it expected
)

// fate is what became of an operation.
type fate uint8

const (
	open    fate = iota // has no completion (so far): in doubt
	done                // ok
	failed              // certainly did not happen; kept for explanations only
	inDoubt             // :info
)

// never is the position of a completion that does not exist.
const never = math.MaxUint32

// row is one operation as it was read.
type row struct {
	begin, end uint32 // positions of the invocation and of the completion
	value, old int32  // codes; read: what was seen; write: what was written; cas: the new value and the expected one
	process    int32  // number of the process, for sequential consistency
	action     action
	fate       fate
	lone       bool // a completion without an invocation: all of the operation is at end
	unread     bool // the value that is known so far is not one of the operation's :f
}

// codes turns values into small numbers: an integer below 2^30 is its own code,
// every other value gets the next one above, nil the first of them.
type codes struct {
	known map[string]int32
	texts []history.Value
	key   []byte
	bytes int64 // that known and texts take, about
}

const (
	firstText = 1 << 30
	nilCode   = firstText
	// textBytes is what a value takes that has no code of its own, besides its text.
	textBytes = 128
)

// of returns the code of v: equal values have equal codes, others do not.
func (cs *codes) of(v history.View) int32 {
	if n, ok := v.Int(); ok && -firstText < n && n < firstText {
		return int32(n)
	}
	if v.IsNil() {
		return nilCode
	}
	switch v.Kind() {
	case history.String, history.KeywordKind:
		// A key of our own, which costs no copy of the text where it is known.
		cs.key = append(append(cs.key[:0], 't', byte(v.Kind())), v.Bytes()...)
	case history.Float, history.Number:
		if n, ok := smallInt(v); ok {
			return n
		}
		fallthrough
	default:
		cs.key = v.AppendKey(append(cs.key[:0], 'k'))
	}
	if code, ok := cs.known[string(cs.key)]; ok {
		return code
	}
	return cs.add(v.Value())
}

func (cs *codes) add(v history.Value) int32 {
	if cs.known == nil {
		cs.known = make(map[string]int32)
	}
	code := int32(nilCode + 1 + len(cs.texts))
	cs.known[string(cs.key)] = code
	cs.texts = append(cs.texts, v)
	cs.bytes += 2*int64(len(cs.key)) + textBytes
	return code
}

// smallInt finds the integers among numbers that are not written as one: 42.0
// is the same value as 42.
func smallInt(v history.View) (n int32, ok bool) {
	text := v.AppendKey(nil)
	negative := len(text) > 0 && text[0] == '-'
	if negative {
		text = text[1:]
	}
	if len(text) == 0 || len(text) > 10 {
		return 0, false
	}
	sum := int64(0)
	for _, c := range text {
		if c < '0' || c > '9' {
			return 0, false
		}
		sum = 10*sum + int64(c-'0')
	}
	if negative {
		sum = -sum
	}
	return int32(sum), -firstText < sum && sum < firstText
}

// value gives back the value of a code.
func (cs *codes) value(code int32) history.Value {
	switch {
	case code < firstText:
		return history.Int(int64(code))
	case code == nilCode:
		return history.Value{}
	}
	return cs.texts[code-nilCode-1]
}
