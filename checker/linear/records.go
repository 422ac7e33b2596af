package linear

import (
	"encoding/binary"
	"errors"
	"math"
)

// key is the history of one register: a record of each operation that says
// something, in the order in which their completions were read, and at the end of
// those that have none.
type key struct {
	scroll
	code    int32
	rows    int    // operations
	records int    // of them
	sets    int    // those that can give the register a value
	doubts  bool   // some of those are in doubt
	misses  bool   // there are cas that found something else
	last    uint32 // where the last completion was
	value   int32  // the last one
	low     int32  // least and greatest of the integers among the values
	high    int32
}

// keyBytes is about what a key takes besides its records: itself, its place in
// the map and its outcome.
const keyBytes = 256

// A record is a byte of bits, the distance of the completion from the last one
// and of the invocation from the completion (without a completion the place of
// the invocation), the distance of the value from the last one, of a cas that of
// the expected value from the new one, and the process where that matters. All
// are varints: 4 to 8 bytes for most.
const (
	actionBits  = 7
	fateShift   = 3
	fateBits    = 3
	loneBit     = 1 << 5
	nilBit      = 1 << 6
	recordBytes = 1 + 5*binary.MaxVarintLen32
)

// record keeps what an operation says, now that nothing is added to it.
func (c *columns) record(index int32, r *row) {
	k := c.keys[index]
	switch {
	case r.unread && r.fate != failed:
		c.strange(int(min(r.begin, r.end)))
		return
	case r.unread, r.action == read && r.fate != done:
		return // says nothing, not even in an explanation
	}
	var text [recordBytes]byte
	out := text[:0]
	bits := byte(r.action) | byte(r.fate)<<fateShift
	if r.lone {
		bits |= loneBit
	}
	if r.value == nilCode {
		bits |= nilBit
	}
	out = append(out, bits)
	if r.fate == open {
		out = binary.AppendUvarint(out, uint64(r.begin))
	} else {
		out = binary.AppendUvarint(out, uint64(r.end-k.last))
		out = binary.AppendUvarint(out, uint64(r.end-r.begin))
		k.last = r.end
	}
	if r.value != nilCode {
		out = binary.AppendVarint(out, int64(r.value)-int64(k.value))
		k.value = r.value
	}
	if r.action == cas || r.action == miss {
		out = binary.AppendVarint(out, int64(r.old)-int64(r.value))
	}
	if c.processes {
		out = binary.AppendUvarint(out, uint64(r.process))
	}
	k.note(r)
	if !c.journal.append(&k.scroll, c.keys, out) || c.bytes+c.codes.bytes+c.journal.taken > c.options.Memory {
		c.why = sayMemory(c.options.Memory) + " by the history alone"
		if c.journal.failed != nil {
			c.why += ", and there is no place for it elsewhere: " + c.journal.failed.Error()
		}
	}
}

// note counts a record.
func (k *key) note(r *row) {
	if k.records++; k.records == 1 {
		k.low, k.high = math.MaxInt32, math.MinInt32
	}
	if r.fate == failed {
		return
	}
	k.widen(r.value)
	if r.action == cas || r.action == miss {
		k.widen(r.old)
	}
	k.misses = k.misses || r.action == miss
	if r.action != read {
		k.sets++
		k.doubts = k.doubts || r.fate != done
	}
}

func (k *key) widen(code int32) {
	if code < firstText {
		k.low, k.high = min(k.low, code), max(k.high, code)
	}
}

// each calls do with every row of a key, in the order of the records. The row is
// do's only until it returns; false ends it all.
func (c *columns) each(k *key, do func(r *row) bool) error {
	in := c.journal.read(&k.scroll)
	last, value := uint32(0), int32(0)
	var r row // one for all, as it is on the heap
	for {
		if len(in.text)-in.at < recordBytes {
			in.fill()
		}
		if in.at == len(in.text) {
			return in.err
		}
		bits := in.text[in.at]
		in.at++
		r = row{
			action: action(bits & actionBits), fate: fate(bits >> fateShift & fateBits), lone: bits&loneBit != 0,
			end: never, value: nilCode,
		}
		if r.fate == open {
			r.begin = uint32(in.uvarint())
		} else {
			last += uint32(in.uvarint())
			r.end = last
			r.begin = last - uint32(in.uvarint())
		}
		if bits&nilBit == 0 {
			value += int32(in.varint())
			r.value = value
		}
		if r.action == cas || r.action == miss {
			r.old = int32(int64(r.value) + in.varint())
		}
		if c.processes {
			r.process = int32(in.uvarint())
		}
		if in.err != nil {
			return in.err
		}
		if !do(&r) {
			return nil
		}
	}
}

func (r *reader) uvarint() uint64 {
	if r.at < len(r.text) && r.text[r.at] < 0x80 {
		r.at++
		return uint64(r.text[r.at-1])
	}
	v, n := binary.Uvarint(r.text[r.at:])
	if n <= 0 {
		r.fail(errors.New("somebody else wrote to it"))
		return 0
	}
	r.at += n
	return v
}

func (r *reader) varint() int64 {
	v := r.uvarint()
	return int64(v>>1) ^ -int64(v&1)
}
