package history

import "math"

// Names of the keys of an op that have a place of their own.
const (
	indexName   = "index"
	timeName    = "time"
	typeName    = "type"
	processName = "process"
	fName       = "f"
	valueName   = "value"
	errorName   = "error"
	nodeName    = "node"
	tagName     = "tag"
)

// op reads the rest of an op map, behind its brace, into op. space is the
// namespace that its keys are in, if any.
func (r *ednReader) op(op *Op, space string) error {
	*op = Op{Index: Absent, Time: Absent}
	misfit := false
	base := len(r.stack) // extras are collected from here on
	for {
		c, ok := r.skip()
		if !ok {
			return r.ended()
		}
		if c == '}' {
			r.pos++
			break
		}
		height := len(r.stack)
		if err := r.form(c, 1); err != nil {
			return err
		}
		if len(r.stack) == height {
			continue // discarded
		}
		key := r.stack[height]
		name := nameOf(key)
		if space != "" && (key.kind == KeywordKind || key.kind == Symbol) {
			name = qualify(space, name)
		}
		if c, ok := r.skip(); ok && c == '}' {
			return r.fail(r.pos, "op has a key without a value: %s", quote(key.Append(nil)))
		}
		if err := r.one(1); err != nil {
			return err
		}
		known, fits := op.take(name, &r.stack[height+1])
		if known && fits {
			r.stack = r.stack[:height]
			continue
		}
		misfit = misfit || known
		r.stack[height] = Text(name)
		if r.count+len(r.stack) > maxForms {
			return r.refuse(r.pos, "one op has more than %d values", maxForms)
		}
	}
	extras := r.stack[base:]
	if len(extras) == 0 {
		return nil
	}
	extras = unique(extras, 2)
	op.Extra = r.keepFields(len(extras) / 2)
	for i := range op.Extra {
		op.Extra[i] = Field{Key: extras[2*i].str, Value: extras[2*i+1]}
	}
	if misfit {
		op.dropStale()
	}
	return nil
}

// keepFields returns room for n fields.
func (r *ednReader) keepFields(n int) []Field {
	const blockSize = 128
	if n > len(r.fields) {
		if n > blockSize/4 {
			return make([]Field, n)
		}
		r.fields = make([]Field, blockSize)
	}
	kept := r.fields[:n:n]
	r.fields = r.fields[n:]
	return kept
}

// nameOf returns what a name says, and the EDN of any other value.
func nameOf(v Value) string {
	if v.isName() {
		return v.str
	}
	return v.String()
}

func (v Value) isName() bool {
	return v.kind == KeywordKind || v.kind == String || v.kind == Symbol
}

// take puts the value of a known key into its place. Where it does not fit
// there, as a type that is none of the four, the place is emptied, and the
// caller keeps the key as an extra.
func (o *Op) take(name string, v *Value) (known, fits bool) {
	switch name {
	case indexName:
		o.Index, fits = integral(v)
	case timeName:
		o.Time, fits = integral(v)
	case typeName:
		o.Type, fits = 0, v.kind == Nil
		if v.isName() {
			o.Type, fits = ParseType(v.str)
		}
	case processName:
		o.Process, fits = processOf(v), true
	case fName:
		o.F, fits = "", true
		if v.kind != Nil {
			o.F = nameOf(*v)
		}
	case valueName:
		o.Value, fits = *v, true
	case errorName:
		o.Error, fits = *v, true
	case nodeName:
		o.Node, fits = plainText(v)
	case tagName:
		o.Tag, fits = plainText(v)
	default:
		return false, false
	}
	return true, fits
}

// dropStale removes extras that bear the name of a known key whose place a
// later value took.
func (o *Op) dropStale() {
	kept := o.Extra[:0]
	for _, field := range o.Extra {
		if !o.writes(field.Key) {
			kept = append(kept, field)
		}
	}
	o.Extra = kept
}

// integral reads an integer, or a float that is one; nil is Absent.
func integral(v *Value) (n int64, ok bool) {
	switch v.kind {
	case Nil:
		return Absent, true
	case Integer:
		return int64(v.num), true
	case Float:
		f := math.Float64frombits(v.num)
		if f == math.Trunc(f) && math.Abs(f) < 1<<63 {
			return int64(f), true
		}
	}
	return Absent, false
}

func processOf(v *Value) Process {
	if v.kind == Nil {
		return Process{}
	}
	if n, ok := integral(v); ok {
		return Client(n)
	}
	return Named(nameOf(*v))
}

// plainText reads a keyword or a string; nil is "".
func plainText(v *Value) (string, bool) {
	switch v.kind {
	case Nil, KeywordKind, String:
		return v.str, true
	}
	return "", false
}
