package client

import (
	"context"
	"math"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
)

// Pool is what a node holds of transactions that are in no block: a sample, which
// changes all the time.
type Pool struct {
	Pending, Queued int64         // all of them, those that could be included next and those that could not
	Of              []common.Hash // those of the senders that were asked for, sorted
}

// Pool asks for the size of the node's pool and for what it has of these senders
// (txpool_status and txpool_contentFrom), in one batch.
func (c *Client) Pool(ctx context.Context, senders []common.Address) (Pool, error) {
	reqs := []request{{method: "txpool_status"}}
	for _, who := range senders {
		reqs = append(reqs, request{method: "txpool_contentFrom", args: []any{who}})
	}
	c.batch(ctx, reqs)
	status, err := decode[struct {
		Pending *hexutil.Uint64 `json:"pending"`
		Queued  *hexutil.Uint64 `json:"queued"`
	}](c, &reqs[0])
	if err != nil {
		return Pool{}, err
	}
	p := Pool{Pending: count(status.Pending), Queued: count(status.Queued)}
	if p.Pending < 0 || p.Queued < 0 {
		return Pool{}, c.fault(reqs[0].method, malformed("answer lacks a proper pending or queued, want numbers up to %d", int64(math.MaxInt64)))
	}
	for i := range senders {
		r := &reqs[1+i]
		lists, err := decode[map[string]map[string]*struct {
			Hash *common.Hash `json:"hash"`
		}](c, r)
		if err != nil {
			return Pool{}, err
		}
		for _, list := range lists {
			for _, tx := range list {
				if tx == nil || tx.Hash == nil {
					return Pool{}, c.fault(r.method, malformed("transaction of %s has no hash", senders[i]))
				}
				p.Of = append(p.Of, *tx.Hash)
			}
		}
	}
	slices.SortFunc(p.Of, common.Hash.Cmp)
	return p, nil
}
