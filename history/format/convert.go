package format

import (
	"bufio"
	"context"
	"fmt"
	"io"

	"github.com/jepgo/jepgo/history"
)

// Targets returns the names of the formats that Convert writes.
func Targets() []string { return []string{"edn", "json", "jsonl"} }

// Convert writes f in another format, op by op: edn is one op map a line, json one
// array of objects as elle-cli takes it, jsonl the same objects one a line. A file
// that is cut off is converted up to there, see Cut.
//
// What JSON cannot say goes by the rules of its reader: the keyword :name is
// ":name", and "name" where it is the first element of a micro-op or the key of a
// map; a number that is a key is a string of digits. So EDN that became JSON comes
// back as it was, but for this: lists and sets become vectors; tags are dropped;
// characters, symbols and ratios become strings; decimals become floats, NaN nil;
// keys that are neither keywords, strings nor integers become strings of their EDN;
// a string that says what JSON's reader takes for a keyword or a number, such as
// ":x" or the key "x", becomes one, as does a process that is named by digits; bytes
// that are no UTF-8 are replaced; of keys that come to the same, the last counts.
// What other formats say beyond ops (Traits) is not written at all.
func Convert(ctx context.Context, f *File, to string, w io.Writer) error {
	write, err := writerOf(to)
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(w, 256<<10)
	var line []byte
	ops := 0
	err = f.body.ops(func(at int, op *history.Op) error {
		if at%checkEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		ops++
		line = write.op(line[:0], at, op)
		_, err := out.Write(line)
		return err
	})
	if err != nil {
		return err
	}
	if _, err := out.Write(write.end(line[:0], ops)); err != nil {
		return err
	}
	return out.Flush()
}

// writer writes the ops of a file.
type writer struct {
	op  func(dst []byte, at int, op *history.Op) []byte
	end func(dst []byte, ops int) []byte
}

func writerOf(to string) (writer, error) {
	nothing := func(dst []byte, _ int) []byte { return dst }
	switch to {
	case "edn":
		codec := history.EDN()
		return writer{func(dst []byte, _ int, op *history.Op) []byte { return codec.Append(dst, op) }, nothing}, nil
	case "jsonl":
		return writer{func(dst []byte, _ int, op *history.Op) []byte { return append(appendJSONOp(dst, op), '\n') }, nothing}, nil
	case "json":
		return writer{
			op: func(dst []byte, at int, op *history.Op) []byte {
				separator := ",\n"
				if at == 0 {
					separator = "["
				}
				return appendJSONOp(append(dst, separator...), op)
			},
			end: func(dst []byte, ops int) []byte {
				if ops == 0 {
					dst = append(dst, '[')
				}
				return append(dst, "]\n"...)
			},
		}, nil
	}
	return writer{}, fmt.Errorf("format %q cannot be written: expected one of %s", to, list(Targets()))
}
