package history

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
)

// ReadAll reads a whole history in that format, compressed with gzip or zstd or
// not at all. An input that is cut off gives a History with Cut set and no error;
// any other error comes with the ops before it. Of EDN, an op that cannot be read is
// left out and counted in Skipped, if another one follows on a line of its own.
// Memory grows with the ops.
func ReadAll(r io.Reader, c Codec) (*History, error) {
	h := &History{}
	if _, isEDN := c.(ednCodec); isEDN {
		return h, readEDN(r, h, supplyOptions{chunk: chunkSize})
	}
	source, err := unpack(r)
	if err != nil {
		return h, err
	}
	defer source.close()
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

// readEDN reads r into h.
func readEDN(r io.Reader, h *History, o supplyOptions) error {
	source, err := unpack(r)
	if err != nil {
		return err
	}
	defer source.close()
	o.wholeOps = true
	var all gathered
	p, err := run(context.Background(), source, &all, o)
	h.Ops, h.Cut, h.Skipped = slices.Concat(all.parts...), p.cut, p.serial.skipped
	return err
}

// gathered holds the ops of a history in parts, so that they are moved only once.
type gathered struct{ parts [][]Op }

func (g *gathered) chunk(c *chunk, _ int64) error {
	g.parts = append(g.parts, slices.Clone(c.ops))
	return nil
}

func (g *gathered) op(op *Op, _ int64) error {
	g.parts = append(g.parts, []Op{*op})
	return nil
}

// ReadFile reads the EDN history in the file of that name, as ReadAll does. An
// empty file is an empty history.
func ReadFile(path string) (*History, error) {
	file, err := openFile(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	h, err := ReadAll(file, EDN())
	if err != nil {
		return h, fileError(path, err)
	}
	return h, nil
}

// openFile opens the history at path.
func openFile(path string) (*os.File, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fileError(path, err)
	}
	info, err := file.Stat()
	if err != nil {
		file.Close()
		return nil, fileError(path, err)
	}
	if info.IsDir() {
		file.Close()
		return nil, fmt.Errorf("history %q is a directory, expected a file such as history.edn", path)
	}
	return file, nil
}

// fileError names the path once: what the system says names it too.
func fileError(path string, err error) error {
	if cause := (*fs.PathError)(nil); errors.As(err, &cause) {
		err = cause.Err
	}
	return fmt.Errorf("history %q: %w", path, err)
}
