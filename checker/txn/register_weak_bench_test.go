package txn

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/jepgo/jepgo/checker/txn/weak"
	"github.com/jepgo/jepgo/gen"
)

// BenchmarkWeak measures package weak alone, on what the checker makes of a history
// without any anomaly.
func BenchmarkWeak(b *testing.B) {
	const n = 100_000
	for _, c := range []struct {
		name     string
		gen      gen.Options
		sessions bool // as formats without real time have them
		ask      weak.Ask
	}{
		{"read-committed", gen.Options{}, true, weak.Ask{Level: weak.ReadCommitted, Sessions: true}},
		{"read-atomic", gen.Options{}, true, weak.Ask{Level: weak.ReadAtomic, Sessions: true}},
		{"causal", gen.Options{}, true, weak.Ask{Level: weak.Causal, Sessions: true}},
		{"causal-100-sessions-of-8", gen.Options{Clients: 100, Shortest: 8, Longest: 8}, true, weak.Ask{Level: weak.Causal, Sessions: true}},
		{"causal-2000-crashed", gen.Options{Crash: 0.02}, false, weak.Ask{Level: weak.Causal, Sessions: true}},
		{"snapshot-isolation-of-sessions", gen.Options{Isolation: "snapshot-isolation"}, true, weak.Ask{Level: weak.SnapshotIsolation, Sessions: true}},
		{"serializable-of-sessions", gen.Options{}, true, weak.Ask{Level: weak.Serializable, Sessions: true}},
		{"serializable-with-old-reads", gen.Options{Isolation: "serializable"}, false, weak.Ask{Level: weak.Serializable}},
		{"snapshot-isolation", gen.Options{Isolation: "snapshot-isolation"}, false, weak.Ask{Level: weak.SnapshotIsolation}},
		{"strict-serializable", gen.Options{}, false, weak.Ask{Level: weak.Serializable, Sessions: true, Realtime: true}},
	} {
		b.Run(fmt.Sprintf("%s/%d", c.name, n), func(b *testing.B) {
			c.gen.Workload, c.gen.Ops = "rw", n
			if c.gen.Clients == 0 {
				c.gen.Clients = 20
			}
			checked := RWRegister(Options{Sessions: c.sessions}).(*rwRegister)
			for e := range generated(b, c.gen).Events() {
				checked.Take(e)
			}
			checked.txns.settle()
			w := &weakJudge{c: checked, r: newRegisters(&checked.txns, false), initial: noTxn}
			w.build()
			ops := len(checked.txns.mops)
			b.ReportAllocs()
			for b.Loop() {
				runtime.GC()
				answer := weak.Answer{}
				if c.ask.Level <= weak.Causal {
					answer = w.h.Infer(context.Background(), c.ask, 0)
				} else {
					answer = w.h.Search(context.Background(), c.ask, 0)
				}
				if !answer.Holds {
					b.Fatalf("%+v", answer)
				}
			}
			b.ReportMetric(float64(ops)*float64(b.N)/b.Elapsed().Seconds(), "micro-ops/s")
		})
	}
}
