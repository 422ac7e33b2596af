package history

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// Every prefix of a history keeps the ops that it holds whole, and names the
// place of the cut.
func TestCut(t *testing.T) {
	ops := []string{
		`{:index 0, :type :invoke, :value [1 "a\"b" \newline #{2}]}`,
		"#jepsen.history.Op{:index 1, :f #_ x :read, :x ##NaN}",
		"^{:a 1} {:index 2, :value #:a{:b 0x1F}, :y #'a, :z #inst \"x\"}",
	}
	for _, shape := range []struct{ open, between, end string }{
		{"", "\n", "\n"}, {"[", "\n", "]"}, {"(", ", ", ")"},
	} {
		text := shape.open
		var starts, ends []int
		for i, op := range ops {
			if i > 0 {
				text += shape.between
			}
			starts = append(starts, len(text))
			text += op
			ends = append(ends, len(text))
		}
		text += shape.end
		for n := range len(text) {
			h, err := ReadAll(iotest.HalfReader(strings.NewReader(text[:n])), EDN())
			if err != nil {
				t.Fatalf("%q: %v", text[:n], err)
			}
			whole := 0
			for whole < len(ops) && ends[whole] <= n {
				whole++
			}
			inside := whole < len(ops) && starts[whole] < n
			if len(h.Ops) != whole {
				t.Errorf("%q: %d ops, want %d", text[:n], len(h.Ops), whole)
			}
			if n == 0 {
				continue
			}
			switch {
			case inside && (h.Cut == nil || h.Cut.Offset != int64(starts[whole])):
				t.Errorf("%q: cut %v, want one at %d", text[:n], h.Cut, starts[whole])
			case !inside && shape.open == "" && h.Cut != nil:
				t.Errorf("%q: cut %v, want none", text[:n], h.Cut)
			case !inside && shape.open != "" && h.Cut == nil:
				t.Errorf("%q: no cut, want one", text[:n])
			}
		}
	}
}

func TestCutByZeros(t *testing.T) {
	for _, text := range []string{
		"{:index 0}\n" + strings.Repeat("\x00", 300_000),
		"{:index 0}\n{:index 1, :value 5" + strings.Repeat("\x00", 5),
	} {
		h := readString(t, text)
		if len(h.Ops) != 1 || h.Cut == nil || h.Cut.Offset != 11 {
			t.Errorf("%.40q: %d ops, cut %v", text, len(h.Ops), h.Cut)
		}
	}
	if _, err := ReadAll(strings.NewReader("{:index 0}\n\x00\x00x"), EDN()); err == nil {
		t.Error("zeros in the middle are taken for a cut")
	}
}

