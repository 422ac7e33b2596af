package history

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// ReadAll reads a whole history in that format, compressed with gzip or not. An
// input that is cut off gives a History with Cut set and no error; any other
// error comes with the ops before it. Memory grows with the ops.
func ReadAll(r io.Reader, c Codec) (*History, error) {
	h := &History{}
	source, err := plain(r)
	if err != nil {
		return h, err
	}
	ops := c.Reader(source)
	for {
		op, err := ops.Read()
		if err == io.EOF || errors.As(err, &h.Cut) {
			return h, nil
		}
		if err != nil {
			return h, err
		}
		h.Ops = append(h.Ops, op)
	}
}

// plain returns r, through gzip when it starts with gzip's magic number.
func plain(r io.Reader) (io.Reader, error) {
	buffered := bufio.NewReader(r)
	magic, _ := buffered.Peek(2)
	if len(magic) < 2 || magic[0] != 0x1f || magic[1] != 0x8b {
		return buffered, nil
	}
	zipped, err := gzip.NewReader(buffered)
	switch {
	case err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF):
		return nil, fmt.Errorf("gzip header is cut off: %w", io.ErrUnexpectedEOF)
	case err != nil:
		return nil, fmt.Errorf("gzip header cannot be read: %w", err)
	}
	return zipped, nil
}

// ReadFile reads the EDN history in the file of that name, as ReadAll does. An
// empty file is an empty history.
func ReadFile(path string) (*History, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fileError(path, err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, fileError(path, err)
	}
	if info.IsDir() {
		return nil, fmt.Errorf("history %q is a directory, expected a file such as history.edn", path)
	}
	h, err := ReadAll(file, EDN())
	if err != nil {
		return h, fileError(path, err)
	}
	return h, nil
}

// fileError names the path once: what the system says names it too.
func fileError(path string, err error) error {
	if cause := (*fs.PathError)(nil); errors.As(err, &cause) {
		err = cause.Err
	}
	return fmt.Errorf("history %q: %w", path, err)
}
