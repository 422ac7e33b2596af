package history

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
)

// counting is a sink that counts.
type counting struct{ inChunks, single int }

func (c *counting) chunk(of *chunk, _ int64) error { c.inChunks += of.count(); return nil }

func (c *counting) op(*Op, int64) error { c.single++; return nil }

// In the layouts that programs and people write, chunks are parted between ops: all
// of them but the few next to the brackets are parsed in chunks.
func TestSplit(t *testing.T) {
	const ops = 3000
	for _, tt := range []struct{ name, open, op, between, end string }{
		{"lines", "", "{:index %d, :value [[:r 1 nil]]}", "\n", "\n"},
		{"lines with CRLF", "", "{:index %d, :value [[:r 1 nil]]}", "\r\n", "\r\n"},
		{"records", "", "#jepsen.history.Op{:index %d, :value [[:r 1 nil]]}", "\n", "\n"},
		{"vector", "[", "{:index %d, :value [[:r 1 nil]]}", "\n ", "]\n"},
		{"vector with commas", "[", "{:index %d, :value [[:r 1 nil]]}", ",\n", "]\n"},
		{"indented list", "(\n  ", "{:index %d, :value [[:r 1 nil]]}", "\n  ", ")"},
		{"pretty", "[", "{:index %d,\n  :value\n  [[:r 1 nil]\n   {:a\n    {:b 2}}]}", "\n ", "]"},
		{"errors", "", "{:index %d, :error #error {\n :cause 1\n :via\n [{:type a.B}\n  {:type a.C}]}}", "\n", "\n"},
		{"comments", "", "{:index %d} ; {:index 1}", "\n;; {:index 2}\n", "\n"},
		{"one line", "[", "{:index %d, :value [[:r {:a 1} nil]]}", " ", "]"},
		{"longer than a chunk", "", "{:index %d, :value [" + strings.Repeat("12345 ", 1000) + "]}", "\n", "\n"},
	} {
		var text bytes.Buffer
		text.WriteString(tt.open)
		for i := range ops {
			if i > 0 {
				text.WriteString(tt.between)
			}
			fmt.Fprintf(&text, tt.op, i)
		}
		text.WriteString(tt.end)
		got := &counting{}
		if _, err := run(context.Background(), &text, got, supplyOptions{workers: 2, chunk: 4 << 10}); err != nil {
			t.Fatal(err)
		}
		if got.inChunks+got.single != ops || got.single > 1 {
			t.Errorf("%s: %d ops in chunks, %d single ones; want %d in all and at most one single", tt.name, got.inChunks, got.single, ops)
		}
	}
}

// What a chunk leaves to the next one stays short even where each line looks less
// like the start of an op than the one before it.
func TestSplitBound(t *testing.T) {
	var text []byte
	for i := range 3000 {
		text = fmt.Appendf(text, "%*s{}\n", i%1000, "")
	}
	const size = 4 << 10
	s := newSupply(bytes.NewReader(text), supplyOptions{workers: 1, chunk: size})
	defer s.stop()
	read := 0
	for c := s.next(); c != nil; c = s.next() {
		if read += c.n; len(c.padded) > 2*longChunk*size {
			t.Fatalf("a chunk has %d bytes, with %d read at a time", len(c.padded), size)
		}
		s.release(c)
	}
	if read != len(text) {
		t.Errorf("%d bytes in chunks, want %d", read, len(text))
	}
}
