package history

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// event is what an Event says, off its tape.
type event struct {
	position int
	op       Op
}

// scanned is all that a Scan tells.
type scanned struct {
	events []event
	err    error
}

// scanAll takes all events of s.
func scanAll(s *Scan) scanned {
	var got scanned
	got.err = s.Each(context.Background(), func(e *Event) error {
		got.events = append(got.events, event{e.Position, e.Op()})
		return nil
	})
	return got
}

// differs says in what s differs from what ReadAll read; "" when in nothing.
func differs(s *Scan, h *History, err error) string {
	diff, n := "", 0
	got := s.Each(context.Background(), func(e *Event) error {
		switch op := e.Op(); {
		case diff != "":
		case n >= len(h.Ops):
			diff = fmt.Sprintf("op %d is too much: %s", n, op.String())
		case e.Position != n || !sameOps(&op, &h.Ops[n]):
			diff = fmt.Sprintf("op %d at position %d is\n%#v, want\n%#v", n, e.Position, op, h.Ops[n])
		}
		n++
		return nil
	})
	if got, want := fmt.Sprint(got), fmt.Sprint(err); got != want {
		return fmt.Sprintf("error is %s, want %s", got, want)
	}
	if got, want := fmt.Sprint(s.Skipped()), fmt.Sprint(h.Skipped); got != want {
		return fmt.Sprintf("%s skipped, want %s", got, want)
	}
	if got, want := fmt.Sprint(s.Cut()), fmt.Sprint(h.Cut); got != want {
		return fmt.Sprintf("cut is %s, want %s", got, want)
	}
	if diff == "" && n != len(h.Ops) {
		diff = fmt.Sprintf("%d ops, want %d", n, len(h.Ops))
	}
	return diff
}

// sameOps compares ops part by part; unlike equalOps it tells 1 from 1.0.
func sameOps(a, b *Op) bool {
	sameFields := func(x, y Field) bool { return x.Key == y.Key && sameValues(x.Value, y.Value) }
	return a.Index == b.Index && a.Time == b.Time && a.Type == b.Type && a.Process == b.Process && a.F == b.F &&
		a.Node == b.Node && a.Tag == b.Tag && sameValues(a.Value, b.Value) && sameValues(a.Error, b.Error) &&
		slices.EqualFunc(a.Extra, b.Extra, sameFields)
}

func sameValues(v, w Value) bool {
	return v.kind == w.kind && v.num == w.num && v.str == w.str && slices.EqualFunc(v.list, w.list, sameValues)
}

// readSerial reads text by the general reader alone, from its start to its end.
func readSerial(text []byte) (*History, error) {
	h := &History{Ops: make([]Op, 0, 1+bytes.Count(text, []byte("\n")))}
	source, err := unpack(bytes.NewReader(text))
	if err != nil {
		return h, err
	}
	defer source.close()
	r := newEDNReader(source)
	r.skips = true
	for {
		op, err := r.Read()
		h.Skipped = r.skipped
		if err == io.EOF || errors.As(err, &h.Cut) {
			return h, nil
		}
		if err != nil {
			return h, err
		}
		h.Ops = append(h.Ops, op)
	}
}

// checkScan compares a Scan of text, and a reading of it in chunks, with a serial
// reading.
func checkScan(text []byte, workers, size int) error {
	h, err := readSerial(text)
	return checkAgainst(h, err, text, workers, size)
}

// checkAgainst is checkScan with what a serial reading gave.
func checkAgainst(h *History, readErr error, text []byte, workers, size int) error {
	whole := &History{}
	err := readEDN(bytes.NewReader(text), whole, supplyOptions{workers: workers, chunk: size})
	if len(whole.Ops) != len(h.Ops) || fmt.Sprint(err, whole.Cut, whole.Skipped) != fmt.Sprint(readErr, h.Cut, h.Skipped) {
		return fmt.Errorf("in chunks: %d ops, error %v, cut %v, %v; want %d, %v, %v, %v", len(whole.Ops), err, whole.Cut, whole.Skipped, len(h.Ops), readErr, h.Cut, h.Skipped)
	}
	for i := range h.Ops {
		if !sameOps(&h.Ops[i], &whole.Ops[i]) {
			return fmt.Errorf("in chunks: op %d is\n%#v, want\n%#v", i, whole.Ops[i], h.Ops[i])
		}
	}
	s, err := NewScan(bytes.NewReader(text), ScanOptions{Workers: workers})
	if err != nil {
		return err
	}
	defer s.Close()
	s.chunkSize = size
	if size < 1000 {
		s.every = 1 + size%5
	}
	for again := range 2 {
		if again > 0 && len(h.Ops) > 5000 {
			break // a shorter history shows as well that a Scan begins anew
		}
		if diff := differs(s, h, readErr); diff != "" {
			return errors.New(diff)
		}
	}
	if s.Count() != len(h.Ops) {
		return fmt.Errorf("count is %d, want %d", s.Count(), len(h.Ops))
	}
	var positions []int
	for at := len(h.Ops) - 1; at >= 0; at -= 1 + at/7 {
		positions = append(positions, at, len(h.Ops)-1-at, at)
	}
	ops, err := s.Ops(positions)
	if err != nil {
		return err
	}
	for i, at := range positions {
		if !sameOps(&ops[i], &h.Ops[at]) {
			return fmt.Errorf("op at %d is\n%#v, want\n%#v", at, ops[i], h.Ops[at])
		}
	}
	return nil
}

