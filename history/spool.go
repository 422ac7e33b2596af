package history

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
)

// spool makes a stream readable at any place: what was read of it is kept in a
// temporary file that has no name any more.
type spool struct {
	mu     sync.Mutex
	stream io.Reader
	kept   *os.File
	size   int64 // bytes read of the stream
	failed error // why stream gives no more
	lost   error // why what was read cannot be read again
	named  bool  // kept could not lose its name yet, and is removed by Close
}

func newSpool(stream io.Reader) (*spool, error) {
	kept, err := os.CreateTemp("", "jepgo-history-")
	if err != nil {
		return nil, fmt.Errorf("history that is no file must be kept in a temporary one: %w", err)
	}
	named := os.Remove(kept.Name()) != nil
	return &spool{stream: stream, kept: kept, named: named}, nil
}

// ReadAt reads at least one byte, but not always len(p), before it fails.
func (s *spool) ReadAt(p []byte, off int64) (int, error) {
	s.mu.Lock()
	for off > s.size && s.failed == nil {
		s.read(make([]byte, min(off-s.size, firstBuffer)))
	}
	if off == s.size {
		defer s.mu.Unlock()
		n := s.read(p)
		if n < len(p) {
			return n, s.failed
		}
		return n, nil
	}
	size, lost := s.size, s.lost
	s.mu.Unlock()
	if lost != nil {
		return 0, lost
	}
	if off > size {
		return 0, io.EOF
	}
	return s.kept.ReadAt(p[:min(int64(len(p)), size-off)], off)
}

// read reads once into p, and keeps it.
func (s *spool) read(p []byte) int {
	n := 0
	for range 100 {
		if n > 0 || s.failed != nil || len(p) == 0 {
			break
		}
		n, s.failed = s.stream.Read(p)
	}
	if n == 0 && s.failed == nil && len(p) > 0 {
		s.failed = io.ErrNoProgress
	}
	if s.lost == nil {
		if _, err := s.kept.WriteAt(p[:n], s.size); err != nil {
			s.lost = fmt.Errorf("history that is no file cannot be read again: %w", err)
		}
	}
	s.size += int64(n)
	return n
}

func (s *spool) Close() error {
	err := s.kept.Close()
	if s.named {
		err = errors.Join(err, os.Remove(s.kept.Name()))
	}
	return err
}

// cursor reads onwards from a place.
type cursor struct {
	at  io.ReaderAt
	off int64
}

func (c *cursor) Read(p []byte) (int, error) {
	n, err := c.at.ReadAt(p, c.off)
	c.off += int64(n)
	if n > 0 && n < len(p) && err == io.EOF {
		err = nil // the next call says so
	}
	return n, err
}

// input is where a history comes from, readable as often as need be.
type input struct {
	at    io.ReaderAt
	from  int64 // offset of the history
	close func() error
}

// newInput returns r as an input: a file as it is, anything else with a spool.
func newInput(r io.Reader) (*input, error) {
	if file, ok := r.(*os.File); ok {
		info, err := file.Stat()
		if err == nil && info.Mode().IsRegular() {
			if at, err := file.Seek(0, io.SeekCurrent); err == nil {
				return &input{at: file, from: at, close: func() error { return nil }}, nil
			}
		}
	}
	kept, err := newSpool(r)
	if err != nil {
		return nil, err
	}
	return &input{at: kept, close: kept.Close}, nil
}

// open returns the text from its start on. It is to be closed.
func (in *input) open() (*unpacked, error) {
	return unpack(&cursor{at: in.at, off: in.from})
}

// openAt returns what follows offset in a text that is not packed.
func (in *input) openAt(offset int64) *unpacked {
	return &unpacked{Reader: &cursor{at: in.at, off: in.from + offset}, close: func() {}}
}
