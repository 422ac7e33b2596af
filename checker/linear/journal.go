package linear

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
)

// journal keeps, for each key, the bytes that were appended to it. They stay in
// memory up to a budget; then those of all keys go to the end of a temporary file
// and the memory is used again. So it takes as much memory as the budget, however
// long the history is, and what a key needs to know of its bytes, and reads a key
// back in pieces of a constant size.
//
// The file has lost its name before anything is in it: whatever becomes of the
// process, nothing is left behind.
type journal struct {
	dir    string // for the file, "" for the usual one
	budget int64  // bytes in memory
	limit  int64  // bytes in memory where there is no file to go to

	slabs [][]byte // memory, of which blocks are taken one after another
	slab  int      // where the next one is taken from
	at    int
	taken int64

	file   *os.File // nil before it is needed
	named  bool     // it could not lose its name
	out    *bufio.Writer
	end    int64 // of what is in it
	failed error // why nothing can be added to it
}

const (
	slabBytes  = 1 << 16
	firstBlock = 32
	lastBlock  = 4096
	unit       = 16 // blocks begin at multiples of it
	linkBytes  = 4  // at the beginning of a block: which one is next
	// headerBytes are at the beginning of what the file has of a key at one place:
	// where there is more from before, and how much.
	headerBytes = 16
	readBytes   = 1 << 15
)

// span is a place in the file where bytes of one key are.
type span struct{ at, bytes int64 }

// scroll is where the bytes of one key are.
type scroll struct {
	first, last uint32 // blocks in memory, 0 for none
	size, used  uint16 // of the last one
	kept        int64  // bytes in memory
	spilled     span   // the last place in the file; it leads to those before
}

// append adds bytes to the scroll, which is that of one of keys. It is false when
// there is no room.
func (j *journal) append(s *scroll, keys []*key, text []byte) bool {
	for {
		if s.used < s.size {
			n := copy(j.block(s.last)[s.used:s.size], text)
			s.used += uint16(n)
			s.kept += int64(n)
			text = text[n:]
		}
		if len(text) == 0 {
			return true
		}
		if !j.extend(s, keys) {
			return false
		}
	}
}

// block is the memory from the beginning of a block on.
func (j *journal) block(handle uint32) []byte {
	const perSlab = slabBytes / unit
	return j.slabs[handle/perSlab][handle%perSlab*unit:]
}

// extend gives the scroll another block, twice as large as the last one, up to a
// bound.
func (j *journal) extend(s *scroll, keys []*key) bool {
	if j.taken+nextBlock(s) > j.budget && j.taken > 0 && j.failed == nil {
		j.spill(keys)
	}
	size := nextBlock(s)
	if j.failed != nil && j.taken+size > j.limit {
		return false
	}
	if len(j.slabs) > 0 && j.at+int(size) > slabBytes {
		j.slab, j.at = j.slab+1, 0
	}
	if j.slab == len(j.slabs) {
		j.slabs = append(j.slabs, make([]byte, slabBytes))
	}
	if j.slab == 0 && j.at == 0 {
		j.at = unit // no block is number 0
	}
	handle := uint32(j.slab*(slabBytes/unit) + j.at/unit)
	j.at += int(size)
	j.taken += size
	clear(j.block(handle)[:linkBytes])
	if s.last == 0 {
		s.first = handle
	} else {
		binary.LittleEndian.PutUint32(j.block(s.last), handle)
	}
	s.last, s.size, s.used = handle, uint16(size), linkBytes
	return true
}

func nextBlock(s *scroll) int64 {
	if s.last == 0 {
		return firstBlock
	}
	return min(2*int64(s.size), lastBlock)
}

// inMemory calls do with the bytes of a scroll that are in memory.
func (j *journal) inMemory(s *scroll, do func(text []byte) error) error {
	size := firstBlock
	for at, left := s.first, s.kept; left > 0; size = min(2*size, lastBlock) {
		block := j.block(at)
		n := min(int64(size-linkBytes), left)
		if err := do(block[linkBytes : linkBytes+n]); err != nil {
			return err
		}
		left -= n
		at = binary.LittleEndian.Uint32(block)
	}
	return nil
}

