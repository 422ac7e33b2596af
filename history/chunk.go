package history

import (
	"bytes"
	"io"
	"slices"
)

const (
	// chunkSize is how many bytes are read at a time, at most. With its events such
	// a chunk takes a quarter of the memory next to a processor, so that several are
	// there when one goroutine takes what another one parsed.
	chunkSize   = 64 << 10
	firstChunk  = 16 << 10 // bytes of the first chunk
	spare       = 2 << 10  // for what the chunk before left, which differs
	growth      = 16       // a chunk is one of so many parts of what was read
	aloneChunks = 4        // a text of so many chunks is parsed by one goroutine
	longChunk   = 16       // a chunk in which no op ends becomes so many times as long
	chunkEvents = 16 << 10 // events that a chunk holds at once
	shortLine   = 64       // bytes of an op, at least if it has an index and a time
)

// chunk is a stretch of a text, with the events or the ops in it.
type chunk struct {
	opScanner
	strict  *ednReader // reads what the fast path does not
	padded  []byte     // the text and padding
	n       int        // bytes of text
	base    int64      // offset of the text in the history
	lines   int        // line ends in the text
	column  int        // characters behind the last of them
	parsed  chan struct{}
	own     Tape
	aside   Tape // what events have in Rest
	events  []Event
	starts  []uint32 // where each event's op starts
	ops     []Op
	whole   bool // ops are read instead of events
	stopped int  // where parsing stopped: an op starts there, or nothing that it knows
}

func newChunk(class *classes, wholeOps bool) *chunk {
	c := &chunk{parsed: make(chan struct{}, 1), strict: newEDNReader(bytes.NewReader(nil)), whole: wholeOps}
	c.strict.begun, c.strict.some, c.strict.reuse = true, true, !wholeOps
	c.class = class
	c.tape, c.rest = &c.own, &c.aside
	return c
}

// text is what the chunk holds.
func (c *chunk) text() []byte { return c.padded[:c.n] }

// room returns room for size bytes of text, which begins with kept.
func (c *chunk) room(size int, kept []byte) []byte {
	if cap(c.padded) < size+padding {
		c.padded = make([]byte, size+padding+spare)
	}
	c.padded = c.padded[:size+padding]
	copy(c.padded, kept)
	return c.padded[:size]
}

// parse reads the ops from a place in the text on, where one must start or
// there is none. It stops at an op that has its end beyond the text, at whatever
// no op starts with, at an error, and when there are enough events.
func (c *chunk) parse(from int) {
	if c.whole {
		c.parseOps(from)
		return
	}
	if c.events == nil {
		c.events = make([]Event, 0, min(c.n/shortLine+1, chunkEvents))
		c.starts = make([]uint32, 0, cap(c.events))
	}
	c.events, c.starts = c.events[:0], c.starts[:0]
	c.own.Reset()
	c.aside.Reset()
	c.own.text = c.padded[:c.n:c.n]
	c.aside.text = c.own.text
	i := from
	for {
		i = c.skip(i)
		c.stopped = i
		if i >= c.n || len(c.events) == chunkEvents {
			return
		}
		at := len(c.events)
		if at == cap(c.events) {
			c.events = slices.Grow(c.events, 1)
		}
		c.events = c.events[:at+1]
		e := &c.events[at]
		mark, markAside := len(c.own.words), len(c.aside.words)
		next, ok := 0, false
		if c.padded[i] == '{' {
			next, ok = c.op(c.padded, i, e)
		}
		if !ok {
			c.own.words, c.aside.words = c.own.words[:mark], c.aside.words[:markAside]
			next, ok = c.general(i, e)
		}
		if !ok {
			c.events = c.events[:len(c.events)-1]
			return
		}
		c.starts = append(c.starts, uint32(i))
		i = next
	}
}

// count is how many events or ops were parsed.
func (c *chunk) count() int { return len(c.events) + len(c.ops) }

// parseOps is parse for ops, by the general reader alone.
func (c *chunk) parseOps(from int) {
	c.ops = c.ops[:0]
	c.strict.lend(c.text(), from)
	c.strict.err = io.EOF
	for {
		c.stopped = c.strict.pos
		c.ops = append(c.ops, Op{})
		if c.strict.read(&c.ops[len(c.ops)-1]) != nil {
			c.ops = c.ops[:len(c.ops)-1]
			break
		}
	}
	c.stopped = c.skip(c.stopped)
}

// skip passes over white space and comments.
func (c *chunk) skip(i int) int {
	for {
		for isSpace(c.padded[i]) {
			i++
		}
		if c.padded[i] != ';' {
			return i
		}
		end := bytes.IndexByte(c.padded[i:c.n], '\n')
		if end < 0 {
			return i // it may go on in the next chunk
		}
		i += end + 1
	}
}

// general reads the op at i by the general reader.
func (c *chunk) general(i int, e *Event) (next int, ok bool) {
	r := c.strict
	r.lend(c.text(), i)
	r.err = io.EOF
	var op Op
	if r.read(&op) != nil {
		return 0, false
	}
	before, beforeAside := len(c.own.rest), len(c.aside.rest)
	*e = op.event(&c.own, &c.aside)
	for _, v := range slices.Concat(c.own.rest[before:], c.aside.rest[beforeAside:]) {
		if v.list != nil {
			r.used = r.block // the tape keeps the elements where they are
		}
	}
	return r.pos, true
}

// split returns where to part text so that an op starts at the second part, as
// far as that can be told from its looks: in its second half, at the last line that
// begins with a map and has the least indentation, or between two maps; ok is
// false where there is neither. Where it is wrong, reading takes longer and is right
// all the same.
func split(text []byte) (at int, ok bool) {
	behind := len(text) / 2 // what is left for the next chunk stays short
	window := text[behind:]
	best, indent, line := 0, len(window), 0
	for end := len(window); indent > 0; {
		at := bytes.LastIndexByte(window[:end], '\n')
		if at < 0 {
			break
		}
		if line == 0 {
			line = behind + at + 1
		}
		i := at + 1
		for i < end && window[i] == ' ' {
			i++
		}
		if i < end && (window[i] == '{' || window[i] == '#') && i-at-1 < indent {
			best, indent = behind+at+1, i-at-1
		}
		end = at
	}
	switch {
	case best > 0:
		return best, true
	case line > 0:
		return line, false
	}
	for end := len(window); ; {
		at := bytes.LastIndexByte(window[:end], '{')
		if at <= 0 {
			return len(text), false
		}
		i := at
		for i > 0 && isSpace(window[i-1]) {
			i--
		}
		if i > 0 && window[i-1] == '}' {
			return behind + at, true
		}
		end = at
	}
}
