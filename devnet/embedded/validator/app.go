package validator

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	abci "github.com/cometbft/cometbft/abci/types"
	"github.com/ethereum/go-ethereum/common"
)

// maxWait bounds how long a proposer holds back a block whose timestamp is still
// in the future.
const maxWait = 300 * time.Millisecond

// app is the state machine that CometBFT replicates: the EVM chain. It keeps no
// height of its own, geth's head is the height, so a crash leaves nothing to
// reconcile: CometBFT replays from there.
type app struct {
	abci.BaseApplication
	exec   *execution
	log    *slog.Logger
	next   common.Hash // finalized by FinalizeBlock, head after Commit
	failed chan error  // the first error that consensus cannot survive
}

func newApp(exec *execution, log *slog.Logger) *app {
	return &app{exec: exec, log: log, failed: make(chan error, 1)}
}

// fail reports an error that ends the node. CometBFT would keep the process
// alive with a stopped chain.
func (a *app) fail(err error) error {
	select {
	case a.failed <- err:
	default:
	}
	return err
}

func (a *app) Info(context.Context, *abci.RequestInfo) (*abci.ResponseInfo, error) {
	head := a.exec.head()
	info := &abci.ResponseInfo{Data: "jepgo", LastBlockHeight: head.Number.Int64()}
	if head.Number.Sign() > 0 {
		info.LastBlockAppHash = head.Hash().Bytes()
	}
	return info, nil
}

// InitChain answers with the EVM genesis hash: nodes that disagree about it
// disagree about block 1.
func (a *app) InitChain(context.Context, *abci.RequestInitChain) (*abci.ResponseInitChain, error) {
	return &abci.ResponseInitChain{AppHash: a.exec.eth.BlockChain().Genesis().Hash().Bytes()}, nil
}

// PrepareProposal never errs: an empty proposal only costs this proposer its
// round, an error would stop consensus for good.
func (a *app) PrepareProposal(ctx context.Context, req *abci.RequestPrepareProposal) (*abci.ResponsePrepareProposal, error) {
	data, err := a.propose(ctx, req)
	if err != nil {
		a.log.Error("proposal not made", "height", req.Height, "err", err)
		return &abci.ResponsePrepareProposal{}, nil
	}
	return &abci.ResponsePrepareProposal{Txs: [][]byte{data}}, nil
}

func (a *app) propose(ctx context.Context, req *abci.RequestPrepareProposal) ([]byte, error) {
	parent := a.exec.head()
	if req.Height != parent.Number.Int64()+1 {
		return nil, fmt.Errorf("head is %d", parent.Number)
	}
	timestamp := evmTime(parent.Time, req.Time)
	// Blocks that come a little faster than one a second would push EVM time
	// ahead of the clock for good; waiting here keeps it behind.
	if early := time.Until(time.Unix(int64(timestamp), 0)); early > 0 {
		select {
		case <-time.After(min(early, maxWait)):
		case <-ctx.Done():
		}
	}
	p, err := a.exec.build(ctx, parent, timestamp)
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > req.MaxTxBytes {
		return nil, fmt.Errorf("block takes %d bytes, want at most %d", len(data), req.MaxTxBytes)
	}
	return data, nil
}

func (a *app) ProcessProposal(ctx context.Context, req *abci.RequestProcessProposal) (*abci.ResponseProcessProposal, error) {
	if err := a.judge(ctx, req); err != nil {
		a.log.Warn("proposal rejected", "height", req.Height, "proposer", common.Bytes2Hex(req.ProposerAddress), "err", err)
		return &abci.ResponseProcessProposal{Status: abci.ResponseProcessProposal_REJECT}, nil
	}
	return &abci.ResponseProcessProposal{Status: abci.ResponseProcessProposal_ACCEPT}, nil
}

func (a *app) judge(ctx context.Context, req *abci.RequestProcessProposal) error {
	p, err := single(req.Txs)
	if err != nil {
		return err
	}
	parent := a.exec.head()
	if req.Height != parent.Number.Int64()+1 {
		return fmt.Errorf("head is %d", parent.Number)
	}
	if err := check(p, parent, req.Time); err != nil {
		return err
	}
	return a.exec.insert(ctx, p)
}

// FinalizeBlock executes the decided block but leaves the head alone: CometBFT
// stores the answer between this and Commit, and needs that record when a crash
// comes right after.
func (a *app) FinalizeBlock(ctx context.Context, req *abci.RequestFinalizeBlock) (*abci.ResponseFinalizeBlock, error) {
	p, err := single(req.Txs)
	if err == nil {
		err = check(p, a.exec.head(), req.Time)
	}
	if err == nil {
		err = a.exec.insert(ctx, p)
	}
	if err != nil {
		return nil, a.fail(fmt.Errorf("decided block %d: %w", req.Height, err))
	}
	a.next = p.Block.BlockHash
	return &abci.ResponseFinalizeBlock{
		TxResults: []*abci.ExecTxResult{{Code: abci.CodeTypeOK}},
		AppHash:   a.next.Bytes(),
	}, nil
}

func (a *app) Commit(context.Context, *abci.RequestCommit) (*abci.ResponseCommit, error) {
	if err := a.exec.setHead(a.next); err != nil {
		return nil, a.fail(fmt.Errorf("commit: %w", err))
	}
	if err := a.exec.sync(); err != nil {
		return nil, a.fail(fmt.Errorf("commit of %s: %w", a.next, err))
	}
	// RetainHeight stays 0: replay needs every block.
	return &abci.ResponseCommit{}, nil
}

// single decodes the one payload of a CometBFT block.
func single(txs [][]byte) (*payload, error) {
	if len(txs) != 1 {
		return nil, fmt.Errorf("consensus block holds %d payloads, want 1", len(txs))
	}
	return decodePayload(txs[0])
}
