package format

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/jepgo/jepgo/history"
)

// sampleSize is how much of a text is looked at to tell its format, smallSample
// how much where that is enough.
const (
	sampleSize  = 64 << 10
	smallSample = 2 << 10
)

// input is where a history comes from. It can be read any number of times.
type input struct {
	path string
	kept *os.File // what came through a pipe, in a file that goes away; else nil
	size int64    // of kept
}

// newInput opens path, "-" for standard input. A pipe is read to its end.
func newInput(path string, stdin io.Reader) (*input, error) {
	in := &input{path: path}
	if path == "-" {
		in.path = "standard input"
		return in, in.keep(stdin)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, in.failed(err)
	}
	defer file.Close()
	info, err := file.Stat()
	switch {
	case err != nil:
		return nil, in.failed(err)
	case info.IsDir():
		return nil, in.failed(errors.New("is a directory, expected a file such as history.edn"))
	case !info.Mode().IsRegular():
		return in, in.keep(file)
	}
	return in, nil
}

// keep copies r into a temporary file.
func (in *input) keep(r io.Reader) error {
	kept, err := os.CreateTemp("", "jepgo-history-")
	if err != nil {
		return in.failed(fmt.Errorf("must be kept in a temporary file: %w", err))
	}
	in.kept = kept
	if in.size, err = io.Copy(kept, r); err != nil {
		return in.failed(errors.Join(err, in.close()))
	}
	return nil
}

func (in *input) close() error {
	if in.kept == nil {
		return nil
	}
	kept := in.kept
	in.kept = nil
	return errors.Join(kept.Close(), os.Remove(kept.Name()))
}

// failed names the input once: what the system says names it too.
func (in *input) failed(err error) error {
	if cause := (*fs.PathError)(nil); errors.As(err, &cause) {
		err = cause.Err
	}
	return fmt.Errorf("history %q: %w", in.path, err)
}

// open returns the text of the input from its start.
func (in *input) open() (io.ReadCloser, error) {
	if in.kept != nil {
		text, err := history.Unpack(io.NewSectionReader(in.kept, 0, in.size))
		if err != nil {
			return nil, in.failed(err)
		}
		return text, nil
	}
	file, err := os.Open(in.path)
	if err != nil {
		return nil, in.failed(err)
	}
	text, err := history.Unpack(file)
	if err != nil {
		return nil, in.failed(errors.Join(err, file.Close()))
	}
	return &fileText{text, file}, nil
}

// fileText is the text of a file.
type fileText struct {
	io.ReadCloser
	file *os.File
}

func (t *fileText) Close() error { return errors.Join(t.ReadCloser.Close(), t.file.Close()) }

// sample returns the start of the text, and whether that is all of it.
func (in *input) sample() (text []byte, whole bool, err error) {
	r, err := in.open()
	if err != nil {
		return nil, false, err
	}
	defer r.Close()
	text = make([]byte, smallSample)
	n, err := io.ReadFull(r, text)
	if err == nil && !(startsEDNMap(text) && len(firstLine(text)) < len(bytes.TrimLeft(text, " \t\r\n"))) {
		text = append(make([]byte, 0, sampleSize), text...)[:sampleSize]
		more := 0
		more, err = io.ReadFull(r, text[n:])
		n += more
	}
	if err != nil && err != io.EOF && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, false, in.failed(fmt.Errorf("cannot be read beyond byte %d: %w", n, err))
	}
	return text[:n], err != nil, nil
}
