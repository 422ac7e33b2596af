package workloads

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/jepgo/jepgo/client"
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
