package format

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/jepgo/jepgo/history"
)

// readText reads text as that format.
func readText(t testing.TB, name, text string) (*history.History, error) {
	t.Helper()
	f, err := open("-", name, strings.NewReader(text))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.History()
}

// TestErrors: what cannot be read is said with its place and what would be right.
func TestErrors(t *testing.T) {
	for _, c := range []struct {
		name, text   string
		line, column int
		want         string
	}{
		{"json", "[{\"type\":\"ok\"},\n  17]", 2, 3, `expected an op such as {"type"`},
		{"json", "{\"type\":\"ok\",\n\"é\": tru }", 2, 6, `expected a JSON value, found "tru }"`},
		{"json", `{"type" "ok"}`, 1, 9, `expected ':' behind the key "type"`},
		{"json", `{type: 1}`, 1, 2, `expected a key in double quotes`},
		{"json", `{"a":1 "b":2}`, 1, 8, `expected ',' or '}'`},
		{"json", `{"value":[1 2]}`, 1, 13, `expected ',' or ']'`},
		{"json", `{"value":{"a":1;}}`, 1, 16, `expected ',' or '}'`},
		{"json", `{"value":01x}`, 1, 10, `number "01x" cannot be read`},
		{"json", `{"value":1.2.3}`, 1, 10, `number "1.2.3" cannot be read`},
		{"json", `{"value":"a\qb"}`, 1, 12, `escape "\\q" in a string`},
		{"json", `{"value":"\u12g4"}`, 1, 11, `escape "\\u12g4" in a string`},
		{"json", "[{}]\n\n{}", 3, 1, `follows its end`},
		{"json", "\xefxyz", 1, 1, "expected an op"},
		{"json", `{"value":` + strings.Repeat("[", 2000) + "}", 1, 1010, "nested more than 1000 deep"},
		{"json", `{"value":` + strings.Repeat(`{"a":`, 2000) + "}", 1, 5010, "nested more than 1000 deep"},
		{"json", `{"value":` + strings.Repeat("7", 5000) + "}", 1, 10, `number "77777777777777777777777777777777"… cannot be read`},
		{"json", "{" + manyKeys(1200) + "}", 1, 8910, "more than 1000 keys"},
		{"jsonl", "{\"type\":\"OK\"}\n{\"type\":}\n", 2, 9, "expected a JSON value"},
		{"history-txt", "1\t:ok\t:read\tnil\n2\t:done\t:read\tnil\n", 2, 3, "none of :invoke, :ok, :fail, :info"},
		{"history-txt", "1\t:ok\t:read\t(1\n", 1, 13, `value "(1" has no end`},
		{"history-txt", "1\t:ok\t:read\t[1 2} 3]\n", 1, 17, `unexpected '}'`},
		{"history-txt", "1\t:ok\t:read\n", 1, 12, "line has no value"},
		{"history-txt", "1\t:ok\n", 1, 6, "line has no f"},
		{"etcd-log", "INFO  jepsen.util - 1\t:ok\t:read\t3\nhello\n", 2, 1, `expected a line such as "INFO  jepsen.util`},
		{"etcd-log", "INFO  jepsen.util - 1\t:yes\t:read\t3\n", 1, 23, "none of :invoke"},
		{"kv-log", "{:process 0, :type :ok, :f :get, :key 7, :value nil}\n", 1, 1, "no :key that is a string"},
		{"kv-log", "{:process 0, :type :what, :f :get, :key \"7\", :value nil}\n", 1, 1, "no :type"},
		{"kv-log", "\n[1]\n", 2, 1, "expected an op such as {:process"},
		{"kv-log", "{:process 0, :value \"\\q\"}\n", 1, 22, "escape"},
		{"kv-log", "{} {}", 1, 4, "expected one value"},
		{"plume", "w(1,2,3,4)\nx(1,2,3,4)\n", 2, 1, `found "x(1,2,3,4)"`},
		{"plume", "w(1,2,3)\n", 1, 8, "expected ','"},
		{"plume", "w(1,a,3,4)\n", 1, 5, "expected an integer"},
		{"plume", "w(1,2,3,4\n", 1, 10, "expected ')'"},
		{"plume", "w(1,2,3,4) x", 1, 12, "expected nothing behind ')'"},
		{"plume", "w(1,99999999999999999999,3,4)\n", 1, 5, "expected an integer"},
		{"plume", "w(1,2,3,4)\nw(1,3,5,4)\n", 2, 1, "transaction 4 belongs to session 3 on an earlier line, to session 5 here"},
		{"awdit", "r 1 2\nq 1 2\n", 2, 1, "expected a line such as"},
		{"awdit", "r 1\n", 1, 4, "expected an integer"},
		{"awdit", "r1 2\n", 1, 2, "expected an integer"},
		{"awdit", "r 1 2 3\n", 1, 7, "expected a line such as"},
		{"dbcop", "- - events: 1\n    success: true\n", 1, 5, "expected a transaction"},
		{"dbcop", "- - events:\n    - write: 1\n    success: true\n", 2, 14, "write is neither true nor false"},
		{"dbcop", "- - events: []\n", 1, 5, "success or committed"},
		{"dbcop", "- - events:\n    - {write: true, variable: 1, success: true}\n    success: true\n", 2, 7, "event has no value that is an integer"},
		{"dbcop", "- - events:\n    - {write: true, value: 1, success: true}\n    success: true\n", 2, 7, "event has no variable"},
		{"dbcop", "- - events:\n    - {write: true, variable: 1, value: x, success: true}\n    success: true\n", 2, 7, "event has no value that is an integer"},
		{"dbcop", "a: 1\n", 1, 1, "map has no data"},
		{"dbcop", "hello\n", 1, 1, "expected a list of sessions"},
		{"dbcop", "- hello\n", 1, 3, "expected a session"},
		{"dbcop", "- - events: []\n    success: true\n- }\n", 2, 1, "this is no YAML"},
		{"dbcop", "- &a [{events: [], success: true}]\n- *a\n", 2, 3, "an alias"},
		{"dbcop", "- []\n---\n- []\n", 2, 1, "expected one document"},
	} {
		_, err := readText(t, c.name, c.text)
		var syntax *history.SyntaxError
		if !errors.As(err, &syntax) {
			t.Errorf("%s of %.60q: %v, want %s", c.name, c.text, err, c.want)
			continue
		}
		if syntax.Line != c.line || syntax.Column != c.column || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s of %.60q: %v, want line %d, column %d: %s", c.name, c.text, err, c.line, c.column, c.want)
		}
		if at := offset(c.text, syntax.Line, syntax.Column); int64(at) != syntax.Offset {
			t.Errorf("%s of %.60q: line %d, column %d is byte %d, not %d", c.name, c.text, syntax.Line, syntax.Column, at, syntax.Offset)
		}
	}
}

