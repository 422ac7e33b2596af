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

// Endpoints are the URLs of a network's nodes, in each list in the same order. WS
// and Comet have one for every node, or none at all.
type Endpoints struct {
	HTTP  []string // JSON-RPC over HTTP
	WS    []string // JSON-RPC over WebSocket
	Comet []string // CometBFT's own RPC
}

// list is one of the lists, by the flag that gives it.
type list struct {
	flag    string
	schemes []string
	urls    []string
}

func (e Endpoints) lists() []list {
	return []list{{"--rpc", []string{"http", "https"}, e.HTTP}, {"--ws", []string{"ws", "wss"}, e.WS}, {"--comet", []string{"http", "https"}, e.Comet}}
}

// Check reports each URL that can be none of its flag, and a list that is not as
// long as that of --rpc. It asks nobody.
func (e Endpoints) Check() error {
	if len(e.HTTP) == 0 {
		return errors.New("--rpc: empty, expected http:// or https:// URLs with commas between them")
	}
	var errs []error
	for _, l := range e.lists() {
		if len(l.urls) > 0 && len(l.urls) != len(e.HTTP) {
			errs = append(errs, fmt.Errorf("%s: has %d URLs and --rpc %d, expected one for each node, in the same order", l.flag, len(l.urls), len(e.HTTP)))
		}
		for i, raw := range l.urls {
			if err := l.check(raw); err != nil {
				errs = append(errs, err)
			} else if slices.ContainsFunc(l.urls[:i], func(other string) bool {
				return strings.TrimRight(other, "/") == strings.TrimRight(raw, "/") // one node would pass for two
			}) {
				errs = append(errs, fmt.Errorf("%s %q: given twice, expected a URL for each node", l.flag, raw))
			}
		}
	}
	return errors.Join(errs...)
}

// askTimeout bounds all questions to one node.
const askTimeout = 10 * time.Second

// Attach asks every URL for its chain id and genesis hash, at the same time, and
// names the nodes n1, n2 and so on in the order given. The errors name each URL
// that is no good, as a value of its flag. CometBFT is asked by the runner, which
// has a client for it. It takes at most ten seconds.
func Attach(ctx context.Context, e Endpoints) (*Network, error) {
	if err := e.Check(); err != nil {
		return nil, err
	}
	n := &Network{nodes: make([]devnet.Node, len(e.HTTP))}
	for i, raw := range e.HTTP {
		n.nodes[i] = devnet.Node{Name: "n" + strconv.Itoa(i+1), HTTP: raw}
		if len(e.WS) > 0 {
			n.nodes[i].WS = e.WS[i]
		}
		if len(e.Comet) > 0 {
			n.nodes[i].Comet = e.Comet[i]
		}
	}
	asked := slices.Concat(e.HTTP, e.WS)
	flag := func(i int) string {
		if i < len(e.HTTP) {
			return "--rpc"
		}
		return "--ws"
	}
	chains, errs := make([]chain, len(asked)), make([]error, len(asked))
	var wg sync.WaitGroup
	for i, raw := range asked {
		wg.Go(func() { chains[i], errs[i] = ask(ctx, flag(i), raw) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	for i, c := range chains[1:] {
		if c != chains[0] {
			errs = append(errs, fmt.Errorf("%s %q: has %s, but %q has %s: expected nodes of one network", flag(i+1), asked[i+1], c, asked[0], chains[0]))
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

func (l list) check(raw string) error {
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return fmt.Errorf("%s %q: no URL, expected one as %s://127.0.0.1:8545", l.flag, raw, l.schemes[0])
	case !slices.Contains(l.schemes, u.Scheme):
		return fmt.Errorf("%s %q: expected a URL that begins with %s://", l.flag, raw, strings.Join(l.schemes, ":// or "))
	case u.Hostname() == "":
		return fmt.Errorf("%s %q: has no host, expected a URL as %s://127.0.0.1:8545", l.flag, raw, l.schemes[0])
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

func ask(ctx context.Context, flag, raw string) (chain, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	client, err := rpc.DialContext(ctx, raw)
	if err != nil {
		return chain{}, fmt.Errorf("%s %q: %w", flag, raw, err)
	}
	defer client.Close()
	var id *hexutil.Big
	if err := client.CallContext(ctx, &id, "eth_chainId"); err != nil {
		return chain{}, fmt.Errorf("%s %q: expected an Ethereum JSON-RPC server that answers eth_chainId: %w", flag, raw, err)
	}
	if id == nil || !id.ToInt().IsUint64() {
		return chain{}, fmt.Errorf("%s %q: eth_chainId answers %v, expected a number of at most 64 bits", flag, raw, id)
	}
	var genesis *struct {
		Hash common.Hash `json:"hash"`
	}
	if err := client.CallContext(ctx, &genesis, "eth_getBlockByNumber", "0x0", false); err != nil {
		return chain{}, fmt.Errorf("%s %q: expected an answer to eth_getBlockByNumber of block 0: %w", flag, raw, err)
	}
	if genesis == nil || genesis.Hash == (common.Hash{}) {
		return chain{}, fmt.Errorf("%s %q: does not serve block 0, expected a node that does, to tell its network by", flag, raw)
	}
	return chain{id: id.ToInt().Uint64(), genesis: genesis.Hash}, nil
}
