// Package ask puts the few questions to a node by which a network knows whether
// the node is ready. Each is one connection and one request; the context bounds
// it.
//
// It is not for what is recorded or judged: that is the client's.
package ask

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/rpc"
)

// Height is the height of the newest block that a node serves at a URL of its
// JSON-RPC.
func Height(ctx context.Context, url string) (uint64, error) {
	client, err := rpc.DialContext(ctx, url)
	if err != nil {
		return 0, err
	}
	defer client.Close()
	var height hexutil.Uint64
	if err := client.CallContext(ctx, &height, "eth_blockNumber"); err != nil {
		return 0, err
	}
	return uint64(height), nil
}

// Syncing is what a node answers to eth_syncing: false, or how far it is.
func Syncing(ctx context.Context, url string) (bool, error) {
	client, err := rpc.DialContext(ctx, url)
	if err != nil {
		return false, err
	}
	defer client.Close()
	var answer json.RawMessage
	if err := client.CallContext(ctx, &answer, "eth_syncing"); err != nil {
		return false, err
	}
	return string(answer) != "false", nil
}

// Sync is what CometBFT says of itself.
type Sync struct {
	Height     uint64 // of the newest block in its store
	CatchingUp bool
}

// Comet asks the CometBFT RPC at a URL for its status.
func Comet(ctx context.Context, url string) (Sync, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/status", nil)
	if err != nil {
		return Sync{}, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return Sync{}, err
	}
	defer resp.Body.Close()
	var answer struct {
		Result struct {
			Sync struct {
				Height     uint64 `json:"latest_block_height,string"`
				CatchingUp *bool  `json:"catching_up"`
			} `json:"sync_info"`
		} `json:"result"`
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(&answer); err != nil {
		return Sync{}, fmt.Errorf("cometbft status: %w", err)
	}
	sync := answer.Result.Sync
	if resp.StatusCode != http.StatusOK || sync.CatchingUp == nil {
		return Sync{}, fmt.Errorf("cometbft status: %s without catching_up", resp.Status)
	}
	return Sync{Height: sync.Height, CatchingUp: *sync.CatchingUp}, nil
}
