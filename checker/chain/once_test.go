package chain

import (
	"context"
	"testing"

	"github.com/jepgo/jepgo/checker"
)

// TestExactlyOnceWithoutTransactions: an empty chain is no evidence, and no fault of
// a run that sends nothing.
func TestExactlyOnceWithoutTransactions(t *testing.T) {
	const empty = `
{:type :ok :process 1 :f :body :node "n1" :value {:n 6 :h "0xa6" :parent "0xa5" :txs []} :height 6 :hash "0xa6"}
{:type :ok :process 1 :f :body :node "n1" :value {:n 7 :h "0xa7" :parent "0xa6" :txs []} :height 7 :hash "0xa7"}
`
	const sent = `{:type :invoke :process 2 :f :pay :node "n1" :value {:to "0xb" :amount 1}}`
	for text, leftOut := range map[string]bool{empty: true, sent + empty: false, sent: false, "": false} {
		r := ExactlyOnce(Options{FinalTag: "latest"}).Check(context.Background(), parse(t, text))
		if r.LeftOut != leftOut || r.Verdict != checker.Unknown || r.Facts != 0 {
			t.Errorf("%v, left out %v, %d facts (%s), want left out %v of:\n%s", r.Verdict, r.LeftOut, r.Facts, r.Reason, leftOut, text)
		}
	}
}
