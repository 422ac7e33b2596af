package chain_test

import (
	"bytes"
	"context"
	"runtime"
	"runtime/debug"
	"slices"
	"testing"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/checker/chain"
	"github.com/jepgo/jepgo/gen"
	"github.com/jepgo/jepgo/history"
)

// BenchmarkMillionOps judges a million ops (heads, bodies, receipts, logs, calls)
// with all chain checkers at once, on one core: the time of judging alone, and of
// reading the EDN too. B/op of Go is of all ops; bytes/histop is what the checkers
// hold at the end, for each op.
func BenchmarkMillionOps(b *testing.B) {
	const million = 1_000_000
	var text bytes.Buffer
	if err := gen.Write(context.Background(), &text, gen.Options{Workload: "chain", Ops: million * 42 / 100, Clients: 20}); err != nil {
		b.Fatal(err)
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	b.Run("read and judge", func(b *testing.B) { readAndJudge(b, text.Bytes(), true) })
	b.Run("read", func(b *testing.B) { readAndJudge(b, text.Bytes(), false) })
}

func readAndJudge(b *testing.B, text []byte, judges bool) {
	ops := 0
	held := 0.0
	spent := 0.0
	for b.Loop() {
		before := heap()
		scan, err := history.NewScan(bytes.NewReader(text), history.ScanOptions{Workers: 1})
		if err != nil {
			b.Fatal(err)
		}
		began := cpuSeconds()
		var streams []checker.Stream
		if judges {
			streams = chain.Streams(chain.Options{FinalTag: "latest"})
		}
		pass := checker.NewPass(streams...)
		err = scan.Each(context.Background(), func(e *history.Event) error {
			pass.Take(e)
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
		ops = scan.Count()
		results, _ := pass.Finish(context.Background(), scan)
		spent += cpuSeconds() - began
		b.StopTimer()
		held = (heap() - before) / float64(ops)
		b.StartTimer()
		for _, r := range results {
			if r.Verdict != checker.Valid && !slices.Contains(unfed, r.Checker) {
				b.Fatalf("%s: %v: %s %+v", r.Checker, r.Verdict, r.Reason, r.Anomalies)
			}
		}
		runtime.KeepAlive(pass)
		scan.Close()
	}
	b.ReportMetric(float64(ops), "histops")
	b.ReportMetric(float64(ops)*float64(b.N)/spent, "ops/cpu-s")
	b.ReportMetric(held, "bytes/histop")
}

// heap is what is in use after a collection.
func heap() float64 {
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}
