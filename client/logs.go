package client

import (
	"context"
	"encoding/json"
	"math"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
)

// BlockLog is a log as the answer to a query has it: with its place.
type BlockLog struct {
	Log
	Number    uint64
	BlockHash common.Hash
	Tx        common.Hash
}

// LogsOf asks for the logs of a contract in the block with that hash (EIP-234).
func (c *Client) LogsOf(ctx context.Context, contract common.Address, hash common.Hash) ([]BlockLog, error) {
	reqs := []request{logsRequest(map[string]any{"address": contract, "blockHash": hash})}
	c.batch(ctx, reqs)
	logs, err := c.logs(&reqs[0], contract)
	if err != nil {
		return nil, err
	}
	for _, l := range logs {
		if l.BlockHash != hash {
			return nil, c.fault(reqs[0].method, malformed("logs of block %s were asked for, one of %s answered", hash, l.BlockHash))
		}
	}
	return logs, nil
}

// RangeLogs is the answer to a query for a range of heights, with the header
// that the same batch gave for the last of them just before and just after it:
// the node had that block when it answered. When both are the same block, and
// the node did not change its mind twice within a batch, the logs are of the
// chain that ends there.
type RangeLogs struct {
	Logs          []BlockLog
	Before, After Header
}

// LogsBetween asks for the logs of a contract from one height to another, both
// included. A node that does not have the last block gives the error of an absent
// block.
func (c *Client) LogsBetween(ctx context.Context, contract common.Address, from, to uint64) (RangeLogs, error) {
	last := hexutil.EncodeUint64(to)
	reqs := []request{
		blockRequest(last, false),
		logsRequest(map[string]any{"address": contract, "fromBlock": hexutil.EncodeUint64(from), "toBlock": last}),
		blockRequest(last, false),
	}
	c.batch(ctx, reqs)
	var out RangeLogs
	var err error
	if out.Before, err = c.header(&reqs[0]); err != nil {
		return RangeLogs{}, err
	}
	if out.Logs, err = c.logs(&reqs[1], contract); err != nil {
		return RangeLogs{}, err
	}
	if out.After, err = c.header(&reqs[2]); err != nil {
		return RangeLogs{}, err
	}
	if out.Before.Number != to || out.After.Number != to {
		return RangeLogs{}, c.fault(reqs[0].method, malformed("block %d was asked for, %d and %d answered", to, out.Before.Number, out.After.Number))
	}
	for _, l := range out.Logs {
		if l.Number < from || l.Number > to {
			return RangeLogs{}, c.fault(reqs[1].method, malformed("logs of blocks %d to %d were asked for, one of %d answered", from, to, l.Number))
		}
	}
	return out, nil
}

func logsRequest(filter map[string]any) request {
	return request{method: "eth_getLogs", args: []any{filter}}
}

// logs decodes the answer to a query for the logs of a contract.
func (c *Client) logs(r *request, contract common.Address) ([]BlockLog, error) {
	if r.err != nil {
		return nil, r.err
	}
	if r.absent() {
		return nil, c.fault(r.method, malformed("answer is null, want a list of logs"))
	}
	var wire []struct {
		Address   *common.Address `json:"address"`
		Topics    []common.Hash   `json:"topics"`
		Data      *hexutil.Bytes  `json:"data"`
		Number    *hexutil.Uint64 `json:"blockNumber"`
		BlockHash *common.Hash    `json:"blockHash"`
		Tx        *common.Hash    `json:"transactionHash"`
		Index     *hexutil.Uint64 `json:"logIndex"`
	}
	if err := json.Unmarshal(r.raw, &wire); err != nil {
		return nil, c.fault(r.method, malformed("logs: %v", err))
	}
	out := make([]BlockLog, len(wire))
	for i, l := range wire {
		if l.Address == nil || l.Data == nil || l.Number == nil || l.BlockHash == nil || l.Tx == nil || count(l.Index) < 0 || uint64(*l.Number) > math.MaxInt64 {
			return nil, c.fault(r.method, malformed("log %d lacks a proper address, data, blockNumber, blockHash, transactionHash or logIndex", i))
		}
		if *l.Address != contract {
			return nil, c.fault(r.method, malformed("logs of %s were asked for, one of %s answered", contract, *l.Address))
		}
		out[i] = BlockLog{
			Log:    Log{Address: *l.Address, Topics: l.Topics, Data: *l.Data, Index: count(l.Index)},
			Number: uint64(*l.Number), BlockHash: *l.BlockHash, Tx: *l.Tx,
		}
	}
	return out, nil
}
