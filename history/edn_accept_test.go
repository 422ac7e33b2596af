package history

import (
	"strings"
	"testing"
)

// What a robust reader of Jepsen's histories must accept, kind by kind: every
// text reads as the ops that are written as in lines.
func TestAccept(t *testing.T) {
	const i0, i1 = "{:index 0, :value nil}", "{:index 1, :value nil}"
	tests := []struct {
		name, text string
		lines      []string
	}{
		// 1. Shapes of files.
		{"maps one after another", "{:index 0}\n{:index 1}\n", []string{i0, i1}},
		{"one vector", "[{:index 0}\n {:index 1}]\n", []string{i0, i1}},
		{"one list", "({:index 0} {:index 1})", []string{i0, i1}},
		{"comments", "; {:index 7}\n{:index 0} ; }\n{:index ; }\n 1}", []string{i0, i1}},
		{"discards", "#_{:index 7} {:index 0 #_:x #_1}\n#_ #_ {} {}\n{:index 1}", []string{i0, i1}},
		{"commas", "{,:index,0,},{:index,,1}", []string{i0, i1}},
		{"no commas", "{:index 0 :value nil}{:index 1}", []string{i0, i1}},
		{"byte order mark and CRLF", "\ufeff{:index 0}\r\n{:index 1}\r\n", []string{i0, i1}},
		{"cut in a form", "{:index 0}\n{:index 1}\n{:index 2, :va", []string{i0, i1}},
		{"op on many lines", "{:index\n 0\n}\n{\n:index 1,\n}", []string{i0, i1}},
		// 2. Numbers.
		{"integers", "{:value [0 -17 +5 9223372036854775807 -9223372036854775808]}", []string{"{:value [0 -17 5 9223372036854775807 -9223372036854775808]}"}},
		{"bigger than 64 bits", "{:value [5N 9223372036854775808 -123456789012345678901234567890N]}", []string{"{:value [5 9223372036854775808N -123456789012345678901234567890N]}"}},
		{"ratios and decimals", "{:value [1/3 -22/7 1.50M 2M]}", []string{"{:value [1/3 -22/7 1.50M 2M]}"}},
		{"floats", "{:value [1.0 1.0E21 -2.5e-7 ##NaN ##Inf ##-Inf NaN Infinity -Infinity]}", []string{"{:value [1.0 1E+21 -2.5E-07 ##NaN ##Inf ##-Inf ##NaN ##Inf ##-Inf]}"}},
		{"radix", "{:value [0x7f8f9200e100 0XFF 2r1010 36rZZ 017]}", []string{"{:value [140254606582016 255 10 1295 15]}"}},
		// 3. Strings.
		{"escapes", `{:value "\"\\\n\t\r\f\b\u00e9\101"}`, []string{`{:value "\"\\\n\t\r\f\béA"}`}},
		{"raw bytes in strings", "{:value \"a\nb\x00\x1f\u2028é\"}", []string{"{:value \"a\\nb\x00\x1f\u2028é\"}"}},
		// 4. Characters, keywords.
		{"characters", `{:value [\a \newline \u0041 \é \( \space]}`, []string{`{:value [\a \newline \A \é \( \space]}`}},
		{"keywords", "{:value [:a/b :1 :a/b/c :a.b/c :nil :-> ::x]}", []string{"{:value [:a/b :1 :a/b/c :a.b/c :nil :-> ::x]}"}},
		{"keyword with a space", "{:index 0}\n{:value {:weird key 1}}\n{:index 1}", []string{i0, i1}},
		// 5. Symbols of stack traces.
		{"symbols", "{:value [clojure.core$inc <init> fn__123$foo a$b_BANG_ ... % java.lang.Foo - + a.b/c]}", []string{"{:value [clojure.core$inc <init> fn__123$foo a$b_BANG_ ... % java.lang.Foo - + a.b/c]}"}},
		// 6. Collections.
		{"nested", "{:value ([#{1} {:a (2)}] {1 {2 {}}})}", []string{"{:value ([#{1} {:a (2)}] {1 {2 {}}})}"}},
		{"micro-ops", "{:value [[:append 3 1] [:r 3 [1]] [:r 3] [:w x nil]]}", []string{"{:value [[:append 3 1] [:r 3 [1]] [:r 3] [:w x nil]]}"}},
		{"log micro-ops", "{:value [[:poll {0 [[1 2]]}] [:send 0 [3 4]] [:rp :true {1 2}]]}", []string{"{:value [[:poll {0 [[1 2]]}] [:send 0 [3 4]] [:rp :true {1 2}]]}"}},
		{"map with integer keys", "{:value {0 10, 1 -5}}", []string{"{:value {0 10, 1 -5}}"}},
		// 7. Tagged literals.
		{"instant and id", `{:value [#inst "2024-01-01T00:00:00.000-00:00" #uuid "f81d4fae-7dec-11d0-a765-00a0c91e6bf6"]}`, []string{`{:value [#inst "2024-01-01T00:00:00.000-00:00" #uuid "f81d4fae-7dec-11d0-a765-00a0c91e6bf6"]}`}},
		{"objects", `{:value [#object[java.lang.Object 0x1f "x"] #object["[B" 0x1 "y"] #object[clojure.lang.Atom 0x2 {:status :ready, :val 1}]]}`, []string{`{:value [#object [java.lang.Object 31 "x"] #object ["[B" 1 "y"] #object [clojure.lang.Atom 2 {:status :ready, :val 1}]]}`}},
		{"error", "{:index 0, :exception #error {\n :cause \"x\"\n :via\n [{:type a.B\n   :at [a$b c \"d.clj\" 1]}\n  {:type a.C}]\n :trace\n [[a b \"c\" 2]]}}\n{:index 1}", []string{`{:index 0, :value nil, :exception #error {:cause "x", :via [{:type a.B, :at [a$b c "d.clj" 1]} {:type a.C}], :trace [[a b "c" 2]]}}`, i1}},
		{"multiset", "{:value #multiset #{1 2}}", []string{"{:value #multiset #{1 2}}"}},
		{"record as op", "#jepsen.history.Op{:index 0}\n#knossos.op.Op {:index 1}", []string{i0, i1}},
		{"record as value", "{:value #knossos.model.CASRegister{:value 1}}", []string{"{:value #knossos.model.CASRegister {:value 1}}"}},
		{"namespaced map", "{:value #:jepsen{:a 1, :_/b 2}}", []string{"{:value {:jepsen/a 1, :b 2}}"}},
		{"regular expression", `{:value #"a\d+ \"}"}`, []string{`{:value "a\\d+ \\\"}"}`}},
		{"unreadable object", "{:value [#<Foo bar> #<Atom@1: {:a #<x <init>>}>]}", []string{`{:value [#unreadable "Foo bar" #unreadable "Atom@1: {:a #<x <init>>}"]}`}},
		{"var", "{:value #'clojure.core/inc}", []string{"{:value clojure.core/inc}"}},
		{"metadata", "^{:line 1} {:index 0, :value ^:a ^String nil}\n{:index 1}", []string{i0, i1}},
		// 8. Duplicates.
		{"keys twice", "{:value {:a 1, :a 2}, :x 1, :x 2}", []string{"{:value {:a 2}, :x 2}"}},
		{"members twice", "{:value #{1 2 1.0}}", []string{"{:value #{1.0 2}}"}},
		{"index twice or missing", "{:index 0}\n{:index 0}\n{:type :ok}", []string{i0, i0, "{:type :ok, :value nil}"}},
		// 9. What is missing, or of another type.
		{"nothing", "{}", []string{"{:value nil}"}},
		{"names as strings", `{"type" "ok", :f "read", :process "nemesis"}`, []string{"{:type :ok, :process :nemesis, :f :read, :value nil}"}},
		{"type as a string", `{:type "invoke"}`, []string{"{:type :invoke, :value nil}"}},
		{"f of another type", "{:f [:foo :start]}", []string{"{:f [:foo :start], :value nil}"}},
		// 10. Numbers stay what they are; Value.Equal knows which are the same.
		{"integer or float", "{:value [42 42.0 42N]}", []string{"{:value [42 42.0 42]}"}},
	}
	for _, tt := range tests {
		h, err := ReadAll(strings.NewReader(tt.text), EDN())
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		var lines []string
		for i := range h.Ops {
			lines = append(lines, h.Ops[i].String())
		}
		if got, want := strings.Join(lines, "\n"), strings.Join(tt.lines, "\n"); got != want {
			t.Errorf("%s: reads as\n%s, want\n%s", tt.name, got, want)
		}
		for size := 1; size < len(tt.text); size += 1 + size/2 {
			if err := checkScan([]byte(tt.text), 1+size%3, size); err != nil {
				t.Errorf("%s in chunks of %d: %v", tt.name, size, err)
			}
		}
	}
}
