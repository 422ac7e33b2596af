package checker

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jepgo/jepgo/history"
)

// TestSplit: two blocks at one height are a split once they have stayed for longer
// than a reorganisation can take on a network with such blocks.
func TestSplit(t *testing.T) {
	for _, test := range []struct {
		blockTime, lasted time.Duration
		hashes            string
		want              Verdict
	}{
		{time.Second, 40 * time.Second, `{"n1" "0xa" "n2" "0xb"}`, Invalid},
		{0, 40 * time.Second, `{"n1" "0xa" "n2" "0xb"}`, Invalid},
		{time.Second, 20 * time.Second, `{"n1" "0xa" "n2" "0xb"}`, Unknown},
		{12 * time.Second, 40 * time.Second, `{"n1" "0xa" "n2" "0xb"}`, Unknown},
		{12 * time.Second, 130 * time.Second, `{"n1" "0xa" "n2" "0xb"}`, Invalid},
		{time.Second, 40 * time.Second, `{"n1" "0xa" "n2" "0xa"}`, Unknown},
		{time.Second, 40 * time.Second, `nil`, Unknown},
	} {
		h, err := history.ReadAll(strings.NewReader(fmt.Sprintf(`{:type :info, :process :jepgo, :f :test, :value {:version "t", :seed 1, :profile :longest-chain, :workloads [:head], :nodes ["n1" "n2"], :nemesis [], :processes 2, :profile-bounds {:block-time %d}}}
{:type :info, :process :jepgo, :f :converge, :value {:converged false, :bound 90000000000, :took 90000000000, :heads {"n1" 9, "n2" 9}, :split {:n 8, :lasted %d, :hashes %s}}}
{:type :info, :process :jepgo, :f :phase, :value :end}
`, test.blockTime, test.lasted, test.hashes)), history.EDN())
		if err != nil {
			t.Fatal(err)
		}
		r := Converge().Check(t.Context(), h)
		if r.Verdict != test.want {
			t.Errorf("blocks of %v, apart for %v, %s: %s (%s), want %s", test.blockTime, test.lasted, test.hashes, r.Verdict, r.Reason, test.want)
		}
		if r.Verdict == Invalid && (len(r.Anomalies) != 1 || len(r.Anomalies[0].Witness) != 1) {
			t.Errorf("invalid without a witness: %+v", r.Anomalies)
		}
	}
}
