package format

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jepgo/jepgo/history"
)

// benchmark reads a history of some megabytes as events.
func benchmark(b *testing.B, name, text string) {
	path := filepath.Join(b.TempDir(), "history")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	events := 0
	for b.Loop() {
		f, err := Open(path, Auto)
		if err != nil || f.Format() != name {
			b.Fatal(err)
		}
		if err := f.Each(context.Background(), func(*history.Event) error { events++; return nil }); err != nil {
			b.Fatal(err)
		}
		f.Close()
	}
	b.ReportMetric(float64(events)/b.Elapsed().Seconds(), "ops/s")
}

const benchOps = 50_000

// appends is a list-append history.
func appends() string {
	var text strings.Builder
	for i := range benchOps {
		process := i % 20
		fmt.Fprintf(&text, "{:index %d, :time %d, :type :invoke, :process %d, :f :txn, :value [[:append %d %d] [:r %d nil]]}\n", 2*i, i*31_000, process, i%50, i, i%47)
		fmt.Fprintf(&text, "{:index %d, :time %d, :type :ok, :process %d, :f :txn, :value [[:append %d %d] [:r %d [%d %d %d]]]}\n", 2*i+1, i*31_000+9, process, i%50, i, i%47, i/3, i/2, i)
	}
	return text.String()
}

func BenchmarkEDN(b *testing.B) { benchmark(b, "edn", appends()) }

func BenchmarkJSON(b *testing.B) {
	benchmark(b, "json", converted(b, opened(b, appends(), "edn"), "json"))
}

func BenchmarkJSONHistory(b *testing.B) {
	text := converted(b, opened(b, appends(), "edn"), "jsonl")
	f := opened(b, text, Auto)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := f.History(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkConvertToJSON(b *testing.B) {
	text := appends()
	f := opened(b, text, Auto)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if err := Convert(context.Background(), f, "json", io.Discard); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkOthers(b *testing.B) {
	for _, format := range []struct{ name, line string }{
		{"jsonl", `{"process":%[1]d,"type":"OK","value":%[1]d,"f":"READ","time":1.651553369035E12,"nemesis":false,"fail":false,"latency":0.0,"subIndex":0,"index":-1,"position":0}`},
		{"history-txt", "%[1]d\t:ok\t:txn\t[[:append 3 %[1]d] [:r 3 [1 2 %[1]d]]]"},
		{"etcd-log", "INFO  jepsen.util - 3\t:ok\t:write\t%d"},
		{"kv-log", `{:process %[1]d, :type :ok, :f :get, :key "0", :value "x 0 %[1]d y"}`},
		{"plume", "w(%[1]d,7,5,%[1]d)"},
		{"awdit", "r %d 7\n-----"},
		{"dbcop", "- - events:\n    - write:    true\n      variable: %d\n      value:    1\n      success:  true\n    success:    true"},
	} {
		b.Run(format.name, func(b *testing.B) {
			var text strings.Builder
			for i := range benchOps {
				fmt.Fprintf(&text, format.line+"\n", i)
			}
			benchmark(b, format.name, text.String())
		})
	}
}