// spill moves everything to the file, or nothing when that fails.
func (j *journal) spill(keys []*key) {
	if err := j.write(keys); err != nil {
		j.failed = fmt.Errorf("temporary file for operations: %w", err)
		return
	}
	for _, k := range keys {
		if s := &k.scroll; s.kept > 0 {
			*s = scroll{spilled: span{j.end, s.kept}}
			j.end += headerBytes + s.spilled.bytes
		}
	}
	j.slab, j.at, j.taken = 0, 0, 0
}

func (j *journal) write(keys []*key) error {
	if j.file == nil {
		file, err := os.CreateTemp(j.dir, "jepgo-linear-")
		if err != nil {
			return err
		}
		j.file, j.named = file, os.Remove(file.Name()) != nil
	}
	if j.out == nil {
		j.out = bufio.NewWriterSize(nil, slabBytes)
	}
	w := j.out
	w.Reset(io.NewOffsetWriter(j.file, j.end))
	for _, k := range keys {
		s := &k.scroll
		if s.kept == 0 {
			continue
		}
		var header [headerBytes]byte
		binary.LittleEndian.PutUint64(header[:], uint64(s.spilled.at))
		binary.LittleEndian.PutUint64(header[8:], uint64(s.spilled.bytes))
		if _, err := w.Write(header[:]); err != nil {
			return err
		}
		err := j.inMemory(s, func(text []byte) error {
			_, err := w.Write(text)
			return err
		})
		if err != nil {
			return err
		}
	}
	return w.Flush()
}

// close gives the file back.
func (j *journal) close() error {
	if j.file == nil {
		return nil
	}
	err := j.file.Close()
	if j.named {
		err = errors.Join(err, os.Remove(j.file.Name()))
	}
	j.file = nil
	return err
}

// reader reads the bytes of a scroll again, the first first. Several may do so at
// once, when nothing is appended any more.
type reader struct {
	j      *journal
	spans  []span // in the file, the next one last; what was read is gone
	block  uint32 // the next one in memory
	size   int    // of it
	offset int    // in it
	left   int64  // bytes in memory
	text   []byte
	at     int // in text
	err    error
}

func (j *journal) read(s *scroll) *reader {
	r := &reader{j: j, block: s.first, size: firstBlock, offset: linkBytes, left: s.kept}
	all := s.kept
	for now := s.spilled; now.bytes > 0; {
		var header [headerBytes]byte
		if _, err := j.file.ReadAt(header[:], now.at); err != nil {
			r.fail(err)
			return r
		}
		r.spans = append(r.spans, span{now.at + headerBytes, now.bytes})
		all += now.bytes
		before := span{int64(binary.LittleEndian.Uint64(header[:])), int64(binary.LittleEndian.Uint64(header[8:]))}
		if before.bytes != 0 && before.at >= now.at {
			r.fail(errors.New("somebody else wrote to it"))
			return r
		}
		now = before
	}
	r.text = make([]byte, 0, min(all, readBytes))
	return r
}

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = fmt.Errorf("operations could not be read again from the temporary file: %w", err)
	}
	r.text, r.at, r.spans, r.left = nil, 0, nil, 0
}

// fill makes more bytes ready from r.at on, where there are more.
func (r *reader) fill() {
	if len(r.spans) == 0 && r.left == 0 {
		return
	}
	n := copy(r.text, r.text[r.at:])
	r.text, r.at = r.text[:n], 0
	for len(r.text) < cap(r.text) {
		free := r.text[len(r.text):cap(r.text)]
		switch last := len(r.spans) - 1; {
		case last >= 0:
			now := &r.spans[last]
			free = free[:min(int64(len(free)), now.bytes)]
			if _, err := r.j.file.ReadAt(free, now.at); err != nil {
				r.fail(err)
				return
			}
			now.at, now.bytes = now.at+int64(len(free)), now.bytes-int64(len(free))
			if now.bytes == 0 {
				r.spans = r.spans[:last]
			}
			n = len(free)
		case r.left > 0:
			block := r.j.block(r.block)
			n = copy(free[:min(int64(len(free)), r.left)], block[r.offset:r.size])
			r.offset, r.left = r.offset+n, r.left-int64(n)
			if r.offset == r.size {
				r.block, r.size, r.offset = binary.LittleEndian.Uint32(block), min(2*r.size, lastBlock), linkBytes
			}
		default:
			return
		}
		r.text = r.text[:len(r.text)+n]
	}
}
