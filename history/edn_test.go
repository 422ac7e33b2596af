package history

import (
	"io"
	"math"
	"strings"
	"testing"
	"testing/iotest"
)

// readString reads a whole EDN text.
func readString(t *testing.T, text string) *History {
	t.Helper()
	h, err := ReadAll(strings.NewReader(text), EDN())
	if err != nil {
		t.Fatalf("reading %.200q: %v", text, err)
	}
	return h
}

// readValue reads text as the value of an op.
func readValue(t *testing.T, text string) Value {
	t.Helper()
	h := readString(t, "{:value "+text+"\n}")
	if len(h.Ops) != 1 || h.Cut != nil {
		t.Fatalf("reading %q: %d ops, cut %v", text, len(h.Ops), h.Cut)
	}
	return h.Ops[0].Value
}

func number(text string) Value { return Value{kind: Number, str: text} }

func TestReadValue(t *testing.T) {
	deep := strings.Repeat("[", 9000) + strings.Repeat("]", 9000)
	tests := []struct {
		text, want string
		kind       Kind
	}{
		{"nil", "nil", Nil},
		{"true", "true", Bool},
		{"false", "false", Bool},
		{"0", "0", Integer},
		{"-0", "0", Integer},
		{"+5", "5", Integer},
		{"-17", "-17", Integer},
		{"9223372036854775807", "9223372036854775807", Integer},
		{"-9223372036854775808", "-9223372036854775808", Integer},
		{"9223372036854775808", "9223372036854775808N", Number},
		{"-123456789012345678901", "-123456789012345678901N", Number},
		{"42N", "42", Integer},
		{"0x7f8f9200e100", "140254606582016", Integer},
		{"-0xFf", "-255", Integer},
		{"0xffffffffffffffff", "18446744073709551615N", Number},
		{"2r1010", "10", Integer},
		{"36rZN", "1283", Integer},
		{"017", "15", Integer},
		{"1/3", "1/3", Number},
		{"-22/7", "-22/7", Number},
		{"1.5M", "1.5M", Number},
		{"-3M", "-3M", Number},
		{"1e3M", "1e3M", Number},
		{"1.5", "1.5", Float},
		{"5.", "5.0", Float},
		{"-0.0", "-0.0", Float},
		{"1.0E21", "1E+21", Float},
		{"1e-7", "1E-07", Float},
		{"1e999", "##Inf", Float},
		{"##NaN", "##NaN", Float},
		{"##Inf", "##Inf", Float},
		{"##-Inf", "##-Inf", Float},
		{"NaN", "##NaN", Float},
		{"Infinity", "##Inf", Float},
		{"-Infinity", "##-Inf", Float},
		{`""`, `""`, String},
		{`"a\"b\\c\n\t\r\f\b"`, `"a\"b\\c\n\t\r\f\b"`, String},
		{"\"a\nb\x00\u2028é\"", "\"a\\nb\x00\u2028é\"", String},
		{`"\u0041\u00e9\ud83d\ude00\101\7"`, "\"Aé😀A\a\"", String},
		{`"\ud83d!"`, "\"\ufffd!\"", String},
		{`"; not a comment #_ } ]"`, `"; not a comment #_ } ]"`, String},
		{`\a`, `\a`, Char},
		{`\newline`, `\newline`, Char},
		{`\space`, `\space`, Char},
		{`\u0041`, `\A`, Char},
		{`\o101`, `\A`, Char},
		{`\(`, `\(`, Char},
		{`\\`, `\\`, Char},
		{`\é`, `\é`, Char},
		{`\u0000`, `\u0000`, Char},
		{":a", ":a", KeywordKind},
		{":a/b", ":a/b", KeywordKind},
		{":a/b/c", ":a/b/c", KeywordKind},
		{":1", ":1", KeywordKind},
		{":max-x?", ":max-x?", KeywordKind},
		{":nil", ":nil", KeywordKind},
		{"::a", "::a", KeywordKind},
		{"clojure.core$inc", "clojure.core$inc", Symbol},
		{"<init>", "<init>", Symbol},
		{"fn__123$foo", "fn__123$foo", Symbol},
		{"a$b_BANG_", "a$b_BANG_", Symbol},
		{"...", "...", Symbol},
		{"%", "%", Symbol},
		{"-", "-", Symbol},
		{"+", "+", Symbol},
		{"->x", "->x", Symbol},
		{"java.lang.Foo", "java.lang.Foo", Symbol},
		{"a#", "a#", Symbol},
		{"#'clojure.core/inc", "clojure.core/inc", Symbol},
		{"()", "()", List},
		{"[1[2(3 #{4})]{5 6}]", "[1 [2 (3 #{4})] {5 6}]", Vector},
		{"[[:append 3 1] [:r 3 [1]] [:r 3]]", "[[:append 3 1] [:r 3 [1]] [:r 3]]", Vector},
		{"{}", "{}", Map},
		{"{:a 1,:b{2 nil},}", "{:a 1, :b {2 nil}}", Map},
		{"{:a 1 :b 2 :a 3}", "{:a 3, :b 2}", Map},
		{"{1 :a 1.0 :b}", "{1.0 :b}", Map},
		{"#{}", "#{}", Set},
		{"#{1 2 1}", "#{1 2}", Set},
		{"#{1 2 3 4 5 6 7 8 9 10 3 1N 2}", "#{1 2 3 4 5 6 7 8 9 10}", Set},
		{`#inst "2024-01-01T00:00:00.000-00:00"`, `#inst "2024-01-01T00:00:00.000-00:00"`, Tagged},
		{`#object[clojure.lang.Atom 0x1f {:status :ready, :val 1}]`, `#object [clojure.lang.Atom 31 {:status :ready, :val 1}]`, Tagged},
		{`#object["[B" 0x1 "x"]`, `#object ["[B" 1 "x"]`, Tagged},
		{"#error {\n :cause \"x\"\n :via [{:type a.B}]}", `#error {:cause "x", :via [{:type a.B}]}`, Tagged},
		{"#a #b 1", "#a #b 1", Tagged},
		{"#jepsen.history.Op{:index 1}", "#jepsen.history.Op {:index 1}", Tagged},
		{"#:jepsen{:a 1, :_/b 2, :c/d 3, \"e\" 4}", `{:jepsen/a 1, :b 2, :c/d 3, "e" 4}`, Map},
		{`#"a\d+\""`, `"a\\d+\\\""`, String},
		{"#<Foo bar>", `#unreadable "Foo bar"`, Tagged},
		{"#<>", `#unreadable ""`, Tagged},
		{`#<Atom@1f: {:a #<Object "x">}>`, `#unreadable "Atom@1f: {:a #<Object \"x\">}"`, Tagged},
		{"#<core$fn__1 a$fn->b\nx < y>", `#unreadable "core$fn__1 a$fn->b\nx < y"`, Tagged},
		{"[#<a <init>>]", `[#unreadable "a <init>"]`, Vector},
		{"^{:line 3} [1]", "[1]", Vector},
		{"^:private ^String [1 ^int 2]", "[1 2]", Vector},
		{"#^:old x", "x", Symbol},
		{"#_ 1 2", "2", Integer},
		{"[1 #_2 #_#_ 3 4 5 #_{:a [\"}\"]} 6]", "[1 5 6]", Vector},
		{"[1 ; two ] \n 3 #! four\n]", "[1 3]", Vector},
		{"[1,,\t\r\n\f2]", "[1 2]", Vector},
		{deep, deep, Vector},
	}
	for _, tt := range tests {
		v := readValue(t, tt.text)
		if v.Kind() != tt.kind || v.String() != tt.want {
			t.Errorf("%.100q reads as %.100s of kind %d, want %.100s of kind %d", tt.text, v, v.Kind(), tt.want, tt.kind)
		}
		if again := readValue(t, v.String()); !again.Equal(v) {
			t.Errorf("%.100q reads as %.100s, which reads as %.100s", tt.text, v, again)
		}
	}
}