func manyKeys(n int) string {
	var keys []string
	for i := range n {
		keys = append(keys, fmt.Sprintf(`"k%d":1`, i))
	}
	return strings.Join(keys, ",")
}

// offset is the byte of a line and a column.
func offset(text string, line, column int) int {
	at := 0
	for ; line > 1; line-- {
		at += strings.IndexByte(text[at:], '\n') + 1
	}
	for i := range text[at:] {
		if column--; column == 0 {
			return at + i
		}
	}
	return len(text)
}

// TestErrorKeepsPrefix: what was read before the error is there.
func TestErrorKeepsPrefix(t *testing.T) {
	h, err := readText(t, "json", "{\"type\":\"ok\"}\n{\"type\":\"info\"}\n)")
	if err == nil || len(h.Ops) != 2 {
		t.Errorf("%d ops, %v", len(h.Ops), err)
	}
}

// TestCut cuts every sample everywhere: what is left is a prefix, and no error.
func TestCut(t *testing.T) {
	for _, s := range samples() {
		if s.name == "dbcop" && !strings.HasPrefix(s.text, "-") {
			continue // one value of JSON, of which a part is nothing
		}
		whole, err := readText(t, s.name, s.text)
		if err != nil {
			t.Fatal(err)
		}
		cuts := 0
		for n := range len(s.text) {
			text := s.text[:n]
			h, err := readText(t, s.name, text)
			if s.name == "dbcop" && err != nil && (strings.HasSuffix(text, "\n") || !strings.Contains(text, "- events:")) {
				continue // half a transaction that ends with a line does not look cut
			}
			if err != nil {
				t.Errorf("%s cut to %q: %v", s.name, text, err)
				continue
			}
			if h.Cut != nil {
				cuts++
				if h.Cut.Offset > int64(n) {
					t.Errorf("%s cut to %d bytes: cut at %d", s.name, n, h.Cut.Offset)
				}
			}
			if len(h.Ops) > len(whole.Ops) {
				t.Errorf("%s cut to %d bytes: %d ops", s.name, n, len(h.Ops))
			}
		}
		if cuts == 0 {
			t.Errorf("%s: none of %d cuts was noticed", s.name, len(s.text))
		}
	}
}

