package workloads

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/jepgo/jepgo/client"
	"github.com/jepgo/jepgo/client/chaintest"
)

// TestAlone: only what says that it is a node without others is taken for one.
func TestAlone(t *testing.T) {
	for answer, want := range map[string]bool{
		`"anvil/v1.2.3"`: true, `"HardhatNetwork/2.22.1/@ethereumjs/vm"`: true,
		`"Geth/v1.17.10-stable/linux-amd64/go1.26"`: false, `"not-anvil/1"`: false, `null`: false, `7`: false, `{"anvil/": 1}`: false,
	} {
		node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":1,"result":%s}`, answer)
		}))
		c, err := client.Dial(t.Context(), "n1", node.URL)
		if err != nil {
			t.Fatal(err)
		}
		if got := alone(t.Context(), c); got != want {
			t.Errorf("a node that says %s is alone: %v, want %v", answer, got, want)
		}
		c.Close()
		node.Close()
	}
}

func TestDetect(t *testing.T) {
	for _, test := range []struct {
		name string
		o    chaintest.Options
		want string
	}{
		{"every block final", chaintest.Options{Final: true}, "bft"},
		{"finalized behind", chaintest.Options{}, "pos"},
	} {
		t.Run(test.name, func(t *testing.T) {
			env, chain := testbed(t, "bft", test.o, 0)
			chain.Commit()
			// The heights of geth --dev whose finalized equals latest are multiples of
			// 32, so block times must leave room for ten answers at another one.
			chain.Mine(t.Context(), t, 1500*time.Millisecond)
			p, err := Detect(t.Context(), env.Nodes)
			if err != nil || p.Name != test.want {
				t.Errorf("detected %q, %v, want %q", p.Name, err, test.want)
			}
		})
	}
}

// A chain without new blocks is never called bft, however equal its tags are.
func TestDetectDoesNotTrustStandstill(t *testing.T) {
	env, chain := testbed(t, "bft", chaintest.Options{Final: true}, 0)
	chain.Commit()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	f, err := watchFinality(ctx, env.Nodes[0])
	if err != nil || f != later {
		t.Errorf("finality %d, %v of a chain that stands still", f, err)
	}
}
