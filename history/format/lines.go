package format

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"

	"github.com/jepgo/jepgo/history"
)

// maxLine bounds the memory for one line, in bytes.
const maxLine = 64 << 20

// lines reads a text line by line.
type lines struct {
	source *bufio.Reader
	text   []byte // the line, without its end
	number int    // of the line, from 1
	offset int64  // of the line
	next   int64  // offset of the next line
	whole  bool   // the line has an end
	long   []byte // room for a line that is longer than the buffer
	values jsonValues
}

func newLines(r io.Reader) *lines {
	return &lines{source: bufio.NewReaderSize(r, 64<<10)}
}

// read goes to the next line. Its error is io.EOF, a *history.CutError where the
// input was compressed and ends too early, or a reason why there is no more.
func (l *lines) read() error {
	l.offset = l.next
	l.number++
	text, err := l.source.ReadSlice('\n')
	if err == bufio.ErrBufferFull {
		l.long = append(l.long[:0], text...)
		for err == bufio.ErrBufferFull && len(l.long) <= maxLine {
			text, err = l.source.ReadSlice('\n')
			if len(l.long)+len(text) > cap(l.long) {
				l.long = slices.Grow(l.long, len(l.long)+len(text))
			}
			l.long = append(l.long, text...)
		}
		text = l.long
	}
	if len(text) > maxLine {
		return &history.SyntaxError{Offset: l.offset, Line: l.number, Column: 1,
			Message: fmt.Sprintf("line takes more than %d MiB; it starts with %s", maxLine>>20, quote(text))}
	}
	l.next += int64(len(text))
	switch {
	case err == nil:
		l.whole = true
	case errors.Is(err, io.ErrUnexpectedEOF):
		return &history.CutError{Offset: l.offset}
	case err != io.EOF:
		return fmt.Errorf("cannot be read beyond byte %d: %w", l.next, err)
	case len(text) == 0:
		return io.EOF
	default:
		l.whole = false
	}
	if l.number == 1 {
		text = bytes.TrimPrefix(text, []byte("\ufeff"))
	}
	text = bytes.TrimSuffix(text, []byte("\n"))
	l.text = bytes.TrimSuffix(text, []byte("\r"))
	return nil
}

// readSome goes to the next line that is not blank.
func (l *lines) readSome() error {
	for {
		if err := l.read(); err != nil {
			return err
		}
		if len(bytes.TrimSpace(l.text)) > 0 {
			return nil
		}
	}
}

// fail makes the error of text[from:to], which cannot be what stands there. Where
// that is the end of an input whose last line has no end, the input was cut off.
func (l *lines) fail(from, to int, format string, args ...any) error {
	if !l.whole && to >= len(l.text) {
		return &history.CutError{Offset: l.offset}
	}
	from = min(from, len(l.text))
	return &history.SyntaxError{
		Offset: l.offset + int64(from), Line: l.number, Column: utf8.RuneCount(l.text[:from]) + 1,
		Message: fmt.Sprintf(format, args...),
	}
}

// value reads text[from:to] as one EDN value.
func (l *lines) value(from, to int) (history.Value, error) {
	if v, ok := l.values.plainValue(l.text[from:to]); ok {
		return v, nil
	}
	v, err := history.ParseValue(string(l.text[from:to]))
	var cut *history.CutError
	var syntax *history.SyntaxError
	switch {
	case errors.As(err, &cut):
		return v, l.fail(from, to, "value %s has no end", quote(l.text[from:to]))
	case errors.As(err, &syntax):
		at := min(from+int(syntax.Offset), to)
		if bytes.ContainsAny(l.text[at:to], " \t,()[]{}") {
			to = 0 // what is wrong ends before the line does
		}
		return v, l.fail(at, to, "%s", syntax.Message)
	}
	return v, err
}

// valueOf reads text[from:to] as the value of op, which others than clients may
// have printed as something else than EDN.
func (l *lines) valueOf(op *history.Op, from, to int) (history.Value, error) {
	v, err := l.value(from, to)
	var cut *history.CutError
	if err != nil && !op.Process.IsClient() && !errors.As(err, &cut) {
		return history.Text(string(l.text[from:to])), nil
	}
	return v, err
}

// quote shows the first bytes of text.
func quote(text []byte) string {
	const most = 32
	if len(text) > most {
		return fmt.Sprintf("%q…", text[:most])
	}
	return fmt.Sprintf("%q", text)
}
