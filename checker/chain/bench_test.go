package chain

import (
	"context"
	"testing"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history"
)

// longHistory is an honest run of about n ops. The final phase asks every node
// for every block twice, and each question is two ops.
func longHistory(n int) *history.History {
	s := newSim(1)
	for len(s.h.Ops)+4*len(s.nodes)*len(s.chain) < n {
		s.step()
	}
	return s.run(0)
}

// BenchmarkMillionOps judges a million ops with each chain checker.
func BenchmarkMillionOps(b *testing.B) {
	h := longHistory(1_000_000)
	for _, c := range []checker.Checker{Fork("latest"), Finality("latest"), Session(), Replay(), Staleness(), checker.Stats(checker.Floor{}), checker.NemesisFaults()} {
		b.Run(c.Name(), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if r := c.Check(context.Background(), h); r.Verdict != checker.Valid {
					b.Fatalf("%+v", r)
				}
			}
			b.ReportMetric(float64(len(h.Ops))*float64(b.N)/b.Elapsed().Seconds(), "ops/s")
		})
	}
}
