package history

import (
	"bytes"
	"errors"
	"io"
	"math"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"
)

// name draws what Clojure takes for a keyword.
func name() *rapid.Generator[string] {
	return rapid.StringMatching(`[a-z*!_?$%&=<>.+-][a-z0-9*!_?$%&=<>.+:#'-]{0,8}[a-z](/[a-zé][a-z0-9]{0,4})?`).Filter(isPlain)
}

// scalar draws a value without elements.
func scalar() *rapid.Generator[Value] {
	return rapid.OneOf(
		rapid.Just(Value{}),
		rapid.Map(rapid.Bool(), Flag),
		rapid.Map(rapid.Int64(), Int),
		rapid.Map(rapid.Int64Range(-20, 20), Int),
		rapid.Map(rapid.Float64(), FloatOf),
		rapid.Map(rapid.SampledFrom([]float64{0, math.NaN(), math.Inf(1), math.Inf(-1), 1e21, 5e-324}), FloatOf),
		rapid.Map(rapid.SampledFrom([]string{"1/3", "-2/7", "1.50M", "-1e-9M", "123456789012345678901N"}), number),
		rapid.Map(rapid.String(), Text),
		rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) Value { return Text(string(b)) }),
		rapid.Map(name(), Keyword),
		rapid.Map(name().Filter(isSymbol), SymbolOf),
		rapid.Map(rapid.RuneFrom([]rune("a(\\\";\n \x00\x7fé\u2028\ufffd")), CharOf),
	)
}

// value draws any value that EDN can write.
func value(depth int) *rapid.Generator[Value] {
	if depth == 0 {
		return scalar()
	}
	inner := rapid.Deferred(func() *rapid.Generator[Value] { return value(depth - 1) })
	some := rapid.SliceOfN(inner, 0, 12)
	return rapid.OneOf(
		scalar(),
		rapid.Map(some, func(vs []Value) Value { return Vec(vs...) }),
		rapid.Map(some, func(vs []Value) Value { return ListOf(vs...) }),
		rapid.Map(some, func(vs []Value) Value { return SetOf(unique(vs, 1)...) }),
		rapid.Map(some, func(vs []Value) Value { return MapOf(unique(vs[:len(vs)/2*2], 2)...) }),
		rapid.Custom(func(t *rapid.T) Value { return TaggedOf(name().Filter(isTag).Draw(t, "tag"), inner.Draw(t, "form")) }),
	)
}

// anyOp draws any op that a program may make.
func anyOp() *rapid.Generator[Op] {
	processes := rapid.OneOf(
		rapid.Just(Process{}),
		rapid.Map(rapid.Int64(), Client),
		rapid.Map(rapid.String(), Named),
		rapid.Just(Nemesis()),
	)
	values := value(2)
	return rapid.Custom(func(t *rapid.T) Op {
		op := Op{
			Index:   rapid.Int64().Draw(t, "index"),
			Time:    rapid.Int64().Draw(t, "time"),
			Type:    rapid.SampledFrom([]Type{0, Invoke, OK, Fail, Info}).Draw(t, "type"),
			Process: processes.Draw(t, "process"),
			F:       rapid.OneOf(name(), rapid.String(), rapid.Just("[:foo :start]")).Draw(t, "f"),
			Value:   values.Draw(t, "value"),
			Error:   values.Draw(t, "error"),
			Node:    rapid.String().Draw(t, "node"),
			Tag:     rapid.OneOf(name(), rapid.String()).Draw(t, "tag"),
		}
		for _, key := range rapid.SliceOfDistinct(rapid.OneOf(name(), rapid.String()), func(s string) string { return s }).Draw(t, "keys") {
			if known, _ := new(Op).take(key, &Value{}); !known {
				op.Set(key, values.Draw(t, "extra"))
			}
		}
		return op
	})
}

// What is written reads back as it was, on one line, whole or in pieces.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ops := rapid.SliceOfN(anyOp(), 1, 4).Draw(t, "ops")
		var text []byte
		for i := range ops {
			at := len(text)
			text = EDN().Append(text, &ops[i])
			if line := text[at:]; bytes.IndexByte(line, '\n') != len(line)-1 {
				t.Fatalf("%q is not one line", line)
			}
		}
		source := io.Reader(bytes.NewReader(text))
		if rapid.Bool().Draw(t, "in pieces") {
			source = iotest.OneByteReader(source)
		}
		h, err := ReadAll(source, EDN())
		if err != nil || h.Cut != nil || len(h.Ops) != len(ops) {
			t.Fatalf("%d of %d ops, cut %v, error %v in\n%s", len(h.Ops), len(ops), h.Cut, err, text)
		}
		for i := range ops {
			if !equalOps(&ops[i], &h.Ops[i]) {
				t.Fatalf("wrote\n%#v\nas\n%s\nread\n%#v", ops[i], ops[i].String(), h.Ops[i])
			}
		}
	})
}

