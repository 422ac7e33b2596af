package nemesis

import (
	"github.com/jepgo/jepgo/history"
)

// Timeline renders the faults of a run as EDN, one map a line in the order of
// the requests: what faults.edn holds.
//
//	{:fault :kill, :targets ["n2"],
//	 :onset {:requested NS, :measured NS}, :evidence {…},
//	 :end {:requested NS, :measured NS}, :undo {…}}
//
// Times are nanoseconds on the clock of :time. :evidence and :undo are what was
// measured; where that failed there is :error [:no-evidence "…"] or
// [:not-undone "…"] inside :onset or :end. What a run that was cut off has no op
// for is left out. Ops of other processes are passed over.
func Timeline(ops []history.Op) []byte {
	var rows []*row
	for i := range ops {
		op := &ops[i]
		if op.Process != history.Nemesis() {
			continue
		}
		e, starts, known := entryOf(op.F)
		if !known {
			continue
		}
		_, measured := op.Value.Field("requested")
		if starts && !measured {
			rows = append(rows, &row{kind: e.Name, targets: op.Value, start: op})
			continue
		}
		r := lastOf(rows, e.Name)
		switch {
		case r == nil:
		case starts:
			r.bitten = op
		case !measured:
			r.stop = op
		default:
			r.undone = op
		}
	}
	var out []byte
	for _, r := range rows {
		out = append(r.value().Append(out), '\n')
	}
	return out
}

// row is one fault as its four ops tell it; each may be nil but start.
type row struct {
	kind                        string
	targets                     history.Value
	start, bitten, stop, undone *history.Op
}

func entryOf(f string) (e Entry, starts, known bool) {
	for _, e := range Registry() {
		if f == e.Start || f == e.Stop {
			return e, f == e.Start, true
		}
	}
	return Entry{}, false, false
}

func lastOf(rows []*row, kind string) *row {
	for i := len(rows) - 1; i >= 0; i-- {
		if rows[i].kind == kind {
			return rows[i]
		}
	}
	return nil
}

func (r *row) value() history.Value {
	kvs := []history.Value{
		history.Keyword("fault"), history.Keyword(r.kind),
		history.Keyword("targets"), r.targets,
		history.Keyword("onset"), times(r.start, r.bitten),
	}
	kvs = append(kvs, evidenceOf("evidence", r.bitten)...)
	if r.stop != nil {
		kvs = append(kvs, history.Keyword("end"), times(r.stop, r.undone))
		kvs = append(kvs, evidenceOf("undo", r.undone)...)
	}
	return history.MapOf(kvs...)
}

// times prefers what the outcome says about its request.
func times(request, outcome *history.Op) history.Value {
	if outcome == nil {
		return history.MapOf(history.Keyword("requested"), history.Int(request.Time))
	}
	var kvs []history.Value
	for _, key := range []string{"requested", "measured"} {
		if v, ok := outcome.Value.Field(key); ok {
			kvs = append(kvs, history.Keyword(key), v)
		}
	}
	if !outcome.Error.IsNil() {
		kvs = append(kvs, history.Keyword("error"), outcome.Error)
	}
	return history.MapOf(kvs...)
}

func evidenceOf(key string, outcome *history.Op) []history.Value {
	if outcome == nil {
		return nil
	}
	v, ok := outcome.Value.Field("evidence")
	if !ok {
		return nil
	}
	return []history.Value{history.Keyword(key), v}
}
