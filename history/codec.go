package history

import (
	"fmt"
	"io"
)

// Reader yields the ops of one file in order. Read returns io.EOF after the
// last one, a *CutError when the input ends inside a form (everything before it
// has been returned), and a *SyntaxError for what cannot be read at all.
// A Reader is used by one goroutine.
type Reader interface {
	Read() (Op, error)
}

// Codec reads and writes one file format.
type Codec interface {
	// Name is what --format takes.
	Name() string
	// Reader decodes ops from r in bounded memory.
	Reader(r io.Reader) Reader
	// Append encodes op as one line, newline included, to dst.
	Append(dst []byte, op *Op) []byte
}

// CutError says that the input ended in the middle of a form.
type CutError struct {
	Offset int64 // byte offset at which the unfinished form starts
}

func (e *CutError) Error() string {
	return fmt.Sprintf("history ends in the middle of a form that starts at byte %d; everything before it was kept", e.Offset)
}

// SyntaxError says where and why an input cannot be read.
type SyntaxError struct {
	Offset       int64 // byte offset
	Line, Column int   // both from 1
	Message      string

	final bool // not even the ops behind it are to be read
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("line %d, column %d (byte %d): %s", e.Line, e.Column, e.Offset, e.Message)
}
