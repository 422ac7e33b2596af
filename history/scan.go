package history

import (
	"io"
)

// ScanOptions say how a Scan reads.
type ScanOptions struct {
	// Workers is how many goroutines parse, the caller's included; 0 is GOMAXPROCS.
	// What is read does not depend on it.
	Workers int
}

// Scan reads an EDN history, compressed or not, without holding it: op for op
// what ReadAll reads. It is also the Source of what was read.
//
// Memory does not depend on the length of the history, except for 8 bytes for
// every 64 ops, and grows with its longest op. Each is for one goroutine;
// Ops may be called by many at once, after Each.
type Scan struct {
	in      *input
	path    string // "" when it is not known
	workers int
	close   func() error

	chunkSize int // for tests, as is every
	every     int // ops between two places

	first   *chunk // of a short history, to be used again
	count   int
	cut     *CutError
	skipped *Skipped
	indent  int
	packed  bool    // the text is compressed
	places  []int64 // offset of the end of the op before every 64th op
}

// OpenScan opens the history in the file at path.
func OpenScan(path string, o ScanOptions) (*Scan, error) {
	file, err := openFile(path)
	if err != nil {
		return nil, err
	}
	s, err := NewScan(file, o)
	if err != nil {
		file.Close()
		return nil, fileError(path, err)
	}
	s.path = path
	inner := s.close
	s.close = func() error {
		inner()
		return file.Close()
	}
	return s, nil
}

// NewScan reads the history that r gives. What is no regular file, such as
// standard input, is kept in a temporary file until Close, so that it can be
// read again. Close does not close r.
func NewScan(r io.Reader, o ScanOptions) (*Scan, error) {
	in, err := newInput(r)
	if err != nil {
		return nil, err
	}
	return &Scan{in: in, workers: o.Workers, close: in.close, chunkSize: chunkSize, every: placeEvery}, nil
}

// Close gives back the file.
func (s *Scan) Close() error { return s.close() }

// Count is how many ops Each delivered.
func (s *Scan) Count() int { return s.count }

// Cut is not nil when Each met the end of the history in the middle of a form.
func (s *Scan) Cut() *CutError { return s.cut }

// Skipped is not nil when Each passed over ops that cannot be read.
func (s *Scan) Skipped() *Skipped { return s.skipped }

// fail names the file in an error.
func (s *Scan) fail(err error) error {
	if err == nil || s.path == "" {
		return err
	}
	return fileError(s.path, err)
}
