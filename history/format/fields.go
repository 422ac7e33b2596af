package format

import (
	"math"

	"github.com/jepgo/jepgo/history"
)

// newOp is an op of which nothing is known yet.
func newOp() history.Op { return history.Op{Index: history.Absent, Time: history.Absent} }

// put puts the value of a key of an op map into its place, or into Extra where it
// has none or does not fit: what the EDN reader does.
func put(op *history.Op, name string, v history.Value) {
	fits := true
	switch name {
	case "index":
		op.Index, fits = integral(v)
	case "time":
		op.Time, fits = integral(v)
	case "type":
		if op.Type, fits = history.ParseType(v.Text()); v.IsNil() {
			fits = true
		}
	case "process":
		op.Process = processOf(v)
	case "f":
		op.F = nameOf(v)
	case "value":
		op.Value = v
	case "error":
		op.Error = v
	case "node":
		op.Node, fits = v.Text(), isName(v) || v.IsNil()
	case "tag":
		op.Tag, fits = v.Text(), isName(v) || v.IsNil()
	default:
		fits = false
	}
	if !fits {
		op.Set(name, v)
	}
}

// isName reports whether v is a keyword or a string.
func isName(v history.Value) bool {
	return v.Kind() == history.KeywordKind || v.Kind() == history.String
}

// nameOf returns what a keyword, string or symbol says, "" for nil, and the EDN
// of anything else.
func nameOf(v history.Value) string {
	if v.IsNil() {
		return ""
	}
	if isName(v) || v.Kind() == history.Symbol {
		return v.Text()
	}
	return v.String()
}

func processOf(v history.Value) history.Process {
	if v.IsNil() {
		return history.Process{}
	}
	if n, ok := integral(v); ok {
		return history.Client(n)
	}
	return history.Named(nameOf(v))
}

// integral reads an integer, or a float that is one; nil is Absent.
func integral(v history.Value) (n int64, ok bool) {
	if v.IsNil() {
		return history.Absent, true
	}
	if n, ok := v.Int(); ok {
		return n, true
	}
	f, ok := v.Float()
	if ok && f == math.Trunc(f) && math.Abs(f) < 1<<63 {
		return int64(f), true
	}
	return history.Absent, false
}