// TestCutCompressed: a packed file that ends early is cut, not wrong.
func TestCutCompressed(t *testing.T) {
	var text strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&text, "{\"type\":\"ok\",\"process\":%d,\"value\":%d}\n", i%7, i*i*7919%100003)
	}
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	if _, err := io.WriteString(w, text.String()); err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	half := zipped.String()[:zipped.Len()/2]
	f := opened(t, half, Auto)
	ops := 0
	err := f.Each(context.Background(), func(*history.Event) error { ops++; return nil })
	if err != nil || f.Cut() == nil || ops < 5000 || ops > 15_000 {
		t.Errorf("%d ops, cut %v, error %v", ops, f.Cut(), err)
	}
	bad := []byte(zipped.String())
	bad[len(bad)-5] ^= 0x55 // the checksum
	if _, err := readText(t, Auto, string(bad)); err == nil || !strings.Contains(err.Error(), "cannot be read beyond byte") {
		t.Errorf("broken checksum: %v", err)
	}
	if _, err := readText(t, Auto, half[:5]); err == nil || !strings.Contains(err.Error(), "gzip header is cut off") {
		t.Errorf("half a header: %v", err)
	}
}

// endless gives the same text over and over, up to a limit.
type endless struct {
	text string
	at   int
	left int
}

func (e *endless) Read(p []byte) (int, error) {
	if e.left <= 0 {
		return 0, io.EOF
	}
	n := 0
	for n < len(p) {
		n += copy(p[n:], e.text[(e.at+n)%len(e.text):])
	}
	e.at += n
	e.left -= n
	return n, nil
}

var slow = flag.Bool("slow", false, "also run the limits that take hundreds of megabytes to reach")

// limit is an endless input, as text after start, and the error it ends in.
type limit struct{ name, start, text, want string }

// TestLimits: a huge token ends in an error, long before memory does.
func TestLimits(t *testing.T) {
	cases := []limit{
		{"json", `{"value":`, "[", "deep"},
	}
	if *slow {
		cases = append(cases,
			limit{"json", `{"value":"`, "a", "one op takes more than 64 MiB"},
			limit{"json", `{"value":[0`, ",0", "more than 4194304 values"},
			limit{"jsonl", `{"value":"`, "a", "one op takes more than 64 MiB"},
			limit{"history-txt", "1\t:ok\t:read\t\"", "a", "line takes more than 64 MiB"},
			limit{"plume", "w(1,", "1", "line takes more than 64 MiB"},
			limit{"etcd-log", "", "I", "line takes more than 64 MiB"},
			limit{"awdit", "", "-", "line takes more than 64 MiB"},
			limit{"kv-log", "", "[", "line takes more than 64 MiB"},
			limit{"dbcop", "- ", "- ", "takes more than 64 MiB"})
	}
	for _, c := range cases {
		k, _ := find(c.name)
		r := io.MultiReader(strings.NewReader(c.start), &endless{text: strings.Repeat(c.text, 4096), left: 1 << 30})
		var err error
		if k.sessions != nil {
			_, err = k.sessions(r)
		} else {
			_, err = k.ops(r, true).Read()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s of endless %q: %v, want %s", c.name, c.text, err, c.want)
		}
	}
}
