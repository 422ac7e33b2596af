package format

import (
	"bytes"
	"io"
	"slices"

	"github.com/jepgo/jepgo/history"
)

// kvLog reads Porcupine's logs of a store of strings, one op map a line:
//
//	{:process 2, :type :invoke, :f :put, :key "0", :value "abc"}
//
// The value of each op becomes [key value].
type kvLog struct{ lines *lines }

func readKVLog(r io.Reader, _ bool) history.Reader { return &kvLog{newLines(r)} }

// Read returns the next op.
func (l *kvLog) Read() (history.Op, error) {
	if err := l.lines.readSome(); err != nil {
		return history.Op{}, err
	}
	text := l.lines.text
	v, err := l.lines.value(0, len(text))
	if err != nil {
		return history.Op{}, err
	}
	op, key, ok := kvOp(v)
	switch {
	case v.Kind() != history.Map:
		return op, l.lines.fail(0, 0, `expected an op such as {:process 0, :type :invoke, :f :get, :key "x", :value nil}, found %s`, quote(text))
	case !ok:
		return op, l.lines.fail(0, 0, `op has no :key that is a string: %s`, quote(text))
	case op.Type == 0:
		return op, l.lines.fail(0, 0, "op has no :type that is one of :invoke, :ok, :fail, :info: %s", quote(text))
	}
	op.Value = history.Vec(key, op.Value)
	return op, nil
}

// kvOp makes an op of a map; ok is false where it has no key.
func kvOp(v history.Value) (op history.Op, key history.Value, ok bool) {
	op = newOp()
	kvs := v.Elems()
	if v.Kind() != history.Map {
		return op, key, false
	}
	for i := 0; i+1 < len(kvs); i += 2 {
		switch name := nameOf(kvs[i]); {
		case name == "key":
			key = kvs[i+1]
		case isField(name):
			put(&op, name, kvs[i+1])
		default:
			op.Extra = append(op.Extra, history.Field{Key: name, Value: kvs[i+1]})
		}
	}
	return op, key, key.Kind() == history.String
}

// isKVLog reports whether text starts with an op of a store of strings.
func isKVLog(line []byte) bool {
	if !bytes.Contains(line, []byte("key")) {
		return false
	}
	v, err := history.ParseValue(string(line))
	if err != nil {
		return false
	}
	op, _, ok := kvOp(v)
	return ok && slices.Contains([]string{"get", "put", "append"}, op.F) && op.Type != 0
}
