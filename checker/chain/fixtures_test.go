package chain

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history"
)

// TestFixtures judges the pairs of good and bad histories in testdata.
func TestFixtures(t *testing.T) {
	for _, test := range []struct {
		file    string
		c       checker.Checker
		want    checker.Verdict
		says    string // in the first anomaly, in the reason, or in a warning
		witness []int  // indexes of the first anomaly
	}{
		{"pos-reorg-ok.edn", Fork("finalized"), checker.Valid, "n1's head left 1 block behind: from 3 0xa3 (op 2) to 4 0xb4 (op 6)", nil},
		{"pos-reorg-ok.edn", Finality("finalized"), checker.Valid, "what 2 nodes called final stayed so", nil},
		{"pos-reorg-ok.edn", Fork("latest"), checker.Invalid, "at height 3, which is final here (latest), n1 and n2 have 0xb3 (op 4) and n1 has 0xa3 (op 2), so n1 contradicts itself. Their parents are the same, 0xa2.", []int{2, 4}},
		{"pos-finality-fork-bad.edn", Fork("finalized"), checker.Invalid, "at height 2, which is final here (finalized), n1 has 0xa2 (op 6) and n2 has a final block that stands on 0xc2 (op 8). Their parents are the same, 0xa1.", []int{6, 8}},
		{"rewind-after-restart-bad.edn", Finality("latest"), checker.Invalid, "n1's finalized block fell from 7 0xa7 (op 2) to 6 0xa6 (op 8) after it was killed (op 3).", []int{2, 3, 8}},
		{"rewind-after-restart-bad.edn", Finality("finalized"), checker.Valid, "n1's finalized block fell from 7", nil},
		{"catching-up-after-restart-ok.edn", Finality("latest"), checker.Valid, "n1 served no finalized block after it was killed (op 3) (op 8)", nil},
		{"finality-changed-bad.edn", Finality("finalized"), checker.Invalid, "n1 changed its final block at height 7: first it was 0xa7 (op 2), then 0xb7 (op 6).", []int{2, 6}},
		{"finality-changed-bad.edn", Finality(""), checker.Valid, "n1 changed its final block", nil},
		{"torn-batch-ok.edn", Finality("latest"), checker.Valid, "what 1 node called final", nil},
		{"own-write-unseen-bad.edn", Session(), checker.Invalid, "it does not see its own transaction: its peek of [3 nil] at latest came from height 4 0xa4 (op 6), after its write of [3 1] at height 5 0xa5 (op 2).", []int{2, 6}},
		{"own-write-unseen-after-kill-ok.edn", Session(), checker.Valid, "n1 was killed in between", nil},
		{"own-write-unseen-pos-ok.edn", Session(), checker.Valid, "it does not see its own transaction", nil},
		{"replay-ok.edn", Replay(), checker.Valid, "5 transactions of 4 blocks, 2 local reads and 4 strong ops", nil},
		{"replay-ok.edn", Staleness(), checker.Valid, "age of 2 local reads", nil},
		{"lost-write-bad.edn", Replay(), checker.Invalid, "n1 acknowledged write [3 1] (op 2, transaction 0xt1) and lost it: the receipt of n1 names block 5 0xa5, but that block has no such transaction (op 18).", []int{2, 18}},
		{"lost-block-bad.edn", Replay(), checker.Invalid, "the receipt of n1 names block 5 0xdead, which no node has in the end: the block there is 0xa5 (op 18).", []int{2, 18}},
		{"lost-block-pos-ok.edn", Replay(), checker.Valid, "no block has its transaction 0xt1", nil},
		{"gap-unknown.edn", Replay(), checker.Unknown, "the walk over the chain is not complete: blocks with a gap below them: 2", nil},
		{"replay-of-a-fork-ok.edn", Replay(), checker.Valid, "7 transactions of 5 blocks", nil},
		{"replay-of-a-fork-bad.edn", Replay(), checker.Invalid, "n2 answered a local read of key 3 at latest with 2, from block 7 0xb7 (op 14), where the register is 5: key 3 was set to 5 by transaction 0xt7 in block 7 0xb7 (op 24).", []int{14, 24}},
	} {
		t.Run(test.file+"/"+test.c.Name(), func(t *testing.T) {
			h, err := history.ReadFile(filepath.Join("testdata", test.file))
			if err != nil {
				t.Fatal(err)
			}
			r := test.c.Check(context.Background(), h)
			if r.Verdict != test.want {
				t.Fatalf("verdict %v, want %v: %+v", r.Verdict, test.want, r)
			}
			said := append([]string{r.Reason}, r.Warnings...)
			var witness []int
			if len(r.Anomalies) > 0 {
				said = append(said, r.Anomalies[0].Message)
				for _, ref := range r.Anomalies[0].Witness {
					witness = append(witness, ref.Index)
				}
			}
			if !strings.Contains(strings.Join(said, "\n"), test.says) {
				t.Errorf("%q is not said in:\n%s", test.says, strings.Join(said, "\n"))
			}
			if !slices.Equal(witness, test.witness) {
				t.Errorf("witness is ops %v, want %v", witness, test.witness)
			}
		})
	}
}

// TestOddHistories holds that nothing makes a checker panic or approve.
func TestOddHistories(t *testing.T) {
	const odd = `
{:type :ok :process 1 :f :head :value 3}
{:type :ok :process 1 :f :head :value {:latest 4 :walk 5 :safe {:n "x" :h 3}}}
{:type :ok :process 2 :f :txs :value {:n 3 :h "0x3" :ops 4}}
{:type :ok :process 2 :f :txs :value {:n 4 :h "0x4" :ops [[] 1 [nil nil nil nil nil]]}}
{:type :invoke :process 2 :f :txs :value [1]}
{:type :ok :process 2 :f :txs :value nil}
{:type :ok :process 3 :f :peek :value 1 :height 3 :hash 4}
{:type :ok :process 3 :f :write :value [[1]] :height 3 :hash "0x3" :tx "0xt"}
{:type :info :process :nemesis :f :kill :value 7}
{:type :info :process :nemesis :f :start :value {:targets 3}}
{:type :info :process :jepgo :f :test :value 3}
{:process 4}`
	for name, text := range map[string]string{"odd": odd, "empty": ""} {
		h, err := history.ReadAll(strings.NewReader(text), history.EDN())
		if err != nil {
			t.Fatal(err)
		}
		results, verdict := checker.Compose(context.Background(), h, all()...)
		if verdict != checker.Unknown {
			t.Errorf("%s: %v: %+v", name, verdict, results)
		}
		for _, r := range results {
			if strings.Contains(r.Reason, "panic") {
				t.Errorf("%s: %s: %v: %s", name, r.Checker, r.Verdict, r.Reason)
			}
		}
	}
}