func TestParseValue(t *testing.T) {
	for _, text := range []string{"0", "nil", "[0 {:a 1}]", "\\space", "#x y", "\"a\""} {
		if v, err := ParseValue(" " + text + " ; comment"); err != nil || v.String() != text {
			t.Errorf("%q parses as %s, error %v", text, v, err)
		}
	}
	for text, want := range map[string]string{
		"":       "expected a value, found nothing",
		" ; x":   "expected a value, found nothing",
		"1 2":    `column 3 (byte 2): expected one value, found more: "2"`,
		"[1":     "ends in the middle",
		"#_ 1":   "ends in the middle",
		"]":      "unexpected ']'",
		"\x00":   "this is not EDN text",
		"1x":     "cannot be read",
		"[1]\n]": `line 2, column 1 (byte 4): expected one value`,
	} {
		if v, err := ParseValue(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q parses as %s, error %v; want %s", text, v, err, want)
		}
	}
}

func TestReadOp(t *testing.T) {
	bare := Op{Index: Absent, Time: Absent}
	tests := []struct {
		name, text string
		want       func(op *Op)
	}{
		{"nothing", "{}", func(op *Op) {}},
		{"oldest", "{:process 7, :type :invoke, :f :cas, :value [2 3]}", func(op *Op) {
			op.Process, op.Type, op.F, op.Value = Client(7), Invoke, "cas", Vec(Int(2), Int(3))
		}},
		{"newest", `{:index 4, :time 20166100743, :type :info, :process :nemesis, :f :kill, :value ("n5" "n4"), :error [:timeout "x"], :source :generator}`, func(op *Op) {
			op.Index, op.Time, op.Type, op.Process, op.F = 4, 20166100743, Info, Nemesis(), "kill"
			op.Value = ListOf(Text("n5"), Text("n4"))
			op.Error = Vec(Keyword("timeout"), Text("x"))
			op.Extra = []Field{{"source", Keyword("generator")}}
		}},
		{"record", "#jepsen.history.Op{:index 3915, :type :ok}", func(op *Op) { op.Index, op.Type = 3915, OK }},
		{"older record", "#knossos.op.Op {:index 1, :type :ok}", func(op *Op) { op.Index, op.Type = 1, OK }},
		{"metadata", "^{:a 1} ^:b #x {:type :ok}", func(op *Op) { op.Type = OK }},
		{"strings for names", `{"type" "fail" "f" "txn" "process" "nemesis" "node" "n1" "tag" "safe"}`, func(op *Op) {
			op.Type, op.F, op.Process, op.Node, op.Tag = Fail, "txn", Named("nemesis"), "n1", "safe"
		}},
		{"keywords for names", "{:node :n1 :tag :safe}", func(op *Op) { op.Node, op.Tag = "n1", "safe" }},
		{"symbol process", "{:process nemesis}", func(op *Op) { op.Process = Nemesis() }},
		{"composite f", "{:f [:foo :start]}", func(op *Op) { op.F = "[:foo :start]" }},
		{"integer f", "{:f 5}", func(op *Op) { op.F = "5" }},
		{"vector process", "{:process [1 2]}", func(op *Op) { op.Process = Named("[1 2]") }},
		{"float process", "{:process 3.0}", func(op *Op) { op.Process = Client(3) }},
		{"nothing but nils", "{:index nil :time nil :type nil :process nil :f nil :value nil :error nil :node nil :tag nil}", func(op *Op) {}},
		{"last of each wins", "{:type :ok :type :fail :x 1 :x 2 :value 1 :value 2}", func(op *Op) {
			op.Type, op.Value, op.Extra = Fail, Int(2), []Field{{"x", Int(2)}}
		}},
		{"unknown type", "{:type :sleep}", func(op *Op) { op.Extra = []Field{{"type", Keyword("sleep")}} }},
		{"unknown type first", "{:type :sleep :type :ok :x 1}", func(op *Op) { op.Type, op.Extra = OK, []Field{{"x", Int(1)}} }},
		{"unknown type last", "{:type :ok :type :sleep}", func(op *Op) { op.Extra = []Field{{"type", Keyword("sleep")}} }},
		{"odd index", `{:index "a" :time 1.5}`, func(op *Op) {
			op.Extra = []Field{{"index", Text("a")}, {"time", FloatOf(1.5)}}
		}},
		{"integral float time", "{:time 1.5E9}", func(op *Op) { op.Time = 1_500_000_000 }},
		{"odd keys", `{"weird key" 1, 5 2, [a] 3, :a/b 4}`, func(op *Op) {
			op.Extra = []Field{{"weird key", Int(1)}, {"5", Int(2)}, {"[a]", Int(3)}, {"a/b", Int(4)}}
		}},
		{"namespaced", "#:jepsen{:type :ok, :_/f :read}", func(op *Op) {
			op.F, op.Extra = "read", []Field{{"jepsen/type", Keyword("ok")}}
		}},
		{"discards", "{#_ :type #_ :ok :f #_ :write :read #_ x}", func(op *Op) { op.F = "read" }},
		{"no commas", `{:f "read":process 1 :value[1]:type :ok}`, func(op *Op) { op.F, op.Process, op.Value, op.Type = "read", Client(1), Vec(Int(1)), OK }},
		{"many lines", "{:type ; a } in a comment\r\n :ok\r\n,\r\n:f\n:read}", func(op *Op) { op.Type, op.F = OK, "read" }},
		{"keyword with no name to match", "{:a/type :x}", func(op *Op) { op.Extra = []Field{{"a/type", Keyword("x")}} }},
	}
	for _, tt := range tests {
		want := bare
		tt.want(&want)
		h := readString(t, tt.text)
		if len(h.Ops) != 1 || h.Cut != nil {
			t.Errorf("%s: %d ops, cut %v", tt.name, len(h.Ops), h.Cut)
			continue
		}
		if !equalOps(&h.Ops[0], &want) {
			t.Errorf("%s: %s reads as\n%#v, want\n%#v", tt.name, tt.text, h.Ops[0], want)
		}
		line := h.Ops[0].String()
		again := readString(t, line)
		if len(again.Ops) != 1 || !equalOps(&again.Ops[0], &want) {
			t.Errorf("%s: written as %s, which reads as %s", tt.name, line, again.Ops[0].String())
		}
	}
}

