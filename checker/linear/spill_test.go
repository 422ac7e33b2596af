package linear

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history"
)

// spilled judges a history with next to nothing in memory.
func spilled(t *testing.T, begin func(Options) checker.Stream, o Options, h *history.History) (checker.Result, *columns) {
	t.Helper()
	o.Records, o.TempDir = 1, t.TempDir()
	s := begin(o)
	for e := range h.Events() {
		s.Take(e)
	}
	c := s.(*stream).columns
	if list, err := os.ReadDir(o.TempDir); err != nil || len(list) > 0 {
		t.Fatalf("a file with a name: %v, %v", list, err)
	}
	r := s.Finish(context.Background(), h.Source())
	if c.journal.file != nil {
		t.Fatal("the temporary file was not closed")
	}
	return r, c
}

// TestSpillChangesNothing holds that verdict, explanation and statistics are the
// same when the operations went to a file piece by piece.
func TestSpillChangesNothing(t *testing.T) {
	counts, files := map[checker.Verdict]int{}, 0
	all := append(kinds(), kind{name: "keys", cas: true, misses: true, keys: 40, processes: 9, events: 300, values: 4},
		kind{name: "long", unique: true, cas: true, processes: 9, events: 400, values: 3})
	for seed := range *fuzzCount / 16 {
		rng := rand.New(rand.NewPCG(uint64(seed), 23))
		k := all[seed%len(all)]
		o := Options{NilAny: rng.IntN(3) == 0, Keyed: k.keys > 0, EmptyValid: true, Initial: history.Int(1)}
		if rng.IntN(2) == 0 {
			o.Initial = history.Value{}
		}
		h := randomHistory(rng, k, o)
		begin := RegisterStream
		if seed%5 == 0 {
			begin, o.Work = SequentialStream, 20_000
		}
		s := begin(o)
		for e := range h.Events() {
			s.Take(e)
		}
		want := s.Finish(context.Background(), h.Source())
		got, c := spilled(t, begin, o, h)
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("seed %d: spilled %+v, want %+v of\n%s", seed, got, want, textOf(h))
		}
		counts[want.Verdict]++
		if c.journal.end > 0 {
			files++
		}
	}
	if counts[checker.Valid] == 0 || counts[checker.Invalid] == 0 || files < *fuzzCount/32 {
		t.Errorf("too little was drawn: %v, %d in files", counts, files)
	}
}

// writes makes a history of so many writes, and a read of each value.
func writes(n int) *history.History {
	h := &history.History{}
	add := func(typ history.Type, f string, v history.Value) {
		h.Ops = append(h.Ops, history.Op{Index: history.Absent, Time: history.Absent, Type: typ, Process: history.Client(0), F: f, Value: v})
	}
	for i := range int64(n) {
		add(history.Invoke, "write", history.Int(i))
		add(history.OK, "write", history.Int(i))
		add(history.Invoke, "read", history.Value{})
		add(history.OK, "read", history.Int(i))
	}
	return h
}

// TestNoRoomForFile holds that a history is judged in memory where there is no
// place for a file, and that too long a one says why it is not.
func TestNoRoomForFile(t *testing.T) {
	nowhere := filepath.Join(t.TempDir(), "nowhere")
	h := writes(20_000)
	if r := Register(Options{Records: 1000, TempDir: nowhere}).Check(context.Background(), h); r.Verdict != checker.Valid {
		t.Errorf("in memory: %+v", r)
	}
	r := Register(Options{Records: 1000, TempDir: nowhere, Memory: 100_000}).Check(context.Background(), h)
	if r.Verdict != checker.Unknown || !strings.Contains(r.Reason, "memory limit of 97 KiB reached") || !strings.Contains(r.Reason, "nowhere") {
		t.Errorf("beyond memory: %+v", r)
	}
	full := "/dev/full"
	if _, err := os.Stat(full); err != nil {
		t.Skipf("SKIPPED: no %s", full)
	}
	c := newColumns(Options{Records: 1000, Memory: 100_000}.withDefaults(), registerModel())
	var err error
	if c.journal.file, err = os.OpenFile(full, os.O_RDWR, 0); err != nil {
		t.Fatal(err)
	}
	for e := range h.Events() {
		c.take(e)
	}
	if !strings.Contains(c.why, "no space left") {
		t.Errorf("disk full: %q", c.why)
	}
}

// TestFileChanged holds that a key is unknown when its operations are not what
// they were.
func TestFileChanged(t *testing.T) {
	h := writes(5000)
	for name, spoil := range map[string]func(f *os.File) error{
		"cut":      func(f *os.File) error { return f.Truncate(100) },
		"garbage":  func(f *os.File) error { return fill(f, 0xff) },
		"zero":     func(f *os.File) error { return fill(f, 0) },
		"a circle": func(f *os.File) error { return fill(f, 1) },
	} {
		s := RegisterStream(Options{Records: 1000}).(*stream)
		for e := range h.Events() {
			s.Take(e)
		}
		if err := spoil(s.columns.journal.file); err != nil {
			t.Fatal(err)
		}
		if r := s.Finish(context.Background(), h.Source()); r.Verdict == checker.Valid {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

func fill(f *os.File, b byte) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	text := make([]byte, info.Size())
	for i := range text {
		text[i] = b
	}
	_, err = f.WriteAt(text, 0)
	return err
}

// TestTooLargeForCalls holds that a key whose operations do not fit into memory at
// once is judged all the same when no value is set twice, with a witness that
// stands.
func TestTooLargeForCalls(t *testing.T) {
	h := writes(20_000)
	o := Options{Records: 1000, Memory: 1_500_000}
	if r := Register(o).Check(context.Background(), h); r.Verdict != checker.Valid {
		t.Fatalf("valid: %+v", r)
	}
	for i := range h.Ops {
		if op := &h.Ops[i]; op.Type == history.OK && op.F == "read" && op.Value.Equal(history.Int(15_000)) {
			op.Value = history.Int(7)
		}
	}
	c := Register(o)
	r := c.Check(context.Background(), h)
	if r.Verdict != checker.Invalid {
		t.Fatalf("stale read: %+v", r)
	}
	if want := "read of 7 by process 0"; !strings.Contains(r.Anomalies[0].Message, want) {
		t.Errorf("%q is not said in: %s", want, r.Anomalies[0].Message)
	}
	witnessStands(t, c, o, r)
	want := Register(Options{}).Check(context.Background(), h)
	if !reflect.DeepEqual(r.Anomalies, want.Anomalies) {
		t.Errorf("with little memory:\n%+v\nwith enough:\n%+v", r.Anomalies, want.Anomalies)
	}
	h.Ops[4].Value, h.Ops[5].Value = history.Int(0), history.Int(0)
	if r := Register(o).Check(context.Background(), h); r.Verdict != checker.Unknown || !strings.Contains(r.Reason, "its operations at once need 4 MiB") {
		t.Errorf("set twice: %+v", r)
	}
}
