package history

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// maxWindow bounds what a zstd stream may make us keep: as much as its own
// command line takes without being asked.
const maxWindow = 128 << 20

// unpacked is the text of an input that may have been compressed.
type unpacked struct {
	io.Reader
	packed bool // offsets in the text are none in the input
	close  func()
}

// unpack returns the text of r, through gzip or zstd when it starts with the
// magic number of one of them. It is to be closed.
func unpack(r io.Reader) (*unpacked, error) {
	buffered := bufio.NewReader(r)
	magic, _ := buffered.Peek(4)
	switch {
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}):
		zipped, err := gzip.NewReader(buffered)
		switch {
		case err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF):
			return nil, fmt.Errorf("gzip header is cut off: %w", io.ErrUnexpectedEOF)
		case err != nil:
			return nil, fmt.Errorf("gzip header cannot be read: %w", err)
		}
		return &unpacked{Reader: zipped, packed: true, close: func() {}}, nil
	case isZstd(magic):
		frames, err := zstd.NewReader(buffered, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, fmt.Errorf("zstd stream cannot be read: %w", err)
		}
		return &unpacked{Reader: frames, packed: true, close: frames.Close}, nil
	}
	return &unpacked{Reader: buffered, close: func() {}}, nil
}

// isZstd reports whether a zstd stream begins with these bytes: with a frame, or
// with one to be skipped, such as some tools write first.
func isZstd(magic []byte) bool {
	return bytes.Equal(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}) ||
		len(magic) == 4 && magic[0]&0xf0 == 0x50 && bytes.Equal(magic[1:], []byte{0x2a, 0x4d, 0x18})
}