// Equal and Key agree, and neither depends on the order of maps and sets.
func TestKeyAgreesWithEqual(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v, w := value(2).Draw(t, "v"), value(2).Draw(t, "w")
		if v.Equal(w) != (v.Key() == w.Key()) {
			t.Fatalf("%s equals %s: %t, but keys are %q and %q", v, w, v.Equal(w), v.Key(), w.Key())
		}
		if v.Kind() == Set {
			members := rapid.Permutation(v.Elems()).Draw(t, "members")
			if u := SetOf(members...); !u.Equal(v) || u.Key() != v.Key() {
				t.Fatalf("%s does not equal %s", u, v)
			}
		}
		if !v.Equal(v) {
			t.Fatalf("%s does not equal itself", v)
		}
	})
}

// FuzzEDN reads anything: no panic, errors of the documented sorts only, the
// same ops whatever pieces the input comes in, and what was read survives being
// written and read again.
func FuzzEDN(f *testing.F) {
	for _, seed := range []string{
		"{:index 0, :time 12, :type :invoke, :process 3, :f :write, :value [7 12], :node \"n4\", :tag :latest, :error [:x \"y\"], :height 31}\n",
		"[{:type :ok} #jepsen.history.Op{:f [:a]} ; c\n #_ x ^{:m 1} {:value #:n{:a 1}}]",
		"({:value (\\a \\newline \\u0041 \"\\u00e9\\ud83d\\ude00\\101\")})",
		"{:value #{1 1.0 1N 1M 1/3 0x1F 2r101 017 ##NaN ##-Inf -0.0 1e400}}",
		"{:value {:a 1 :a 2, \"b\" #inst \"x\"} :type :sleep :type :ok \"weird key\" 1 [1] 2}",
		"\ufeff{:process nemesis}\r\n{:process \"x\"}\x00\x00",
		"{:value #<a b>}\n{:value :weird key}\n{:value #<a <b}\n{}",
		"{:value #\"re\\\"\" :x #'a/b :y a$b :z <init>}{:inde",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		h, err := ReadAll(bytes.NewReader(text), EDN())
		var syntax *SyntaxError
		packed := bytes.HasPrefix(text, []byte("\x1f\x8b")) || len(text) > 3 && isZstd(text[:4])
		if err != nil && !errors.As(err, &syntax) && !packed {
			t.Fatalf("error %v of type %T", err, err)
		}
		if syntax != nil && !packed && (syntax.Offset < 0 || syntax.Offset > int64(len(text)) || syntax.Line < 1 || syntax.Column < 1) {
			t.Fatalf("error at an impossible place: %v", syntax)
		}
		if h.Cut != nil && (h.Cut.Offset < 0 || h.Cut.Offset > int64(len(text))) && !packed {
			t.Fatalf("cut at an impossible place: %v", h.Cut)
		}
		pieces, errPieces := ReadAll(iotest.OneByteReader(bytes.NewReader(text)), EDN())
		if len(pieces.Ops) != len(h.Ops) || (err == nil) != (errPieces == nil) || (h.Cut == nil) != (pieces.Cut == nil) {
			t.Fatalf("whole: %d ops, %v, %v; in pieces: %d ops, %v, %v", len(h.Ops), h.Cut, err, len(pieces.Ops), pieces.Cut, errPieces)
		}
		for i := range h.Ops {
			line := EDN().Append(nil, &h.Ops[i])
			again, err := ReadAll(bytes.NewReader(line), EDN())
			if err != nil || again.Cut != nil || len(again.Ops) != 1 {
				t.Fatalf("wrote %q, which reads as %d ops, cut %v, error %v", line, len(again.Ops), again.Cut, err)
			}
			if !equalOps(&h.Ops[i], &again.Ops[0]) {
				t.Fatalf("wrote %q, which reads as %q", line, again.Ops[0].String())
			}
		}
	})
}