func equalOps(a, b *Op) bool {
	if a.Index != b.Index || a.Time != b.Time || a.Type != b.Type || a.Process != b.Process ||
		a.F != b.F || a.Node != b.Node || a.Tag != b.Tag || len(a.Extra) != len(b.Extra) ||
		!a.Value.Equal(b.Value) || !a.Error.Equal(b.Error) {
		return false
	}
	for i := range a.Extra {
		if a.Extra[i].Key != b.Extra[i].Key || !a.Extra[i].Value.Equal(b.Extra[i].Value) {
			return false
		}
	}
	return true
}

func TestShapes(t *testing.T) {
	tests := []struct {
		name, text string
		ops        int
	}{
		{"empty", "", 0},
		{"blank", " ,\r\n\t", 0},
		{"only comments", "; nothing\n#_ {:type :ok} #! nothing", 0},
		{"lines", "{:index 0}\n{:index 1}\n", 2},
		{"no line end", "{:index 0}\n{:index 1}", 2},
		{"CRLF", "{:index 0}\r\n{:index 1}\r\n", 2},
		{"mark", "\ufeff{:index 0}\n{:index 1}", 2},
		{"only a mark", "\ufeff", 0},
		{"one line", "{:index 0}{:index 1}", 2},
		{"comments between", "; first\n{:index 0} ; {:index 7}\n#_{:index 8}{:index 1};last", 2},
		{"vector", "[{:index 0} {:index 1}]", 2},
		{"vector with commas", "\n[{:index 0},\n {:index 1},\n]\n; end\n", 2},
		{"list", "({:index 0}\n{:index 1})", 2},
		{"empty vector", "[]", 0},
		{"empty list", " ( ) ", 0},
		{"vector of records", "[#jepsen.history.Op{:index 0} #_ x ^:y {:index 1}] #_ [z]", 2},
		{"vector after a comment", "#_ [1] ; x\n[{:index 0} {:index 1}]", 2},
	}
	for _, tt := range tests {
		for name, source := range map[string]io.Reader{
			"whole":          strings.NewReader(tt.text),
			"byte by byte":   iotest.OneByteReader(strings.NewReader(tt.text)),
			"end with bytes": iotest.DataErrReader(strings.NewReader(tt.text)),
		} {
			h, err := ReadAll(source, EDN())
			if err != nil || h.Cut != nil || len(h.Ops) != tt.ops {
				t.Errorf("%s, %s: %d ops, cut %v, error %v; want %d ops", tt.name, name, len(h.Ops), h.Cut, err, tt.ops)
				continue
			}
			for i := range h.Ops {
				if h.Ops[i].Index != int64(i) {
					t.Errorf("%s, %s: op %d has index %d", tt.name, name, i, h.Ops[i].Index)
				}
			}
		}
	}
}

