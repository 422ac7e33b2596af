package txn

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/gen"
	"github.com/jepgo/jepgo/history"
)

// BenchmarkRegister measures the checker alone, on a history of which the events
// are taken from memory.
func BenchmarkRegister(b *testing.B) {
	for _, c := range []struct {
		name string
		n    int
		gen  gen.Options
		o    Options
	}{
		{"strict", 100_000, gen.Options{}, Options{}},
		{"serializable", 100_000, gen.Options{}, Options{Models: []string{"serializable"}}},
		{"linearizable-keys", 100_000, gen.Options{}, Options{WFRKeys: true, SequentialKeys: true, LinearizableKeys: true}},
		{"snapshot-isolation-judged-strict", 100_000, gen.Options{Isolation: "snapshot-isolation"}, Options{}},
		{"read-uncommitted-judged-strict", 20_000, gen.Options{Isolation: "read-uncommitted"}, Options{}},
	} {
		b.Run(fmt.Sprintf("%s/%d", c.name, c.n), func(b *testing.B) {
			c.gen.Workload, c.gen.Ops, c.gen.Clients = "rw", c.n, 20
			h := generated(b, c.gen)
			b.ReportAllocs()
			for b.Loop() {
				runtime.GC()
				s := RWRegister(c.o)
				for e := range h.Events() {
					s.Take(e)
				}
				if r := s.Finish(context.Background(), h.Source()); r.Verdict == checker.Unknown {
					b.Fatal(r.Reason)
				}
			}
			b.ReportMetric(float64(c.n)*float64(b.N)/b.Elapsed().Seconds(), "txns/s")
		})
	}
}

func generated(t testing.TB, o gen.Options) *history.History {
	t.Helper()
	var text bytes.Buffer
	if err := gen.Write(context.Background(), &text, o); err != nil {
		t.Fatal(err)
	}
	h, err := history.ReadAll(&text, history.EDN())
	if err != nil {
		t.Fatal(err)
	}
	return h
}
