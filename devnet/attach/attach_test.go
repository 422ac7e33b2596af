package attach

import (
	"context"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/eth"
	"github.com/ethereum/go-ethereum/eth/ethconfig"
	"github.com/ethereum/go-ethereum/node"
	"github.com/ethereum/go-ethereum/p2p"
	"github.com/ethereum/go-ethereum/params"
)

// geth starts a real go-ethereum node in memory on the given genesis and returns
// its URL.
func geth(t *testing.T, chainID int64, genesisTime uint64) string {
	t.Helper()
	stack, err := node.New(&node.Config{
		HTTPHost: "127.0.0.1", HTTPModules: []string{"eth"},
		P2P: p2p.Config{NoDiscovery: true, NoDial: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stack.Close() })
	chain := *params.MergedTestChainConfig
	chain.ChainID = big.NewInt(chainID)
	cfg := ethconfig.Defaults
	cfg.Genesis = &core.Genesis{
		Config: &chain, Timestamp: genesisTime, Difficulty: new(big.Int), GasLimit: 30e6,
		Alloc: types.GenesisAlloc(core.SystemContractAllocs()),
	}
	cfg.SyncMode = ethconfig.FullSync
	cfg.DatabaseCache, cfg.TrieCleanCache, cfg.TrieDirtyCache, cfg.SnapshotCache = 16, 16, 16, 16
	if _, err := eth.New(stack, &cfg); err != nil {
		t.Fatal(err)
	}
	if err := stack.Start(); err != nil {
		t.Fatal(err)
	}
	return stack.HTTPEndpoint()
}

func TestAttach(t *testing.T) {
	a, b := geth(t, 7, 1), geth(t, 7, 1)
	n, err := Attach(t.Context(), Endpoints{HTTP: []string{a, b}})
	if err != nil {
		t.Fatal(err)
	}
	nodes := n.Nodes()
	if len(nodes) != 2 || nodes[0].Name != "n1" || nodes[0].HTTP != a || nodes[1].Name != "n2" || nodes[1].HTTP != b {
		t.Errorf("nodes %+v", nodes)
	}
	if n.ChainID() != 7 || n.Genesis() == [32]byte{} {
		t.Errorf("chain id %d, genesis %s", n.ChainID(), n.Genesis())
	}
	for range 2 {
		if err := n.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}
	if _, err := Attach(t.Context(), Endpoints{HTTP: []string{a}}); err != nil {
		t.Errorf("after Close the nodes are gone: %v", err)
	}
}

func TestAttachRefuses(t *testing.T) {
	good := geth(t, 7, 1)
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<html>hello</html>") }))
	defer page.Close()
	// A node that has dropped its oldest blocks.
	pruned := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		result := "null"
		if strings.Contains(string(body), "eth_chainId") {
			result = `"0x7"`
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":1,"result":%s}`, result)
	}))
	defer pruned.Close()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dead := "http://" + ln.Addr().String()
	ln.Close()

	for _, test := range []struct {
		name string
		urls []string
		want []string // parts of the message
	}{
		{"nothing", nil, []string{"--rpc: empty"}},
		{"an empty value", []string{""}, []string{`--rpc ""`, "http://"}},
		{"no scheme", []string{"127.0.0.1:8545"}, []string{`--rpc "127.0.0.1:8545"`, "http://"}},
		{"another scheme", []string{"ws://127.0.0.1:8546"}, []string{`--rpc "ws://127.0.0.1:8546"`, "http://"}},
		{"no host", []string{"http:///x"}, []string{`--rpc "http:///x"`, "no host"}},
		{"the same twice", []string{good, good}, []string{good, "twice"}},
		{"the same with a slash", []string{good, good + "/"}, []string{good + "/", "twice"}},
		{"nobody there", []string{good, dead}, []string{dead, "refused"}},
		{"a web page", []string{page.URL}, []string{page.URL, "eth_chainId"}},
		{"no block 0", []string{pruned.URL}, []string{pruned.URL, "block 0"}},
		{"another chain id", []string{good, geth(t, 8, 1)}, []string{"chain id 8", "chain id 7", "one network"}},
		{"another genesis", []string{good, geth(t, 7, 2)}, []string{"genesis 0x", "one network"}},
		{"two wrong at once", []string{"x", dead, "y"}, []string{`--rpc "x"`, `--rpc "y"`}},
	} {
		n, err := Attach(t.Context(), Endpoints{HTTP: test.urls})
		if err == nil {
			t.Errorf("%s: attached to %v", test.name, n.Nodes())
			continue
		}
		for _, part := range test.want {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: error %q does not say %q", test.name, err, part)
			}
		}
	}
}
