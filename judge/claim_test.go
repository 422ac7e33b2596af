package judge

import (
	"strings"
	"testing"

	"github.com/jepgo/jepgo/checker"
)

// reorganised is a healthy run of a chain that may reorganise: n1 takes back its
// block 2 for that of n2.
const reorganised = `{:index 0, :time 0, :type :info, :process :jepgo, :f :test, :value {:version "test", :seed 1, :profile :longest-chain, :workloads [:head], :nodes ["n1" "n2"], :nemesis [], :processes 2}}
{:index 1, :time 10, :type :invoke, :process 0, :f :head, :value nil, :node "n1"}
{:index 2, :time 20, :type :ok, :process 0, :f :head, :value {:latest {:n 2, :h "0xa2", :parent "0x1"}, :safe nil, :finalized nil}, :node "n1"}
{:index 3, :time 30, :type :invoke, :process 1, :f :head, :value nil, :node "n2"}
{:index 4, :time 40, :type :ok, :process 1, :f :head, :value {:latest {:n 2, :h "0xb2", :parent "0x1"}, :safe nil, :finalized nil}, :node "n2"}
{:index 5, :time 50, :type :invoke, :process 0, :f :head, :value nil, :node "n1"}
{:index 6, :time 60, :type :ok, :process 0, :f :head, :value {:latest {:n 3, :h "0xb3", :parent "0xb2"}, :safe nil, :finalized nil}, :node "n1"}
{:index 7, :time 70, :type :invoke, :process 1, :f :head, :value nil, :node "n2"}
{:index 8, :time 80, :type :ok, :process 1, :f :head, :value {:latest {:n 3, :h "0xb3", :parent "0xb2"}, :safe nil, :finalized nil}, :node "n2"}
{:index 9, :time 90, :type :info, :process :jepgo, :f :converge, :value {:converged true, :bound 10, :took 1}}
{:index 10, :time 99, :type :info, :process :jepgo, :f :phase, :value :end}
`

// TestClaim: one history, two claims, two verdicts.
func TestClaim(t *testing.T) {
	path := write(t, reorganised)
	for claim, want := range map[string]checker.Verdict{
		"": checker.Valid, "none": checker.Valid, "longest-chain": checker.Valid,
		"final": checker.Invalid, "bft": checker.Invalid,
	} {
		j, err := File(t.Context(), path, Options{Claim: claim})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range j.Results {
			if r.Checker == "fork" && r.Verdict != want {
				t.Errorf("--claim %q: fork is %s, want %s: %s", claim, r.Verdict, want, r.Reason)
			}
		}
		if invalid := j.Verdict == checker.Invalid; invalid != (want == checker.Invalid) {
			t.Errorf("--claim %q: verdict %s: %s", claim, j.Verdict, j.Reason())
		}
		if !strings.Contains(strings.Join(j.Blind, "\n"), "no fault was injected") {
			t.Errorf("--claim %q: nothing says that there were no faults: %q", claim, j.Blind)
		}
	}
}

func TestClaimIsForOurRuns(t *testing.T) {
	for _, test := range []struct{ text, claim, want string }{
		{staleRegister, "final", "--consistency-model"},
		{reorganised, "eventual", `claim "eventual" does not exist`},
	} {
		if _, err := File(t.Context(), write(t, test.text), Options{Claim: test.claim}); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("--claim %q: error %v, want one with %q", test.claim, err, test.want)
		}
	}
}
