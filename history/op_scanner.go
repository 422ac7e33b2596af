package history

import (
	"encoding/binary"
	"math"
)

// The fast path: ops as they occur by the million are read from bytes straight
// onto a tape. It knows maps with keyword keys, integers, keywords, strings
// without escapes, nil, booleans, and collections of these. Whatever else it
// meets, it gives up the op, and the general reader takes it; so it may refuse
// what is right, but must never take what that reader would read differently.

// Classes of bytes.
const (
	spaceClass = 1 << iota
	delimiterClass
	digitClass
	foreignClass // what a keyword must not hold for the fast path to take it
)

// classes holds the class of every byte.
type classes [256]uint8

func newClasses() *classes {
	var t classes
	for c := range t {
		if isSpace(byte(c)) {
			t[c] |= spaceClass
		}
		if isDelimiter(byte(c)) {
			t[c] |= delimiterClass
		}
		if c >= '0' && c <= '9' {
			t[c] |= digitClass
		}
		if c >= 0x80 {
			t[c] |= foreignClass
		}
	}
	return &t
}

// padding is how many zero bytes stand behind the text of a chunk, so that a
// look ahead needs no bounds.
const padding = 16

// fastDepth is how deep the fast path follows collections.
const fastDepth = 32

// opScanner reads single ops off a text with padding behind it.
type opScanner struct {
	class *classes
	tape  *Tape // whose text is the text read
	rest  *Tape // for the keys without a place of their own; of the same text
	names [256]string
	open  [fastDepth]frame // scratch, as is keys
	keys  []uint64
}

// load returns the 8 bytes at i, the first one lowest.
func load(text []byte, i int) uint64 { return binary.LittleEndian.Uint64(text[i : i+8]) }

// Names as load returns them, and masks of so many bytes.
const (
	indexWord   = 'x'<<40 | 'e'<<32 | 'd'<<24 | 'n'<<16 | 'i'<<8 | ':'
	timeWord    = 'e'<<32 | 'm'<<24 | 'i'<<16 | 't'<<8 | ':'
	typeWord    = 'e'<<32 | 'p'<<24 | 'y'<<16 | 't'<<8 | ':'
	processWord = 's'<<56 | 's'<<48 | 'e'<<40 | 'c'<<32 | 'o'<<24 | 'r'<<16 | 'p'<<8 | ':'
	fWord       = 'f'<<8 | ':'
	valueWord   = 'e'<<40 | 'u'<<32 | 'l'<<24 | 'a'<<16 | 'v'<<8 | ':'
	invokeWord  = 'e'<<48 | 'k'<<40 | 'o'<<32 | 'v'<<24 | 'n'<<16 | 'i'<<8 | ':'
	okWord      = 'k'<<16 | 'o'<<8 | ':'
	failWord    = 'l'<<32 | 'i'<<24 | 'a'<<16 | 'f'<<8 | ':'
	infoWord    = 'o'<<32 | 'f'<<24 | 'n'<<16 | 'i'<<8 | ':'
	nilWord     = 'l'<<16 | 'i'<<8 | 'n'
	trueWord    = 'e'<<24 | 'u'<<16 | 'r'<<8 | 't'
	falseWord   = 'e'<<32 | 's'<<24 | 'l'<<16 | 'a'<<8 | 'f'

	mask2 = 1<<16 - 1
	mask3 = 1<<24 - 1
	mask4 = 1<<32 - 1
	mask5 = 1<<40 - 1
	mask6 = 1<<48 - 1
	mask7 = 1<<56 - 1
)

