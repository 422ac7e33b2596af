package chain

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history"
)

func parse(t *testing.T, text string) *history.History {
	t.Helper()
	h, err := history.ReadAll(strings.NewReader(text), history.EDN())
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// TestForkShowsAllNodes holds that a fork is told as what every node has at its
// first height, the minority first among the accused.
func TestForkShowsAllNodes(t *testing.T) {
	text := &strings.Builder{}
	block := func(node string, n int, h, parent string) {
		fmt.Fprintf(text, "{:type :ok :process 1 :f :block :node %q :value {:n %d :h %q :parent %q}}\n", node, n, h, parent)
	}
	for _, node := range []string{"n4", "n1", "n3", "n2"} {
		chain := "a"
		if node == "n4" {
			chain = "b"
		}
		block(node, 15, "0xc15", "0xc14")
		block(node, 16, "0x"+chain+"16", "0xc15")
		block(node, 17, "0x"+chain+"17", "0x"+chain+"16")
		block(node, 18, "0x"+chain+"18", "0x"+chain+"17")
	}
	r := Fork("latest").Check(context.Background(), parse(t, text.String()))
	const want = "at height 16, which is final here (latest), n1, n2 and n3 have 0xa16 (op 5) and n4 has 0xb16 (op 1). Their parents are the same, 0xc15. Every height from 16 to 18 is forked."
	if r.Verdict != checker.Invalid || len(r.Anomalies) != 1 {
		t.Fatalf("%+v", r)
	}
	a := r.Anomalies[0]
	if a.Message != want {
		t.Errorf("said %q, want %q", a.Message, want)
	}
	if !slices.Equal(a.Nodes, []string{"n4", "n1", "n2", "n3"}) {
		t.Errorf("nodes are %v", a.Nodes)
	}
	if len(a.Witness) != 2 || a.Witness[0].Index != 1 || a.Witness[1].Index != 5 {
		t.Errorf("witness is %+v, want one op of each side", a.Witness)
	}
	if !strings.HasSuffix(r.Reason, "(and 2 more)") {
		t.Errorf("reason is %q", r.Reason)
	}
}

// TestWitnessShowsItsTransactionsOnly holds that of a block with many
// transactions a witness has those at stake, and says how many it lacks.
func TestWitnessShowsItsTransactionsOnly(t *testing.T) {
	txs := &strings.Builder{}
	for i := range 20 {
		fmt.Fprintf(txs, "[\"0xt%d\" :write %d %d :ok] ", i, i, i+1)
	}
	h := parse(t, `{:type :ok :process 1 :f :txs :node "n1" :value {:n 1 :h "0x1" :parent "0x0" :ops [`+txs.String()+`]}}
{:type :ok :process 2 :f :peek :node "n2" :tag :latest :value [7 99] :height 1 :hash "0x1"}`)
	before := h.Ops[0].String()
	r := Replay().Check(context.Background(), h)
	if r.Verdict != checker.Invalid || len(r.Anomalies) != 1 || len(r.Anomalies[0].Witness) != 2 {
		t.Fatalf("%+v", r)
	}
	got := r.Anomalies[0].Witness[0].Op
	if !strings.Contains(got, `:ops [["0xt7" :write 7 8 :ok]], :left-out 19}`) || strings.Contains(got, "0xt8") {
		t.Errorf("witness is %s", got)
	}
	if h.Ops[0].String() != before {
		t.Error("the history was changed")
	}
}