func TestWrite(t *testing.T) {
	op := Op{
		Index: 0, Time: 12, Type: Invoke, Process: Client(3), F: "write", Value: Vec(Int(7), Int(12)),
		Node: "n4", Tag: "latest", Error: Vec(Keyword("timeout"), Text("a\nb")),
		Extra: []Field{{"height", Int(31)}, {"index", Int(9)}, {"weird key", Flag(true)}, {"a", Int(1)}, {"a", Int(2)}, {"", Value{}}, {"a/1", Int(3)}},
	}
	const want = `{:index 0, :time 12, :type :invoke, :process 3, :f :write, :value [7 12], :node "n4", :tag :latest, :error [:timeout "a\nb"], :height 31, "weird key" true, :a 2, "" nil, "a/1" 3}`
	if got := op.String(); got != want {
		t.Errorf("written as\n%s, want\n%s", got, want)
	}
	if got := string(EDN().Append([]byte("x"), &op)); got != "x"+want+"\n" {
		t.Errorf("appended as %s", got)
	}
	empty := Op{Index: Absent, Time: Absent}
	if got := empty.String(); got != "{:value nil}" {
		t.Errorf("written as %s", got)
	}
	odd := Op{Index: Absent, Time: Absent, F: "a b", Process: Named("c d"), Tag: "e:", Value: Vec(Keyword("x y"), SymbolOf("nil"), SymbolOf("1"), TaggedOf("", Int(1)), CharOf('😀'), CharOf(' '))}
	const wantOdd = `{:process "c d", :f "a b", :value ["x y" "nil" "1" 1 "😀" \space], :tag "e:"}`
	if got := odd.String(); got != wantOdd {
		t.Errorf("written as\n%s, want\n%s", got, wantOdd)
	}
}

