package chain_test

import (
	"bytes"
	"context"
	"slices"
	"testing"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/checker/chain"
	"github.com/jepgo/jepgo/gen"
	"github.com/jepgo/jepgo/history"
)

func generated(t testing.TB, o gen.Options) *history.History {
	t.Helper()
	o.Workload = "chain"
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

func judge(h *history.History, o chain.Options) map[string]checker.Result {
	pass := checker.NewPass(chain.Streams(o)...)
	for e := range h.Events() {
		pass.Take(e)
	}
	results, _ := pass.Finish(context.Background(), h.Source())
	byName := make(map[string]checker.Result)
	for _, r := range results {
		byName[r.Checker] = r
	}
	return byName
}

var (
	final   = chain.Options{FinalTag: "latest"}
	longest = chain.Options{Depth: 4}
)

// TestHealthyGeneratedChains holds that no checker accuses a network that keeps
// its word, whatever lags, restarts, fails and reorganises, and that every checker
// finds something to compare.
func TestHealthyGeneratedChains(t *testing.T) {
	for _, test := range []struct {
		name string
		o    gen.Options
		is   chain.Options
	}{
		{"final", gen.Options{Ops: 1500}, final},
		{"final with faults", gen.Options{Ops: 1500, Crash: 0.2, Fail: 0.1}, final},
		{"reorganising", gen.Options{Ops: 1500, Reorg: 0.2}, longest},
		{"reorganising with faults", gen.Options{Ops: 1500, Reorg: 0.3, Crash: 0.2, Fail: 0.1, Clients: 20}, longest},
	} {
		t.Run(test.name, func(t *testing.T) {
			for seed := range uint64(6) {
				test.o.Seed = seed
				for name, r := range judge(generated(t, test.o), test.is) {
					if r.Verdict == checker.Invalid {
						t.Errorf("seed %d: %s: %s: %+v", seed, name, r.Reason, r.Anomalies[0])
					}
					if r.Facts == 0 && !slices.Contains(unfed, name) {
						t.Errorf("seed %d: %s compared nothing: %s", seed, name, r.Reason)
					}
				}
			}
		})
	}
}

// unfed are checkers of what the generated histories lack.
var unfed = []string{"sub", "equivocation", "crash-log", "participation", "resource-slope", "liveness"}

// TestReorgsBeyondTheBound holds that the same reorganisations are fine within a
// bound and an anomaly beyond it, and a warning where the bound is a guess.
func TestReorgsBeyondTheBound(t *testing.T) {
	h := generated(t, gen.Options{Ops: 2000, Reorg: 0.3})
	for _, test := range []struct {
		o    chain.Options
		want checker.Verdict
	}{
		{chain.Options{Depth: 4}, checker.Valid}, {chain.Options{Depth: 0}, checker.Invalid}, {chain.Options{Depth: 0, Odd: true}, checker.Valid},
	} {
		r := judge(h, test.o)["reorg-depth"]
		if r.Verdict != test.want || r.Verdict == checker.Valid && len(r.Warnings) == 0 {
			t.Errorf("%+v: %v: %s", test.o, r.Verdict, r.Reason)
		}
	}
}

// TestPlantedInGeneratedChains holds that each lie is found, by the checker that
// is for it, with a witness of at most ten ops.
func TestPlantedInGeneratedChains(t *testing.T) {
	for anomaly, by := range map[string]string{
		"root-mismatch": "state-agree", "state-mismatch": "state-agree", "call-at-changed": "call-at",
		"receipt-changed": "immutable-by-hash", "body-changed": "immutable-by-hash",
		"index-mismatch": "index", "receipt-missing": "index",
		"log-missing": "logs-receipts", "log-wrong": "logs-receipts", "log-repeated": "logs-receipts",
		"lost-transaction": "durability", "nonce-twice": "nonce", "account-nonce": "nonce",
		"transaction-twice": "exactly-once", "effect-twice": "exactly-once", "counter-bounds": "exactly-once",
	} {
		t.Run(anomaly, func(t *testing.T) {
			if !slices.Contains(gen.Anomalies("chain"), anomaly) {
				t.Fatal("not an anomaly of the workload")
			}
			for seed := range uint64(3) {
				r := judge(generated(t, gen.Options{Ops: 2000, Crash: 0.1, Plant: []string{anomaly}, Seed: seed}), final)[by]
				at := slices.IndexFunc(r.Anomalies, func(a checker.Anomaly) bool { return a.Name == anomaly })
				if r.Verdict != checker.Invalid || at < 0 {
					t.Fatalf("seed %d: %s: %v: %s: %+v", seed, by, r.Verdict, r.Reason, r.Anomalies)
				}
				if a := r.Anomalies[at]; len(a.Witness) == 0 || len(a.Witness) > 10 || a.Message == "" {
					t.Errorf("seed %d: witness of %d ops: %s", seed, len(a.Witness), a.Message)
				}
			}
		})
	}
}
