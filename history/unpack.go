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

// packedBuffer is how much is read at a time of what is compressed.
const packedBuffer = 64 << 10

// unpacked is the text of an input that may have been compressed.
type unpacked struct {
	io.Reader
	packed bool // offsets in the text are none in the input
	close  func()
}

// Close implements io.Closer.
func (u *unpacked) Close() error {
	u.close()
	return nil
}

// Unpack returns the text of r, through gzip or zstd when it starts with the magic
// number of one of them: an error says that what follows is no such stream. To
// close the text does not close r.
func Unpack(r io.Reader) (io.ReadCloser, error) {
	text, err := unpack(r)
	if err != nil {
		return nil, err
	}
	return text, nil
}

// unpack returns the text of r, through gzip or zstd when it starts with the
// magic number of one of them. It is to be closed.
func unpack(r io.Reader) (*unpacked, error) {
	// No more than that: what is not compressed goes past the buffer.
	start := bufio.NewReaderSize(r, 16)
	magic, _ := start.Peek(4)
	switch {
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}):
		zipped, err := gzip.NewReader(bufio.NewReaderSize(start, packedBuffer))
		switch {
		case err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF):
			return nil, fmt.Errorf("gzip header is cut off: %w", io.ErrUnexpectedEOF)
		case err != nil:
			return nil, fmt.Errorf("gzip header cannot be read: %w", err)
		}
		return &unpacked{Reader: zipped, packed: true, close: func() {}}, nil
	case isZstd(magic):
		frames, err := zstd.NewReader(bufio.NewReaderSize(start, packedBuffer), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, fmt.Errorf("zstd stream cannot be read: %w", err)
		}
		return &unpacked{Reader: frames, packed: true, close: frames.Close}, nil
	}
	return &unpacked{Reader: start, close: func() {}}, nil
}

// isZstd reports whether a zstd stream begins with these bytes: with a frame, or
// with one to be skipped, such as some tools write first.
func isZstd(magic []byte) bool {
	return bytes.Equal(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}) ||
		len(magic) == 4 && magic[0]&0xf0 == 0x50 && bytes.Equal(magic[1:], []byte{0x2a, 0x4d, 0x18})
}
