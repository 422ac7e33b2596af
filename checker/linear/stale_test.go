package linear

import (
	"context"
	"slices"
	"testing"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history/historytest"
)

func TestStaleness(t *testing.T) {
	h := historytest.Read(t, `
{:type :invoke, :process 0, :f :write, :value 1, :time 0} {:type :ok, :process 0, :f :write, :value 1, :time 1000000}
{:type :invoke, :process 0, :f :write, :value 2, :time 2000000} {:type :ok, :process 0, :f :write, :value 2, :time 3000000}
{:type :invoke, :process 1, :f :read, :value nil, :time 5000000} {:type :ok, :process 1, :f :read, :value 1, :time 6000000}
{:type :invoke, :process 1, :f :read, :value nil, :time 8000000} {:type :ok, :process 1, :f :read, :value 1, :time 8500000}
{:type :invoke, :process 1, :f :read, :value nil, :time 9000000} {:type :ok, :process 1, :f :read, :value 2, :time 9500000}`)
	r := Register(Options{}).Check(context.Background(), h)
	want := checker.Stat{Name: "stale reads of the register", Value: "2, the worst began 5ms after a newer value was there"}
	if r.Verdict != checker.Invalid || !slices.Contains(r.Stats, want) {
		t.Errorf("%v: %v, want %v", r.Verdict, r.Stats, want)
	}
	a := r.Anomalies[0]
	if a.State != "2" || len(a.Order) != 2 || len(a.Blocked) != 1 || a.Blocked[0].Why != "reads 1, but the register holds 2" {
		t.Errorf("state %q, order %v, blocked %v", a.State, a.Order, a.Blocked)
	}
}