func TestEqual(t *testing.T) {
	groups := [][]Value{
		{Value{}},
		{Flag(true)}, {Flag(false)},
		{Int(0), FloatOf(0), FloatOf(math.Copysign(0, -1)), number("0.000M"), number("0/5"), number("0e5M")},
		{Int(42), FloatOf(42), number("42N"), number("42.0M"), number("84/2"), number("4.2e1M")},
		{Int(-42), FloatOf(-42), number("-84/2")},
		{Int(1 << 53), FloatOf(1 << 53)},
		{Int(1<<53 + 1)},
		{Int(math.MaxInt64), number("9223372036854775807N")},
		{number("9223372036854775808N"), number("9223372036854775808")},
		{FloatOf(1e23), number("100000000000000000000000N"), number("1e23M")},
		{FloatOf(0.5), number("0.5M"), number("1/2"), number("0.50M"), number("5E-1M")},
		{FloatOf(0.1), number("0.1M"), number("1/10")},
		{number("1/3"), number("2/6")},
		{FloatOf(1.0 / 3)},
		{FloatOf(math.NaN()), FloatOf(math.NaN())},
		{FloatOf(math.Inf(1))}, {FloatOf(math.Inf(-1))},
		{number("1e99999999999999999999M")},
		{Text("a")}, {Keyword("a")}, {SymbolOf("a")}, {CharOf('a')},
		{Text("42")}, {Keyword("42")}, {Text(":a")}, {Text(`"a"`)}, {Keyword(`"a"`)},
		{Vec(), ListOf()},
		{Vec(Int(1), Text("b")), ListOf(FloatOf(1), Text("b"))},
		{Vec(Text("b"), Int(1))},
		{Vec(Text("b 1"))},
		{SetOf()}, {MapOf()},
		{SetOf(Int(1), Text("b")), SetOf(Text("b"), FloatOf(1))},
		{MapOf(Int(1), Text("b"), Text("c"), Value{}), MapOf(Text("c"), Value{}, FloatOf(1), Text("b"))},
		{MapOf(Int(1), Text("b"), Text("c"), Flag(false))},
		{MapOf(Int(1), Text("b"))},
		{numbered(Set, 0, 100), numbered(Set, 50, 100)},
		{numbered(Map, 0, 100), numbered(Map, 50, 100)},
		{numbered(Set, 0, 99)}, {numbered(Map, 0, 99)},
		{TaggedOf("a", Int(1)), TaggedOf("a", FloatOf(1))},
		{TaggedOf("b", Int(1))}, {TaggedOf("a", Int(2))},
	}
	for i, group := range groups {
		for _, v := range group {
			for j, other := range groups {
				for _, w := range other {
					if got := v.Equal(w); got != (i == j) {
						t.Errorf("%s equals %s: %t", v, w, got)
					}
					if got := v.Key() == w.Key(); got != (i == j) {
						t.Errorf("%s and %s share a key: %t (%q, %q)", v, w, got, v.Key(), w.Key())
					}
					if got := v.hashable() == w.hashable(); got != (i == j) {
						t.Errorf("%s and %s share a hash: %t", v, w, got)
					}
				}
			}
		}
	}
}

// numbered returns a collection of the numbers below n, starting somewhere.
func numbered(kind Kind, first, n int) Value {
	v := Value{kind: kind}
	for i := range n {
		member := Int(int64((first + i) % n))
		v.list = append(v.list, member)
		if kind == Map {
			v.list = append(v.list, Vec(member))
		}
	}
	return v
}
