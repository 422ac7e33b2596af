// Package ask puts the few questions to a node by which a network knows whether
// the node is ready, and whose turn it is. Each is one connection and one request; the context bounds
// it.
//
// It is not for what is recorded or judged: that is the client's.
package ask

import (
	"context"
	"encoding/json"
	"errors"
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
	Validator  string // address of its key, in hex
}

// Comet asks the CometBFT RPC at a URL for its status.
func Comet(ctx context.Context, url string) (Sync, error) {
	var answer struct {
		Sync struct {
			Height     uint64 `json:"latest_block_height,string"`
			CatchingUp *bool  `json:"catching_up"`
		} `json:"sync_info"`
		Validator struct {
			Address string `json:"address"`
		} `json:"validator_info"`
	}
	if err := comet(ctx, url+"/status", &answer); err != nil {
		return Sync{}, fmt.Errorf("cometbft status: %w", err)
	}
	if answer.Sync.CatchingUp == nil {
		return Sync{}, errors.New("cometbft status: no catching_up")
	}
	return Sync{Height: answer.Sync.Height, CatchingUp: *answer.Sync.CatchingUp, Validator: answer.Validator.Address}, nil
}

// Proposer asks the CometBFT RPC at a URL whose turn it is to propose the block that
// is being agreed on: a validator's address, in hex.
func Proposer(ctx context.Context, url string) (address string, err error) {
	var answer struct {
		Round struct {
			Proposer struct {
				Address string `json:"address"`
			} `json:"proposer"`
		} `json:"round_state"`
	}
	if err := comet(ctx, url+"/consensus_state", &answer); err != nil {
		return "", fmt.Errorf("cometbft consensus state: %w", err)
	}
	if address = answer.Round.Proposer.Address; address == "" {
		return "", errors.New("cometbft consensus state: no proposer")
	}
	return address, nil
}

// comet reads what CometBFT answers to a GET into result.
func comet(ctx context.Context, url string, result any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return errors.New(resp.Status)
	}
	answer := struct {
		Result any `json:"result"`
	}{result}
	return json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(&answer)
}
