package chain_test

import (
	"bytes"
	"context"
	"flag"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"runtime/pprof"
	"slices"
	"testing"
	"time"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/checker/chain"
	"github.com/jepgo/jepgo/gen"
	"github.com/jepgo/jepgo/history"
)

var (
	benchOps     = flag.Int("chain.ops", 1_000_000, "ops of the history of BenchmarkMillionOps, about")
	benchProfile = flag.String("chain.profile", "", "write a profile of judging alone there")
)

// BenchmarkMillionOps judges a million ops (heads, bodies, receipts, logs, calls)
// with all chain checkers at once, on one core: in processor time reading the EDN
// too, and judging alone (the difference to reading alone). Peak is the most that
// the process had from the system beyond what it had before, held what the checkers
// hold at the end.
func BenchmarkMillionOps(b *testing.B) {
	var text bytes.Buffer
	// An operation is two ops, and the final phase adds a third of them.
	if err := gen.Write(context.Background(), &text, gen.Options{Workload: "chain", Ops: *benchOps * 42 / 135, Clients: 20}); err != nil {
		b.Fatal(err)
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var read, m measured
	for b.Loop() {
		read = readAndJudge(b, text.Bytes(), false)
		m = readAndJudge(b, text.Bytes(), true)
	}
	ops := float64(m.ops)
	b.ReportMetric(ops, "histops")
	b.ReportMetric(ops/m.cpu, "ops/cpu-s")
	b.ReportMetric(ops/(m.cpu-read.cpu), "judged/cpu-s")
	b.ReportMetric(m.peak/ops, "peak-B/histop")
	b.ReportMetric(m.held/ops, "held-B/histop")
}

type measured struct {
	ops             int
	cpu, peak, held float64
}

// heap is what is in use after a collection.
func heap() float64 {
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

func readAndJudge(b *testing.B, text []byte, judges bool) (m measured) {
	before := heap()
	scan, err := history.NewScan(bytes.NewReader(text), history.ScanOptions{Workers: 1})
	if err != nil {
		b.Fatal(err)
	}
	defer scan.Close()
	var streams []checker.Stream
	if judges {
		streams = chain.Streams(chain.Options{FinalTag: "latest"})
		if *benchProfile != "" {
			f, err := os.Create(*benchProfile)
			if err != nil {
				b.Fatal(err)
			}
			defer f.Close()
			if err := pprof.StartCPUProfile(f); err != nil {
				b.Fatal(err)
			}
			defer pprof.StopCPUProfile()
		}
	}
	hugePages()
	base, stop := peak()
	began := cpuSeconds()
	pass := checker.NewPass(streams...)
	err = scan.Each(context.Background(), func(e *history.Event) error {
		pass.Take(e)
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	results, _ := pass.Finish(context.Background(), scan)
	m.ops, m.cpu, m.peak = scan.Count(), cpuSeconds()-began, stop()-base
	m.held = heap() - before
	for _, r := range results {
		if r.Verdict != checker.Valid && !slices.Contains(unfed, r.Checker) {
			b.Fatalf("%s: %v: %s %+v", r.Checker, r.Verdict, r.Reason, r.Anomalies)
		}
	}
	runtime.KeepAlive(pass)
	return m
}

// peak samples, until it is stopped, the memory that the process has from the
// system and has not given back; it returns the first and the highest sample.
func peak() (base float64, stop func() float64) {
	sample := func() float64 {
		now := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
		metrics.Read(now)
		return float64(now[0].Value.Uint64()) - float64(now[1].Value.Uint64())
	}
	base = sample()
	most, done, quit := base, make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-quit:
				return
			case <-tick.C:
				most = max(most, sample())
			}
		}
	}()
	return base, func() float64 {
		close(quit)
		<-done
		return max(most, sample())
	}
}
