// Package attach joins a network that runs already, by the URLs of its nodes.
//
// It makes sure that the URLs are nodes of one network. It has no power over
// processes and links, and closing it stops nothing.
package attach

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/jepgo/jepgo/devnet"
)

// Network is an attached network.
type Network struct {
	nodes   []devnet.Node
	chainID uint64
	genesis common.Hash
}

var _ devnet.Network = (*Network)(nil)

// askTimeout bounds all questions to one node.
const askTimeout = 10 * time.Second

// Attach asks every URL for its chain id and genesis hash, at the same time, and
// names the nodes n1, n2 and so on in the order given. The errors name each URL
// that is no good, as a value of --rpc. It takes at most ten seconds.
func Attach(ctx context.Context, urls []string) (*Network, error) {
	if len(urls) == 0 {
		return nil, errors.New("--rpc: empty, expected http:// or https:// URLs with commas between them")
	}
	n := &Network{nodes: make([]devnet.Node, len(urls))}
	errs := make([]error, len(urls))
	for i, raw := range urls {
		errs[i] = checkURL(raw)
		if errs[i] == nil && slices.ContainsFunc(urls[:i], func(other string) bool {
			return strings.TrimRight(other, "/") == strings.TrimRight(raw, "/") // one node would pass for two
		}) {
			errs[i] = fmt.Errorf("--rpc %q: given twice, expected a URL for each node", raw)
		}
		n.nodes[i] = devnet.Node{Name: "n" + strconv.Itoa(i+1), HTTP: raw}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	chains := make([]chain, len(urls))
	var wg sync.WaitGroup
	for i, raw := range urls {
		wg.Go(func() { chains[i], errs[i] = ask(ctx, raw) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	for i, c := range chains[1:] {
		if c != chains[0] {
			errs = append(errs, fmt.Errorf("--rpc %q: has %s, but %q has %s: expected nodes of one network", urls[i+1], c, urls[0], chains[0]))
		}
	}
	n.chainID, n.genesis = chains[0].id, chains[0].genesis
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return n, nil
}

// Nodes lists the nodes in the order of their URLs.
func (n *Network) Nodes() []devnet.Node { return slices.Clone(n.nodes) }

// ChainID is the chain id that all nodes report.
func (n *Network) ChainID() uint64 { return n.chainID }

// Genesis is the hash of block 0 that all nodes report.
func (n *Network) Genesis() common.Hash { return n.genesis }

// Close does nothing: the network belongs to somebody else.
func (n *Network) Close(context.Context) error { return nil }

func checkURL(raw string) error {
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return fmt.Errorf("--rpc %q: no URL, expected one as http://127.0.0.1:8545", raw)
	case u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("--rpc %q: expected a URL that begins with http:// or https://", raw)
	case u.Hostname() == "":
		return fmt.Errorf("--rpc %q: has no host, expected a URL as http://127.0.0.1:8545", raw)
	}
	return nil
}

// chain is what identifies a network.
type chain struct {
	id      uint64
	genesis common.Hash
}

// String renders the chain for an error.
func (c chain) String() string { return fmt.Sprintf("chain id %d and genesis %s", c.id, c.genesis) }

func ask(ctx context.Context, raw string) (chain, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	client, err := rpc.DialContext(ctx, raw)
	if err != nil {
		return chain{}, fmt.Errorf("--rpc %q: %w", raw, err)
	}
	defer client.Close()
	var id *hexutil.Big
	if err := client.CallContext(ctx, &id, "eth_chainId"); err != nil {
		return chain{}, fmt.Errorf("--rpc %q: expected an Ethereum JSON-RPC server that answers eth_chainId: %w", raw, err)
	}
	if id == nil || !id.ToInt().IsUint64() {
		return chain{}, fmt.Errorf("--rpc %q: eth_chainId answers %v, expected a number of at most 64 bits", raw, id)
	}
	var genesis *struct {
		Hash common.Hash `json:"hash"`
	}
	if err := client.CallContext(ctx, &genesis, "eth_getBlockByNumber", "0x0", false); err != nil {
		return chain{}, fmt.Errorf("--rpc %q: expected an answer to eth_getBlockByNumber of block 0: %w", raw, err)
	}
	if genesis == nil || genesis.Hash == (common.Hash{}) {
		return chain{}, fmt.Errorf("--rpc %q: does not serve block 0, expected a node that does, to tell its network by", raw)
	}
	return chain{id: id.ToInt().Uint64(), genesis: genesis.Hash}, nil
}
