package format

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/jepgo/jepgo/history"
	"github.com/jepgo/jepgo/history/historytest"
)

// fileOf opens text as if it came through a pipe.
func opened(t testing.TB, text, name string) *File {
	t.Helper()
	f, err := open("-", name, strings.NewReader(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func converted(t testing.TB, f *File, to string) string {
	t.Helper()
	var out bytes.Buffer
	if err := Convert(context.Background(), f, to, &out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// names draws names that both EDN and JSON keep.
func names() *rapid.Generator[string] {
	return rapid.StringMatching(`[a-z*!_?$%&=<>.][a-z0-9*!_?$%&=<>.+-]{0,6}(/[a-zé][a-z0-9]{0,4})?`)
}

// heldValue draws values that JSON can hold.
func heldValue(depth int) *rapid.Generator[history.Value] {
	scalars := rapid.OneOf(
		rapid.Just(history.Value{}),
		rapid.Map(rapid.Bool(), history.Flag),
		rapid.Map(rapid.Int64(), history.Int),
		rapid.Map(rapid.Int64Range(-20, 20), history.Int),
		rapid.Map(rapid.Float64(), history.FloatOf),
		rapid.Map(rapid.SampledFrom([]float64{0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), 1e21, 1e20, 5e-324, 1e-7}), history.FloatOf),
		rapid.Map(rapid.String().Filter(func(s string) bool { return !strings.HasPrefix(s, ":") }), history.Text),
		rapid.Map(names(), history.Keyword),
	)
	if depth == 0 {
		return scalars
	}
	inner := rapid.Deferred(func() *rapid.Generator[history.Value] { return heldValue(depth - 1) })
	keys := rapid.OneOf(
		rapid.Map(rapid.Int64(), history.Int),
		rapid.Map(rapid.Int64Range(0, 9), history.Int),
		rapid.Map(names(), history.Keyword),
		rapid.Map(rapid.SampledFrom([]string{"two words", "", "007", "-0", "1.5", "a:b", "+1"}), history.Text),
	)
	microOp := rapid.Custom(func(t *rapid.T) history.Value {
		name := rapid.SampledFrom([]string{"append", "r", "w"}).Draw(t, "name")
		return history.Vec(history.Keyword(name), inner.Draw(t, "key"), inner.Draw(t, "elem"))
	})
	return rapid.OneOf(
		scalars,
		rapid.Map(rapid.SliceOfN(inner, 0, 8), func(vs []history.Value) history.Value { return history.Vec(vs...) }),
		rapid.Map(rapid.SliceOfN(microOp, 0, 4), func(vs []history.Value) history.Value { return history.Vec(vs...) }),
		rapid.Custom(func(t *rapid.T) history.Value {
			var kvs []history.Value
			for _, key := range rapid.SliceOfNDistinct(keys, 0, 40, history.Value.Key).Draw(t, "keys") {
				kvs = append(kvs, key, inner.Draw(t, "value"))
			}
			return history.MapOf(kvs...)
		}),
	).Filter(isHeld)
}

// isHeld leaves out the one string in a place where JSON's reader takes it for the
// name of a micro-op.
func isHeld(v history.Value) bool {
	for _, e := range v.Elems() {
		first := e.Elems()
		if v.Kind() == history.Vector && e.Kind() == history.Vector && len(first) > 0 &&
			first[0].Kind() == history.String && isMicroOp(first[0].Text(), len(first)) {
			return false
		}
	}
	return true
}

func heldOp() *rapid.Generator[history.Op] {
	processes := rapid.OneOf(
		rapid.Just(history.Process{}),
		rapid.Map(rapid.Int64(), history.Client),
		rapid.Map(names(), history.Named),
	)
	values := heldValue(3)
	return rapid.Custom(func(t *rapid.T) history.Op {
		op := history.Op{
			Index:   rapid.Int64().Draw(t, "index"),
			Time:    rapid.Int64().Draw(t, "time"),
			Type:    rapid.SampledFrom([]history.Type{0, history.Invoke, history.OK, history.Fail, history.Info}).Draw(t, "type"),
			Process: processes.Draw(t, "process"),
			F:       rapid.OneOf(names(), rapid.Just("[:foo :start]"), rapid.Just("")).Draw(t, "f"),
			Value:   values.Draw(t, "value"),
			Error:   values.Draw(t, "error"),
			Node:    rapid.StringMatching(`[a-z0-9.:]{0,5}`).Draw(t, "node"),
			Tag:     rapid.OneOf(names(), rapid.Just("")).Draw(t, "tag"),
		}
		for _, key := range rapid.SliceOfDistinct(names(), func(s string) string { return s }).Draw(t, "extras") {
			if !isField(key) {
				op.Set(key, values.Draw(t, "extra"))
			}
		}
		return op
	})
}

// TestConvertRoundTrip: EDN that became JSON comes back as it was, and is JSON in
// the eyes of Go's own reader too.
func TestConvertRoundTrip(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		ops := rapid.SliceOfN(heldOp(), 0, 4).Draw(rt, "ops")
		var text []byte
		for i := range ops {
			text = history.EDN().Append(text, &ops[i])
		}
		to := rapid.SampledFrom([]string{"json", "jsonl"}).Draw(rt, "to")
		middle := converted(t, opened(t, string(text), "edn"), to)
		if to == "json" && !json.Valid([]byte(middle)) {
			rt.Fatalf("not JSON:\n%s", middle)
		}
		back := converted(t, opened(t, middle, "json"), "edn")
		h, err := history.ReadAll(strings.NewReader(back), history.EDN())
		if err != nil || h.Cut != nil || len(h.Ops) != len(ops) {
			rt.Fatalf("%v, cut %v\n%s", err, h.Cut, back)
		}
		for i := range ops {
			if !sameOps(&h.Ops[i], &ops[i]) || !sameKinds(h.Ops[i].Value, ops[i].Value) {
				rt.Fatalf("op\n%s became\n%s\nby way of\n%s", ops[i].String(), h.Ops[i].String(), middle)
			}
		}
	})
}

// sameKinds reports whether equal values are also of the same kinds: 1 is not 1.0.
func sameKinds(a, b history.Value) bool {
	if a.Kind() != b.Kind() || len(a.Elems()) != len(b.Elems()) {
		return false
	}
	for i := range a.Elems() {
		if !sameKinds(a.Elems()[i], b.Elems()[i]) {
			return false
		}
	}
	return true
}

// TestConvertCorpus converts every JSON file to EDN and back, and every small EDN
// file to JSON and back, where that is said to lose nothing.
func TestConvertCorpus(t *testing.T) {
	seen := map[string]bool{}
	same, lossy := 0, 0
	for _, row := range historytest.Rows(t) {
		if row.Format != "jepsen-edn" && row.Format != "jepsen-json" || seen[row.Name] || number(t, row, "bytes") > 100_000 {
			continue
		}
		seen[row.Name] = true
		h := whole(t, row.Path)
		f, err := Open(row.Path, Auto)
		if err != nil {
			t.Fatal(err)
		}
		back := opened(t, converted(t, opened(t, converted(t, f, "json"), "json"), "edn"), "edn")
		got, err := back.History()
		if err != nil || len(got.Ops) != len(h.Ops) {
			t.Errorf("%s: %v, %d of %d ops", row.Name, err, len(got.Ops), len(h.Ops))
			continue
		}
		differ := false
		for i := range h.Ops {
			g, w := &got.Ops[i], &h.Ops[i]
			if sameOps(g, w) {
				continue
			}
			differ = true
			if w.Process.IsClient() && !g.Value.Equal(asVectors(w.Value)) {
				t.Errorf("%s: op\n%s became\n%s", row.Name, w.String(), g.String())
				break
			}
		}
		if same++; differ {
			same--
			lossy++
		}
	}
	t.Logf("%d files come back as they were, %d but for what JSON cannot say", same, lossy)
	if same < 10*lossy {
		t.Error("too few files come back as they were")
	}
}

// asVectors puts a vector in the place of every set.
func asVectors(v history.Value) history.Value {
	if k := v.Kind(); k != history.Vector && k != history.List && k != history.Set {
		return v
	}
	var elems []history.Value
	for _, e := range v.Elems() {
		elems = append(elems, asVectors(e))
	}
	return history.Vec(elems...)
}

// failing is a disk that is full.
type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, os.ErrClosed }

func TestConvertFails(t *testing.T) {
	f := opened(t, "{:type :ok}\n", Auto)
	if err := Convert(context.Background(), f, "xml", &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "edn, json, jsonl") {
		t.Errorf("unknown target: %v", err)
	}
	if err := Convert(context.Background(), f, "json", failing{}); !errors.Is(err, os.ErrClosed) {
		t.Errorf("full disk: %v", err)
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if err := Convert(ended, f, "json", &bytes.Buffer{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	path := filepath.Join(t.TempDir(), "bad")
	if err := os.WriteFile(path, []byte("{:type :ok}\n)"), 0o600); err != nil {
		t.Fatal(err)
	}
	bad, err := Open(path, Auto)
	if err != nil {
		t.Fatal(err)
	}
	var syntax *history.SyntaxError
	if err := Convert(context.Background(), bad, "json", &bytes.Buffer{}); !errors.As(err, &syntax) || syntax.Line != 2 || !strings.Contains(err.Error(), path) {
		t.Errorf("bad input: %v", err)
	}
}
