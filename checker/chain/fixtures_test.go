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
		{"rewind-after-rollback-ok.edn", Finality("latest"), checker.Valid, "after it was killed (op 4). Its data was destroyed by the fault rollback (op 3).", nil},
		{"rewind-after-disk-flip-bad.edn", Finality("latest"), checker.Invalid, "n1's finalized block fell from 7 0xa7 (op 2) to 6 0xa6 (op 9) after it was killed (op 4).", []int{2, 4, 9}},
		{"rewind-after-restart-bad.edn", Finality("latest"), checker.Invalid, "n1's finalized block fell from 7 0xa7 (op 2) to 6 0xa6 (op 8) after it was killed (op 3).", []int{2, 3, 8}},
		{"rewind-after-restart-bad.edn", Finality("finalized"), checker.Valid, "n1's finalized block fell from 7", nil},
		{"catching-up-after-restart-ok.edn", Finality("latest"), checker.Valid, "n1 served no finalized block after it was killed (op 3) (op 8)", nil},
		{"finality-changed-bad.edn", Finality("finalized"), checker.Invalid, "n1 changed its final block at height 7: first it was 0xa7 (op 2), then 0xb7 (op 6).", []int{2, 6}},
		{"finality-changed-bad.edn", Finality(""), checker.Valid, "n1 changed its final block", nil},
		{"torn-batch-ok.edn", Finality("latest"), checker.Valid, "what 1 node called final", nil},
		{"tags-one-by-one-ok.edn", Finality("latest"), checker.Valid, "what 1 node called final", nil},
		{"own-write-unseen-bad.edn", Session(), checker.Invalid, "it does not see its own transaction: its peek of [3 nil] at latest came from height 4 0xa4 (op 6), after its write of [3 1] at height 5 0xa5 (op 2).", []int{2, 6}},
		{"own-write-unseen-after-kill-ok.edn", Session(), checker.Valid, "n1 was killed in between", nil},
		{"own-write-unseen-pos-ok.edn", Session(), checker.Valid, "it does not see its own transaction", nil},
		{"replay-ok.edn", Replay(), checker.Valid, "5 transactions of 4 blocks, 2 local reads and 4 strong ops", nil},
		{"replay-ok.edn", Staleness(), checker.Valid, "age of 2 local reads", nil},
		{"lost-write-bad.edn", Replay(), checker.Invalid, "n1 acknowledged write [3 1] (op 2, transaction 0xt1) and lost it: the receipt of n1 names block 5 0xa5, but that block has no such transaction (op 18).", []int{2, 18}},
		{"lost-block-bad.edn", Replay(), checker.Invalid, "the receipt of n1 names block 5 0xdead, which no node has in the end: the block there is 0xa5 (op 18).", []int{2, 18}},
		{"lost-block-pos-ok.edn", Replay(), checker.Valid, "no block has its transaction 0xt1", nil},
		{"failed-then-reorg-ok.edn", Replay(), checker.Valid, "cas [3 [1 2]] (op 4) failed on n1 in block 6 0xb6, which the chain has left. Its transaction 0xt2 took effect in block 7 0xa7", nil},
		{"failed-then-reorg-bad.edn", Replay(), checker.Invalid, "n1 reported cas [3 [1 2]] as failed (op 4), but its transaction 0xt2 took effect in block 7 0xa7", []int{4, 11}},
		{"gap-unknown.edn", Replay(), checker.Unknown, "the walk over the chain is not complete: blocks with a gap below them: 2", nil},
		{"replay-of-a-fork-ok.edn", Replay(), checker.Valid, "7 transactions of 5 blocks", nil},
		{"replay-of-a-fork-bad.edn", Replay(), checker.Invalid, "n2 answered a local read of key 3 at latest with 2, from block 7 0xb7 (op 14), where the register is 5: key 3 was set to 5 by transaction 0xt7 in block 7 0xb7 (op 24).", []int{14, 24}},
		{"state-agree-ok.edn", StateAgree(), checker.Valid, "1 root and 1 local read of one block agree", nil},
		{"state-agree-bad.edn", StateAgree(), checker.Invalid, "block 7 0xa7 has two states: n1 answered balances from it with {0 10, 1 5} (op 4), n2 with {1 6, 0 10} (op 5).", []int{4, 5}},
		{"call-at-ok.edn", CallAt(), checker.Valid, "3 calls at 2 blocks and key agree", nil},
		{"call-at-bad.edn", CallAt(), checker.Invalid, "at block 0xa7 key 3 is 40 on n2 (op 1), and was 41 on n1 (op 0)", []int{0, 1}},
		{"immutable-by-hash-ok.edn", Immutable(), checker.Valid, "1 receipt, 0 transaction lists", nil},
		{"immutable-by-hash-bad.edn", Immutable(), checker.Invalid, "block 0xa7: the receipt of transaction 0xt1 in it is one on n1 (op 5) and another on n2 (op 7)", []int{5, 7}},
		{"index-ok.edn", Index(Options{}), checker.Valid, "2 places", nil},
		{"index-bad.edn", Index(Options{}), checker.Invalid, "the receipt of n1 about transaction 0xt1 names block 7 0xa7 (op 1), but the list of that block has it at position 1, not 0 (n2, op 2).", []int{1, 2}},
		{"receipt-after-reorg-ok.edn", Index(Options{}), checker.Valid, "1 final receipt agree", nil},
		{"receipt-orphaned-bad.edn", Index(Options{}), checker.Invalid, "on n1 the receipt of transaction 0xt1 names block 6 0xb6 (op 6), though the node lists the transaction in block 7 0xa7 (op 2), 2 blocks below the head.", []int{2, 6}},
		{"receipt-orphaned-bad.edn", Index(Options{Depth: 4}), checker.Unknown, "nothing could be compared", nil},
		{"logs-receipts-ok.edn", Logs(Options{}), checker.Valid, "2 queries returned what receipts tell: 2 logs, 1 whole block", nil},
		{"logs-receipts-bad.edn", Logs(Options{}), checker.Invalid, "n2 left log 1 of block 7 0xa7 out (op 2): transaction 0xt2 emitted it there (op 1).", []int{1, 2}},
		{"durability-ok.edn", Durability(Options{FinalTag: "latest"}), checker.Valid, "1 acknowledged transaction looked for on the chain from 6 to 7", nil},
		{"durability-bad.edn", Durability(Options{FinalTag: "latest"}), checker.Invalid, "pay of 0xt1 is gone: n1 had it in block 6 0xb6 (op 0), the chain has 0xa6 there in the end (op 3), and no block from 6 to 7 lists it. It was final (latest).", []int{0, 3}},
		{"durability-bad.edn", Durability(Options{}), checker.Valid, "It was not final.", nil},
		{"nonce-ok.edn", Nonce(Options{}), checker.Valid, "2 nonces of 1 sender in order, 1 account", nil},
		{"nonce-gap-bad.edn", Nonce(Options{}), checker.Invalid, "after nonce 1 of 0xf in block 7 (transaction 0xt2, ops 1 and 4) the chain has nonce 3, not the next, in block 7", []int{1, 2, 4}},
		{"account-nonce-bad.edn", Nonce(Options{}), checker.Invalid, "n2 says that the next nonce of 0xf is 2 after block 7 0xa7 (op 6), but transaction 0xt3 with nonce 2 is in block 7", []int{2, 4, 6}},
		{"exactly-once-ok.edn", ExactlyOnce(Options{FinalTag: "latest"}), checker.Valid, "3 effects", nil},
		{"transaction-twice-bad.edn", ExactlyOnce(Options{}), checker.Invalid, "transaction 0xt1 is in block 6 0xa6 at position 0 (n2, op 3) and again in block 7 0xa7 at position 0 (n2, op 4) of one chain.", []int{3, 4}},
		{"counter-bounds-bad.edn", ExactlyOnce(Options{FinalTag: "latest"}), checker.Invalid, "n2 counts 8 in the end (op 5), but the :inc that were acknowledged sum up to 3, and with those in doubt to 5 (the last is op 1): some took effect twice.", []int{1, 5}},
		{"pos-reorg-ok.edn", ReorgDepth(Options{Depth: 1}), checker.Valid, "n1's head left 1 block behind: from 3 0xa3 (op 2) to 4 0xb4 (op 6)", nil},
		{"pos-reorg-ok.edn", ReorgDepth(Options{}), checker.Invalid, "n1's head left 1 block behind: from 3 0xa3 (op 2) to 4 0xb4 (op 6). Reorganisations of at most 0 blocks are expected here.", []int{2, 6}},
		{"head-fell-ok.edn", HeadRegress(Options{}), checker.Valid, "n1's head fell by 2 blocks, from 9 0xa9 (op 0) to 7 0xa7 (op 2), over the end of its process (op 1)", nil},
		{"head-fell-bad.edn", HeadRegress(Options{}), checker.Invalid, "n1's head fell by 2 blocks, from 9 0xa9 (op 0) to 7 0xa7 (op 2), though it ran all the time.", []int{0, 2}},
		{"head-fell-bad.edn", HeadRegress(Options{Depth: 2}), checker.Valid, "1 fall", nil},
		{"chain-time-ok.edn", ChainTime(), checker.Valid, "1 block", nil},
		{"chain-time-bad.edn", ChainTime(), checker.Invalid, "block 7 0xa7 has timestamp 13 (op 1), before that of its parent 0xa6, 14 (op 0).", []int{0, 1}},
		{"sub-ok.edn", Sub(Options{}), checker.Valid, "3 heads and 3 logs announced", nil},
		{"sub-removed-bad.edn", Sub(Options{}), checker.Invalid, "n1 announced log 0 of block 6 0xb6 (op 2) and never that it was removed, though the chain has 0xa6 there", []int{0, 2}},
		{"sub-left-out-ok.edn", Sub(Options{FinalTag: "latest"}), checker.Valid, "0 heads and 3 logs announced", nil},
		{"sub-left-out-bad.edn", Sub(Options{FinalTag: "latest"}), checker.Invalid, "n1 did not announce log 0 of block 7 0xa7, which transaction 0xt2 emitted (op 1), in a stream with logs of block 6 (op 3) and 8 (op 4).", []int{1, 3, 4}},
		{"sub-left-out-bad.edn", Sub(Options{}), checker.Valid, "0 heads and 2 logs announced", nil},
		{"sub-rpc-drop-ok.edn", Sub(Options{FinalTag: "latest"}), checker.Valid, "in a stream with logs of block 6 (op 3) and 8 (op 8), which rpc-drop (op 4) explains", nil},
		{"sub-rpc-drop-elsewhere-bad.edn", Sub(Options{FinalTag: "latest"}), checker.Invalid, "n1 did not announce log 0 of block 7 0xa7", []int{1, 3, 8}},
		{"sub-rpc-drop-before-bad.edn", Sub(Options{FinalTag: "latest"}), checker.Invalid, "n1 did not announce log 0 of block 7 0xa7", []int{1, 7, 8}},
		{"sub-causality-bad.edn", Sub(Options{FinalTag: "latest"}), checker.Invalid, "n1 announced block 6 0xb6 and did not serve it within the grace (op 1), and the chain has 0xa6 there (op 0).", []int{0, 1}},
		{"sub-causality-bad.edn", Sub(Options{}), checker.Valid, "did not serve it within the grace (op 1)", nil},
		{"sub-chain-bad.edn", Sub(Options{}), checker.Invalid, "n1 announced block 0xa7 with the parent 0xb6 (op 1), which is 0xa6 elsewhere (op 0).", []int{0, 1}},
		{"equivocation-ok.edn", Equivocation(), checker.Valid, "3 votes of 2 validators on 2 heights", nil},
		{"equivocation-bad.edn", Equivocation(), checker.Invalid, "height 5 is committed with block AA on n1 (op 0) and with BB on n2 (op 1).", []int{0, 1}},
		{"equivocation-round-bad.edn", Equivocation(), checker.Invalid, "validator V3 signed two blocks in round 1 of height 5: AA (n1, op 0) and BB (n2, op 1).", []int{0, 1}},
		{"sub-complete-bad.edn", Sub(Options{}), checker.Invalid, "n1 showed block 9 as its head (op 1), and four batches later its stream of heads has announced none above 6 (op 6).", []int{1, 6}},
		{"sub-log-twice-bad.edn", Sub(Options{}), checker.Invalid, "n1 announced log 0 of block 6 0xa6 twice (ops 0 and 1).", []int{0, 1}},
		{"sub-causality-ok.edn", Sub(Options{}), checker.Valid, "n1 announced block 0xa6 and did not serve it within the grace (op 0)", nil},
		{"failed-then-sent-again-ok.edn", Replay(), checker.Valid, "1 transaction of 2 blocks", nil},
		{"failed-after-sent-bad.edn", Replay(), checker.Invalid, "n3 reported inc 4 as failed (op 1), but its transaction 0xt1 took effect in block 6 0xa6", []int{1, 5}},
		{"replay-set-bad.edn", Replay(), checker.Invalid, "n2 answered a local read of set 0", []int{3, 5}},
		{"replay-list-bad.edn", Replay(), checker.Invalid, "0xt2", []int{3}},
		{"replay-bank-bad.edn", Replay(), checker.Invalid, "account 1", []int{3, 7}},
		{"reorg-moved-ok.edn", ReorgDepth(Options{Depth: 4}), checker.Valid, "of the transactions of block 6 0xa6, which was left behind (op 1), 0xt1 is now in block 7 0xb7; 0xt2 is in no block of the chain that is known", nil},
		{"crash-log-ok.edn", CrashLog(), checker.Valid, "the log of n2 says at n2/node.log:7: panic: input/output error (op 3), which disk-error (op 1) explains", nil},
		{"crash-log-bad.edn", CrashLog(), checker.Invalid, "the log of n2 says at n2/node.log:7: panic: nil map (op 1).", []int{1}},
		{"crash-log-exit-bad.edn", CrashLog(), checker.Invalid, "the process of n2 ended by itself (exit status 3, op 2), and no fault of its own was in force that would explain it.", []int{2}},
		{"crash-log-exit-ok.edn", CrashLog(), checker.Valid, "10 lines of 1 log read, 0 lines of alarm; 2 ends of processes looked at", nil},
		{"crash-log-killed-ok.edn", CrashLog(), checker.Valid, "the process of n2 ended (signal: killed, op 1), and no fault did that: something outside of jepgo did", nil},
		{"crash-log-killed-ok.edn", CrashLog(), checker.Valid, "the process of n1 ended (signal: killed, op 4), and clock-bump was in force, which does not do that", nil},
		{"crash-log-unread-ok.edn", CrashLog(), checker.Unknown, "no line of a node's log was read", nil},
		{"participation-ok.edn", Participation(), checker.Valid, "1 stretch without faults, signed by 2 validators", nil},
		{"participation-bad.edn", Participation(), checker.Valid, "validator V2 signed 0 of", nil},
		{"participation-fault-ok.edn", Participation(), checker.Unknown, "no stretch of the run", nil},
		{"resource-slope-ok.edn", ResourceSlope(), checker.Valid, "1 processes of nodes watched, 0 rises", nil},
		{"resource-slope-bad.edn", ResourceSlope(), checker.Valid, "memory of n1 (process 1@1) rose by 45.8 MiB a minute", nil},
		{"resource-slope-short-ok.edn", ResourceSlope(), checker.Unknown, "no process of a node has enough samples", nil},
		{"liveness-ok.edn", Liveness(Options{}), checker.Valid, "4 nodes went forward after the heal", nil},
		{"liveness-stuck-bad.edn", Liveness(Options{}), checker.Invalid, "n3 stays at block 9", []int{4, 7}},
		{"liveness-stopped-bad.edn", Liveness(Options{}), checker.Invalid, "no block follows 9: 1m30s after the heal", []int{7}},
		{"liveness-quorum-ok.edn", Liveness(Options{}), checker.Unknown, "2 of 4 nodes answered after the heal", nil},
		{"liveness-short-ok.edn", Liveness(Options{}), checker.Unknown, "less than the bound of 44s: 10 blocks of 1s, a round's timer of 4s, 30s until peers dial again", nil},
		{"liveness-wiped-ok.edn", Liveness(Options{}), checker.Valid, "n3 stays at block 9, wipe hit it (op 6)", nil},
		{"tx-lifecycle-ok.edn", Lifecycle(Options{}), checker.Valid, "2 transactions included, 0 stuck", nil},
		{"tx-stuck-bad.edn", Lifecycle(Options{}), checker.Valid, "transaction 0xt2 of 0xf with nonce 1, the next one, was given to n1 (op 4) and is in no block up to 7, 1m34s later", nil},
		{"tx-lost-with-node-ok.edn", Lifecycle(Options{}), checker.Valid, "1 transaction included, 0 stuck", nil},
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
