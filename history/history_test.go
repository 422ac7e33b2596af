package history

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestPairs(t *testing.T) {
	tests := []struct {
		name, text string
		want       []Pair
	}{
		{"nothing", "", nil},
		{"one after another", "{:process 0 :type :invoke}{:process 0 :type :ok}{:process 0 :type :invoke}{:process 0 :type :fail}", []Pair{{0, 1}, {2, 3}}},
		{"at once", "{:process 0 :type :invoke}{:process 1 :type :invoke}{:process 1 :type :info}{:process 0 :type :ok}", []Pair{{0, 3}, {1, 2}}},
		{"no completion", "{:process 0 :type :invoke}{:process 1 :type :invoke}{:process 1 :type :ok}", []Pair{{0, -1}, {1, 2}}},
		{"no invocation", "{:process 0 :type :ok}{:process 0 :type :ok}", []Pair{{-1, 0}, {-1, 1}}},
		{"two open", "{:process 0 :type :invoke}{:process 0 :type :invoke}{:process 0 :type :ok}{:process 0 :type :ok}", []Pair{{0, -1}, {1, 2}, {-1, 3}}},
		{"not clients", "{:process :nemesis :type :info}{:type :invoke}{:process :jepgo :type :info}{:process \"0\" :type :invoke}", nil},
		{"negative process", "{:process -1 :type :invoke}{:process 1 :type :ok}{:process -1 :type :ok}", []Pair{{0, 2}, {-1, 1}}},
	}
	for _, tt := range tests {
		if got := readString(t, tt.text).Pairs(); !slices.Equal(got, tt.want) {
			t.Errorf("%s: pairs %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestReadFile(t *testing.T) {
	dir := t.TempDir()
	const text = "{:index 0}\n{:index 1}\n"
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	for i := range 20_000 {
		fmt.Fprintf(w, "{:index %d, :value %d}\n", i, i*i%7919)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, text string
		ops        int
		cut        bool
		want       string
	}{
		{"plain.edn", text, 2, false, ""},
		{"empty.edn", "", 0, false, ""},
		{"cut.edn", text[:15], 1, true, ""},
		{"whole.edn.gz", zipped.String(), 20_000, false, ""},
		{"cut.edn.gz", zipped.String()[:zipped.Len()-5000], -1, true, ""},
		{"header.edn.gz", zipped.String()[:5], 0, false, `header.edn.gz": gzip header is cut off`},
		{"false.edn.gz", "\x1f\x8bxxxxxxxxxxxxx", 0, false, `false.edn.gz": gzip header cannot be read`},
		{"binary.edn", text + "\x7fELF", 2, false, `binary.edn": line 3, column 1 (byte 22): unexpected byte 0x7f`},
	}
	for _, tt := range tests {
		path := filepath.Join(dir, tt.name)
		if err := os.WriteFile(path, []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
		h, err := ReadFile(path)
		if (err != nil) != (tt.want != "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %q", tt.name, err, tt.want)
		}
		if n := len(h.Ops); (tt.ops >= 0 && n != tt.ops) || n > 20_000 || tt.ops < 0 && n == 0 || (h.Cut != nil) != tt.cut {
			t.Errorf("%s: %d ops, cut %v", tt.name, n, h.Cut)
		}
	}
	if _, err := ReadFile(dir); err == nil || !strings.Contains(err.Error(), "is a directory, expected a file such as history.edn") {
		t.Errorf("a directory: error %v", err)
	}
	none := filepath.Join(dir, "none.edn")
	if _, err := ReadFile(none); !errors.Is(err, fs.ErrNotExist) || strings.Count(err.Error(), none) != 1 {
		t.Errorf("no file: error %v", err)
	}
}

// The fixtures are written by hand after files that circulate; each says what it
// holds.
func TestFixtures(t *testing.T) {
	tests := []struct {
		file               string
		ops, pairs, extras int
		cut                bool
	}{
		{"jepgo.edn", 11, 4, 7, false},
		{"record-vector.edn", 4, 2, 0, false},
		{"nemesis-values.edn", 6, 1, 3, false},
		{"pretty-list.edn", 3, 2, 0, false},
		{"cut.edn", 2, 1, 0, true},
	}
	for _, tt := range tests {
		h, err := ReadFile(filepath.Join("testdata", tt.file))
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		extras := 0
		for i := range h.Ops {
			extras += len(h.Ops[i].Extra)
		}
		if len(h.Ops) != tt.ops || len(h.Pairs()) != tt.pairs || extras != tt.extras || (h.Cut != nil) != tt.cut {
			t.Errorf("%s: %d ops, %d pairs, %d extras, cut %v; want %+v", tt.file, len(h.Ops), len(h.Pairs()), extras, h.Cut, tt)
		}
	}
}

// What jepgo itself writes comes back byte for byte.
func TestOwnFileComesBack(t *testing.T) {
	path := filepath.Join("testdata", "jepgo.edn")
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	h, err := ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var got []byte
	for i := range h.Ops {
		got = EDN().Append(got, &h.Ops[i])
	}
	if !bytes.Equal(got, want) {
		t.Errorf("read and written again:\n%s", got)
	}
}

func TestProcess(t *testing.T) {
	if n, ok := Client(3).Client(); n != 3 || !ok {
		t.Errorf("client 3 is %d, %t", n, ok)
	}
	if Client(0).IsZero() || !(Process{}).IsZero() || Nemesis().IsClient() {
		t.Error("client 0, no process and nemesis are mixed up")
	}
	for p, want := range map[Process]string{Client(-3): "-3", Nemesis(): ":nemesis", {}: "nil"} {
		if p.String() != want {
			t.Errorf("%#v is %s, want %s", p, p, want)
		}
	}
}

func TestNumbers(t *testing.T) {
	wei, _ := new(big.Int).SetString("340282366920938463463374607431768211456", 10)
	for _, n := range []*big.Int{wei, new(big.Int).Neg(wei), big.NewInt(42), big.NewInt(math.MinInt64)} {
		v := BigOf(n)
		if got, ok := v.Big(); !ok || got.Cmp(n) != 0 {
			t.Errorf("%s comes back as %v, %t", n, got, ok)
		}
		if _, ok := v.Int(); ok != n.IsInt64() {
			t.Errorf("%s fits in 64 bits: %t", n, ok)
		}
		if again := readValue(t, v.String()); !again.Equal(v) {
			t.Errorf("%s is written as %s, which reads as %s", n, v, again)
		}
	}
	for _, v := range []Value{FloatOf(1), number("1/3"), number("1.5M"), Text("1"), {}} {
		if n, ok := v.Big(); ok {
			t.Errorf("%s is the integer %s", v, n)
		}
	}
	for _, v := range []Value{FloatOf(2.5), Int(2), Text("2")} {
		want := map[Kind]float64{Float: 2.5, Integer: 2}[v.Kind()]
		if f, ok := v.Float(); f != want || ok != (v.Kind() != String) {
			t.Errorf("%s is the float %v, %t", v, f, ok)
		}
	}
}

// median returns the middle of ns, and sorts them.
func median(ns []int64) int64 {
	slices.Sort(ns)
	return ns[len(ns)/2]
}

func BenchmarkReadEDN(b *testing.B) {
	var text []byte
	const ops = 20_000
	for i := range int64(ops) {
		op := sampleOp(i)
		op.Index, op.Time = i, i*1000
		text = EDN().Append(text, &op)
	}
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		r := EDN().Reader(bytes.NewReader(text))
		n := 0
		for {
			if _, err := r.Read(); err != nil {
				break
			}
			n++
		}
		if n != ops {
			b.Fatalf("%d ops", n)
		}
	}
	b.ReportMetric(float64(ops)*float64(b.N)/b.Elapsed().Seconds(), "ops/s")
}

func BenchmarkAppendEDN(b *testing.B) {
	op := sampleOp(1)
	var line []byte
	b.ReportAllocs()
	for b.Loop() {
		line = EDN().Append(line[:0], &op)
	}
	b.SetBytes(int64(len(line)))
}