func TestSyntaxError(t *testing.T) {
	tests := []struct {
		name, text, want string
		ops              int
	}{
		{"word", "{:index 0}\nhello world\n", `line 2, column 1 (byte 11): expected an op such as {:type :invoke, :process 0, :f :read, :value nil}, found "hello world"`, 1},
		{"word without end", "hello", `line 1, column 1 (byte 0): expected an op`, 0},
		{"log", "INFO  jepsen.util - 4\t:invoke\t:read\tnil\n", `found "INFO  jepsen.util - 4\t:invoke\t:r"…`, 0},
		{"elf", "\x7fELF\x02\x01\x01\x00", "line 1, column 1 (byte 0): unexpected byte 0x7f ('\\x7f'): this is not EDN text", 0},
		{"png", "\x89PNG\r\n\x1a\n", `found "\x89PNG": this is not EDN text`, 0},
		{"zeros", "\x00\x00\x00", "unexpected byte 0x00 ('\\x00'): this is not EDN text", 0},
		{"binary inside", "{:index \x01}", "byte 8): unexpected byte 0x01", 0},
		{"bad UTF-8", "{:\xff\xfe 1}", `column 2 (byte 1): keyword ":\xff\xfe" is not UTF-8`, 0},
		{"json", `[{"type":"invoke"}]`, "byte 8): unexpected ':' beside a string: this looks like JSON, not EDN", 0},
		{"json with spaces", `[ {"a" : 1}, {"type": 1}]`, "(byte 7): keyword has no name", 0},
		{"json lines", "{\"time\": 1}\n{\"time\": 2}", "(byte 7): unexpected ':' beside a string: this looks like JSON, not EDN", 0},
		{"vector in a vector", "[[1 2]]", `column 2 (byte 1): expected an op`, 0},
		{"string", `"x"`, `found "\"x\""`, 0},
		{"second vector", "[{:index 0}] [{:index 1}]", `column 14 (byte 13): history is one vector or list of ops, but "[{:index 1}]" follows its end`, 1},
		{"op after a vector", "[{:index 0}]\n{:index 1}", `line 2, column 1 (byte 13): history is one vector or list of ops, but "{:index 1}" follows its end`, 1},
		{"vector after ops", "{:index 0} [{:index 1}]", `(byte 11): expected an op`, 1},
		{"stray bracket", "{:index 0}\n}", `line 2, column 1 (byte 11): unexpected '}'`, 1},
		{"wrong bracket", "{:value [1 2)}", `column 13 (byte 12): unexpected ')': the collection that is open here ends with ']'`, 0},
		{"wrong bracket of an op", "{:value 1]", `(byte 9): unexpected ']'`, 0},
		{"op with odd forms", "{:type :ok :value}", `(byte 17): op has a key without a value: ":value"`, 0},
		{"map with odd forms", "{:value {:a 1 :b}}", `(byte 16): map has a key without a value: ":b"`, 0},
		{"number", "{:value 12ab}", `(byte 8): number "12ab" cannot be read`, 0},
		{"octal", "{:value 08}", `number "08" cannot be read`, 0},
		{"hex", "{:value 0x}", `number "0x" cannot be read`, 0},
		{"radix", "{:value 40r1}", `number "40r1" cannot be read`, 0},
		{"ratio", "{:value 1/0}", `number "1/0" cannot be read`, 0},
		{"signs", "{:value -1-2}", `number "-1-2" cannot be read`, 0},
		{"underscore", "{:value 1_000}", `number "1_000" cannot be read`, 0},
		{"endless number", "{:value " + strings.Repeat("9", 5000) + "}", `cannot be read`, 0},
		{"keyword", "{: 1}", "(byte 1): keyword has no name", 0},
		{"char", `{:value \foo}`, `(byte 8): character "\\foo" cannot be read`, 0},
		{"surrogate", `{:value \ud800}`, `character "\\ud800" cannot be read`, 0},
		{"escape", `{:value "ab\q"}`, `(byte 11): escape "\\q" in a string cannot be read`, 0},
		{"short escape", `{:value "\u12"}`, `escape "\\u12" in a string cannot be read`, 0},
		{"symbolic", "{:value ##Foo}", `number "##Foo" is none of ##NaN, ##Inf, ##-Inf`, 0},
		{"endless unreadable", "{:value #<Foo " + strings.Repeat("x", maxUnreadable) + "}", `(byte 10): object that starts with "Foo xxx`, 0},
		{"unreadable at the top", "#<Foo bar>", `tag "#<Foo" cannot be read`, 0},
		{"empty tag", "{:value # a}", `tag "#" cannot be read`, 0},
		{"namespace", "{:value #:a [1]}", `namespace #:a is followed by '[', not by a map`, 0},
		{"column counts characters", "{:x \"é😀\" :y 1a}", `column 13 (byte 16): number "1a"`, 0},
		{"set at the top", "#{1}", `expected an op such as {:type :invoke, :process 0, :f :read, :value nil}, found "#{1}"`, 0},
		{"tag of no map", "#x [1]", `found "[1]"`, 0},
	}
	for _, tt := range tests {
		for _, source := range []io.Reader{strings.NewReader(tt.text), iotest.OneByteReader(strings.NewReader(tt.text))} {
			h, err := ReadAll(source, EDN())
			var syntax *SyntaxError
			if !errors.As(err, &syntax) {
				t.Errorf("%s: error %v, want a SyntaxError", tt.name, err)
				continue
			}
			// What is quoted depends on what was buffered.
			if _, whole := source.(*strings.Reader); whole && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s: error is\n%s, want\n%s", tt.name, err, tt.want)
			}
			if len(h.Ops) != tt.ops {
				t.Errorf("%s: %d ops, want %d", tt.name, len(h.Ops), tt.ops)
			}
		}
	}
}

// Line and column stay right when the buffer has moved on.
func TestSyntaxErrorFarAway(t *testing.T) {
	var text bytes.Buffer
	for text.Len() < 3*firstBuffer {
		fmt.Fprintf(&text, "{:index %d, :value \"é\"}\n", text.Len())
	}
	lines := bytes.Count(text.Bytes(), []byte("\n"))
	text.WriteString(strings.Repeat("{:a \"é\"} ", firstBuffer))
	offset := text.Len()
	text.WriteString("oops")
	_, err := ReadAll(&text, EDN())
	var syntax *SyntaxError
	if !errors.As(err, &syntax) {
		t.Fatalf("error %v, want a SyntaxError", err)
	}
	if syntax.Line != lines+1 || syntax.Column != 9*firstBuffer+1 || syntax.Offset != int64(offset) {
		t.Errorf("line %d, column %d, byte %d; want %d, %d, %d", syntax.Line, syntax.Column, syntax.Offset, lines+1, 9*firstBuffer+1, offset)
	}
}

var slow = flag.Bool("slow", false, "also run the limits that take many seconds to reach")