func unpackAll(packed []byte) ([]byte, error) {
	text, err := unpack(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	defer text.close()
	return io.ReadAll(text)
}

func TestScanOutside(t *testing.T) {
	s, err := NewScan(strings.NewReader("{:index 0}"), ScanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	scanAll(s)
	for _, at := range []int{-1, 1} {
		if _, err := s.Ops([]int{at}); err == nil || !strings.Contains(err.Error(), "outside the history of 1 ops") {
			t.Errorf("position %d: error %v", at, err)
		}
	}
}

// layouts draws the text of a history in any of the shapes that occur, and in
// some that do not.
func layouts() *rapid.Generator[string] {
	gaps := rapid.SampledFrom([]string{"\n", "\n", "\n", " ", ", ", "\r\n", "\n\n  ", "", " ; {:index 1}\n", "\n; }\n", " #_ {:index 7} ", "\n#_ []\n", "\n#! {\n"})
	prefixes := rapid.SampledFrom([]string{"", "", "", "", "#jepsen.history.Op", "#knossos.op.Op ", "^{:a 1} ", "#x ^:y ", "#:n"})
	plain := rapid.SampledFrom([]string{
		"{:type :invoke, :f :txn, :value [[:append 3 1] [:r 3 nil]], :process 1, :time 12, :index 4}",
		"{:index 0, :time 1, :type :ok, :process 3, :f :read, :value 17, :node \"n1\", :error [:x \"y\"]}",
		"{:type :info, :f :kill, :value (\"n5\" \"n4\"), :process :nemesis}",
		"{:value #{1 2 3 1}, :f :read,\n :type :ok\n, :process 2}",
		"{:value {0 10, 1 90}, :f :read :extra {:a {:b [true false nil]}}}",
		"{:value \"a \\\" } {\n{:type :ok}\n\", :type :ok}",
		"{:value 1.5, :x ##NaN, :type :fail}",
		"{:type \"ok\", :f [:foo :start], :process \"nemesis\", :value \\}}",
		"{:type :ok, :type :fail, :value {1 2 1 3}}",
		"{:value ; } {\n [1 ; ]\n 2]}",
		"{:process 12345678901234567890 :time -5 :index 007 :value [-0 -12 +3 01 1e3 9223372036854775807 -9223372036854775808]}",
		"{:value {:a 1 :b 2 :c 3 :d 4 :e 5 :f 6 :g 7 :h 8 :i 9 :a 0}}",
		"{:value #{9 8 7 6 5 4 3 2 1 0 5}}",
		"{}",
		"{:é \"é\" :f :é, :value [:é é \\é]}",
		"{:type :sleep}", "{:typed 1, :fo 2, :valued 3, :i 4, :processes 5, :index nil}",
	})
	ops := rapid.OneOf(plain, plain, rapid.Map(anyOp(), func(op Op) string { return op.String() }))
	return rapid.Custom(func(t *rapid.T) string {
		text := rapid.SampledFrom([]string{"", "", "", "\ufeff", "; head\n", "\n\n", " #_ [1] "}).Draw(t, "start")
		shape := rapid.SampledFrom([]string{"", "", "[]", "()", "[\n  ]"}).Draw(t, "shape")
		text += strings.TrimRight(shape, ")]")
		for range rapid.IntRange(0, 30).Draw(t, "ops") {
			text += prefixes.Draw(t, "prefix") + ops.Draw(t, "op") + gaps.Draw(t, "gap")
		}
		if shape != "" {
			text += shape[len(shape)-1:] + rapid.SampledFrom([]string{"", "\n", " ; end", "\n{:index 1}"}).Draw(t, "end")
		}
		for range rapid.IntRange(-3, 3).Draw(t, "damages") {
			at := rapid.IntRange(0, len(text)).Draw(t, "at")
			text = text[:at] + rapid.SampledFrom([]string{"]", "}", ")", "{", "\"", "\x00", "\x00\x00\x00", ":weird key", ";", "x", "#<a b>", "\n"}).Draw(t, "junk") + text[at:]
		}
		switch rapid.IntRange(0, 9).Draw(t, "end") {
		case 0:
			text = text[:rapid.IntRange(0, len(text)).Draw(t, "cut")]
		case 1:
			text += "\x00\x00\x00"
		}
		return text
	})
}

// A Scan reads what a serial reader reads, and so does ReadAll, whatever the layout, the number of workers
// and the places where the text is parted.
func TestScanIsSerial(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := layouts().Draw(t, "text")
		workers := rapid.IntRange(1, 3).Draw(t, "workers")
		size := rapid.OneOf(rapid.IntRange(1, 40), rapid.IntRange(1, 1000)).Draw(t, "chunk")
		if err := checkScan([]byte(text), workers, size); err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
	})
}