// op reads the op map whose brace is at i into e, all but its position, and
// returns the place behind it; ok is false when the general reader must do it.
func (s *opScanner) op(text []byte, i int, e *Event) (next int, ok bool) {
	const (
		hasIndex = 1 << iota
		hasTime
		hasType
		hasProcess
		hasF
		hasValue
	)
	class := s.class
	*e = Event{Index: Absent, Time: Absent}
	seen := 0
	rest, others := 0, 0
	i++
	for {
		c := text[i]
		for class[c]&spaceClass != 0 {
			i++
			c = text[i]
		}
		if c != ':' {
			if others > 0 {
				s.rest.close(rest, Map, others)
			}
			return i + 1, c == '}'
		}
		word, from := load(text, i), i
		key := 0
		switch {
		case word&mask5 == typeWord:
			key, i = hasType, i+5
		case word&mask2 == fWord:
			key, i = hasF, i+2
		case word&mask6 == valueWord:
			key, i = hasValue, i+6
		case word == processWord:
			key, i = hasProcess, i+8
		case word&mask5 == timeWord:
			key, i = hasTime, i+5
		case word&mask6 == indexWord:
			key, i = hasIndex, i+6
		}
		c = text[i]
		if key == 0 || class[c]&delimiterClass == 0 {
			key = 0
			if i, ok = s.name(text, from); !ok {
				return 0, false
			}
			if others == 0 {
				e.Rest = View{tape: s.rest, at: len(s.rest.words)}
				rest = s.rest.open()
			}
			others += 2
			s.rest.words = append(s.rest.words, uint64(KeywordKind)|uint64(i-from-1)<<kindBits|uint64(from+1)<<skipShift)
			c = text[i]
		}
		if seen&key != 0 {
			return 0, false
		}
		seen |= key
		for class[c]&spaceClass != 0 {
			i++
			c = text[i]
		}
		switch key {
		case hasType:
			if e.Type, i = typeAt(load(text, i), i); class[text[i]]&delimiterClass == 0 {
				return 0, false
			}
			ok = e.Type != 0
		case hasF:
			e.F, i, ok = s.keyword(text, i)
		case hasValue:
			e.Value = View{tape: s.tape, at: len(s.tape.words)}
			i, ok = s.value(text, i)
		case hasProcess:
			if c == ':' {
				var name string
				name, i, ok = s.keyword(text, i)
				e.Process = Named(name)
				break
			}
			var n int64
			n, i, ok = s.int(text, i)
			e.Process = Client(n)
		case hasTime:
			e.Time, i, ok = s.int(text, i)
		case hasIndex:
			e.Index, i, ok = s.int(text, i)
		default:
			s.tape, s.rest = s.rest, s.tape
			i, ok = s.value(text, i)
			s.tape, s.rest = s.rest, s.tape
		}
		if !ok {
			return 0, false
		}
	}
}

// typeAt reads the type that word starts with, if any, and moves i behind it.
func typeAt(word uint64, i int) (Type, int) {
	switch {
	case word&mask3 == okWord:
		return OK, i + 3
	case word&mask7 == invokeWord:
		return Invoke, i + 7
	case word&mask5 == failWord:
		return Fail, i + 5
	case word&mask5 == infoWord:
		return Info, i + 5
	}
	return 0, i
}

// name passes over the keyword whose colon is at i.
func (s *opScanner) name(text []byte, i int) (next int, ok bool) {
	start := i
	for s.class[text[i]]&(delimiterClass|foreignClass) == 0 {
		i++
	}
	return i, i > start+1 && s.class[text[i]]&foreignClass == 0
}

// keyword reads a keyword and returns its name, one string for each name.
func (s *opScanner) keyword(text []byte, i int) (name string, next int, ok bool) {
	if text[i] != ':' {
		return "", 0, false
	}
	if next, ok = s.name(text, i); !ok {
		return "", 0, false
	}
	bytes := text[i+1 : next]
	word := load(text, i+1)
	if n := len(bytes); n < 8 {
		word &= 1<<(8*n) - 1
	}
	hash := (word + uint64(len(bytes))) * 0x9e3779b97f4a7c15
	slot := &s.names[hash>>56]
	if *slot != string(bytes) && *slot != "" {
		slot = &s.names[hash>>48&0xff] // two names that meet again are rare
	}
	if *slot != string(bytes) {
		*slot = string(bytes)
	}
	return *slot, next, true
}