// endless repeats one byte.
type endless byte

func (e endless) Read(p []byte) (int, error) {
	for n := copy(p, []byte{byte(e)}); n < len(p); {
		n += copy(p[n:], p[:n])
	}
	return len(p), nil
}

// Endless input of any sort ends in a clear error in bounded memory, or goes on
// for ever where nothing is kept.
func TestLimits(t *testing.T) {
	tests := []struct {
		name   string
		source func() io.Reader
		want   string
	}{
		{"vectors", func() io.Reader { return io.LimitReader(endless('['), 1<<30) }, "expected an op"},
		{"maps", func() io.Reader { return endless('{') }, "nested more than 10000 deep"},
		{"vectors in an op", func() io.Reader { return io.MultiReader(strings.NewReader("{:a "), endless('[')) }, "nested more than 10000 deep"},
		{"metadata", func() io.Reader { return io.MultiReader(strings.NewReader("{:a "), endless('^')) }, "nested more than 10000 deep"},
		{"discards", func() io.Reader { return io.MultiReader(strings.NewReader("{:a "), repeat("#_")) }, "nested more than 10000 deep"},
		{"tags", func() io.Reader { return io.MultiReader(strings.NewReader("{:a "), repeat("#a ")) }, "nested more than 10000 deep"},
		{"string", func() io.Reader { return io.MultiReader(strings.NewReader("{:a \""), endless('x')) }, `one token takes more than 64 MiB; it starts with "xxxx`},
		{"symbol", func() io.Reader { return io.MultiReader(strings.NewReader("{:a "), endless('x')) }, "one token takes more than 64 MiB"},
		{"number", func() io.Reader { return io.MultiReader(strings.NewReader("{:a "), endless('9')) }, "one token takes more than 64 MiB"},
		{"char", func() io.Reader { return io.MultiReader(strings.NewReader("{:a \\"), endless('9')) }, "one token takes more than 64 MiB"},
		{"space in an op", func() io.Reader { return io.MultiReader(strings.NewReader("{:a "), endless(' ')) }, "one op takes more than 256 MiB"},
		{"values", func() io.Reader { return io.MultiReader(strings.NewReader("{:a ["), repeat("1 ")) }, "more than 4194304 values"},
		{"keys", func() io.Reader { return io.MultiReader(strings.NewReader("{"), repeat(":a 1 ")) }, "more than 4194304 values"},
		{"long white space between ops", func() io.Reader {
			return io.MultiReader(io.LimitReader(endless(' '), maxOp+firstBuffer), strings.NewReader("oops"))
		}, "expected an op"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if testing.Short() || !*slow && (slices.Contains([]string{"values", "keys", "space in an op"}, tt.name)) {
				t.Skip("SKIPPED: takes long: run it with -slow")
			}
			_, err := ReadAll(tt.source(), EDN())
			var syntax *SyntaxError
			if !errors.As(err, &syntax) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want a SyntaxError with %q", err, tt.want)
			}
			s := &Scan{in: &input{at: onwards{tt.source()}}, workers: 2, chunkSize: chunkSize, every: placeEvery}
			again := s.Each(context.Background(), func(*Event) error { return nil })
			if fmt.Sprint(again) != fmt.Sprint(err) {
				t.Errorf("a Scan ends with %v, want %v", again, err)
			}
		})
	}
}

// onwards is a stream that is read once, from its start.
type onwards struct{ io.Reader }

func (o onwards) ReadAt(p []byte, _ int64) (int, error) { return o.Read(p) }

// repeat repeats a text for ever.
func repeat(text string) io.Reader { return &repeated{text: text} }

type repeated struct {
	text string
	at   int
}

func (r *repeated) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = r.text[r.at]
		r.at = (r.at + 1) % len(r.text)
	}
	return len(p), nil
}

func TestReadError(t *testing.T) {
	broken := errors.New("disk on fire")
	h, err := ReadAll(io.MultiReader(strings.NewReader("{:index 0}\n{:index"), iotest.ErrReader(broken)), EDN())
	if !errors.Is(err, broken) || len(h.Ops) != 1 || h.Cut != nil {
		t.Errorf("%d ops, cut %v, error %v", len(h.Ops), h.Cut, err)
	}
}

// A Reader that has failed keeps failing in the same way.
func TestReaderStaysFailed(t *testing.T) {
	r := EDN().Reader(strings.NewReader("oops {:index 0}"))
	_, first := r.Read()
	_, second := r.Read()
	if first == nil || first != second {
		t.Errorf("errors %v and %v", first, second)
	}
	r = EDN().Reader(strings.NewReader("{:index 0}"))
	if _, err := r.Read(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := r.Read(); err != io.EOF {
			t.Errorf("error %v, want EOF", err)
		}
	}
}
