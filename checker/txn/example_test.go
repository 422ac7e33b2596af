package txn_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/checker/txn"
	"github.com/jepgo/jepgo/history"
)

func ExampleListAppend() {
	h, err := history.ReadAll(strings.NewReader(`
{:process 0, :type :invoke, :f :txn, :value [[:append 8 3] [:append 9 1]]}
{:process 0, :type :ok,     :f :txn, :value [[:append 8 3] [:append 9 1]]}
{:process 1, :type :invoke, :f :txn, :value [[:r 8 nil] [:r 9 nil]]}
{:process 1, :type :ok,     :f :txn, :value [[:r 8 [3]] [:r 9 []]]}`), history.EDN())
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, model := range []string{"read-committed", "snapshot-isolation"} {
		o := txn.Options{Models: []string{model}}
		r := checker.Streamed(func() checker.Stream { return txn.ListAppend(o) }).Check(context.Background(), h)
		fmt.Printf("%s: %s (%s)\n", model, r.Verdict, r.Reason)
		for _, a := range r.Anomalies {
			fmt.Println(a.Message)
		}
	}
	// Output:
	// read-committed: valid (2 transactions without an anomaly that read-committed forbids)
	// snapshot-isolation: invalid (G-single-item: not repeatable-read or consistent-view)
	// Let:
	//   T1 = {:process 0, :type :ok, :value [[:append 8 3] [:append 9 1]]}
	//   T2 = {:process 1, :type :ok, :value [[:r 8 [3]] [:r 9 []]]}
	// Then:
	//   - T1 comes before T2, as T2 observed T1's append of 3 to key 8.
	//   - T2 comes before T1, as T2 did not observe T1's append of 1 to key 9.
	// So each of them would have to come before itself.
}