// int reads a decimal integer that 64 bits hold.
func (s *opScanner) int(text []byte, i int) (n int64, next int, ok bool) {
	negative := text[i] == '-'
	if negative {
		i++
	}
	start := i
	sum := uint64(0)
	for {
		digit := text[i] - '0'
		if digit > 9 {
			break
		}
		sum = sum*10 + uint64(digit)
		i++
	}
	switch digits := i - start; {
	case digits == 0 || digits > 19 || sum > math.MaxInt64:
		return 0, 0, false
	case digits > 1 && text[start] == '0': // octal
		return 0, 0, false
	}
	n = int64(sum)
	if negative {
		n = -n
	}
	return n, i, s.class[text[i]]&delimiterClass != 0
}

// frame is a collection that is not yet closed.
type frame struct {
	head  int // its word
	elems int
	kind  Kind
}

// value reads the form at i onto the tape.
func (s *opScanner) value(text []byte, i int) (next int, ok bool) {
	class := s.class
	words := s.tape.words
	open := &s.open
	depth := 0 // open[1:depth] are around top
	top := frame{}
	for {
		switch c := text[i]; {
		case c >= '0' && c <= '9' || c == '-':
			var n int64
			if n, i, ok = s.int(text, i); !ok || n<<kindBits>>kindBits != n {
				return 0, false
			}
			words = append(words, uint64(Integer)|uint64(n)<<kindBits)
		case class[c]&spaceClass != 0:
			i++
			continue
		case c == ':':
			start := i + 1
			if i, ok = s.name(text, i); !ok {
				return 0, false
			}
			words = append(words, uint64(KeywordKind)|uint64(i-start)<<kindBits|uint64(start)<<skipShift)
		case c == '[' || c == '(' || c == '{' || c == '#' && text[i+1] == '{':
			if depth++; depth == fastDepth {
				return 0, false
			}
			open[depth-1] = top
			top = frame{head: len(words), kind: Vector}
			switch c {
			case '(':
				top.kind = List
			case '{':
				top.kind = Map
			case '#':
				top.kind = Set
				i++
			}
			words = append(words, 0)
			i++
			continue
		case c == ']' || c == ')' || c == '}':
			if !s.closes(c, words, &top) {
				return 0, false
			}
			words[top.head] = uint64(top.kind) | uint64(top.elems)<<kindBits | uint64(len(words)-top.head)<<skipShift
			depth--
			top = open[depth]
			i++
		case c == '"':
			start := i + 1
			for i = start; text[i] != '"'; i++ {
				if text[i] == '\\' || text[i] == 0 {
					return 0, false
				}
			}
			words = append(words, uint64(String)|uint64(i-start)<<kindBits|uint64(start)<<skipShift)
			i++
		default:
			word := load(text, i)
			switch {
			case word&mask3 == nilWord:
				words = append(words, uint64(Nil))
				i += 3
			case word&mask4 == trueWord:
				words = append(words, uint64(Bool)|1<<kindBits)
				i += 4
			case word&mask5 == falseWord:
				words = append(words, uint64(Bool))
				i += 5
			default:
				return 0, false
			}
			if class[text[i]]&delimiterClass == 0 {
				return 0, false
			}
		}
		if depth == 0 {
			s.tape.words = words
			return i, true
		}
		top.elems++
	}
}

// closes reports whether c ends the collection top and that is as it should be.
func (s *opScanner) closes(c byte, words []uint64, top *frame) bool {
	switch top.kind {
	case Vector:
		return c == ']'
	case List:
		return c == ')'
	case Map:
		return c == '}' && top.elems%2 == 0 && s.distinct(words[top.head+1:], top.elems, 2)
	case Set:
		return c == '}' && s.distinct(words[top.head+1:], top.elems, 1)
	}
	return false // nothing is open
}
