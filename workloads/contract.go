package workloads

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"math/big"
	"time"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"

	"github.com/jepgo/jepgo/client"
	"github.com/jepgo/jepgo/history"
)

// artifacts are what the sources beside them compile to; contracts/compile.mjs
// says how to make them anew.
//
//go:embed contracts/*.json
var artifacts embed.FS

const (
	deployGas = 1_500_000 // a third of it is used before Amsterdam
	callGas   = 400_000   // two words that were nothing before take about 50,000, with Amsterdam four times as much
)

// contract is one of our contracts at its address.
type contract struct {
	name    string
	abi     abi.ABI
	code    []byte // creation code
	address common.Address
	height  uint64 // of the block that holds the deployment
	block   common.Hash
}

// loadContract reads the artifact of that name, which is that of its source:
// Register, say.
func loadContract(name string) (*contract, error) {
	text, err := artifacts.ReadFile("contracts/" + name + ".json")
	if err != nil {
		return nil, fmt.Errorf("contract %s: %w", name, err)
	}
	var artifact struct {
		ABI      json.RawMessage `json:"abi"`
		Bytecode string          `json:"bytecode"`
	}
	if err := json.Unmarshal(text, &artifact); err != nil {
		return nil, fmt.Errorf("contract %s: %w", name, err)
	}
	c := &contract{name: name, code: common.FromHex(artifact.Bytecode)}
	if err := json.Unmarshal(artifact.ABI, &c.abi); err != nil {
		return nil, fmt.Errorf("contract %s: %w", name, err)
	}
	return c, nil
}

// deployed loads a contract, creates it through the first node, and returns once
// every node has it. Arguments are those of its constructor.
func deployed(ctx context.Context, env Env, name string, args ...any) (*contract, error) {
	if len(env.Nodes) == 0 {
		return nil, fmt.Errorf("contract %s has no nodes to be on, want at least one", name)
	}
	c, err := loadContract(name)
	if err != nil {
		return nil, err
	}
	tail, err := c.abi.Pack("", args...)
	if err != nil {
		return nil, fmt.Errorf("contract %s: %w", name, err)
	}
	via := env.Nodes[0]
	r := via.Execute(ctx, env.Deployer, env.Fees, client.Action{Data: append(c.code, tail...), Gas: deployGas})
	if r.Type != history.OK {
		return nil, fmt.Errorf("contract %s: not deployed by %s through node %s: %s: %s", name, env.Deployer.Address, via.Name(), r.Class, r.Text)
	}
	if r.Receipt.Contract == nil {
		return nil, fmt.Errorf("contract %s: receipt of %s from node %s names no contract", name, r.Tx, via.Name())
	}
	c.address, c.height, c.block = *r.Receipt.Contract, r.Receipt.Number, r.Receipt.BlockHash
	for _, n := range env.Nodes {
		if err := c.awaitCode(ctx, n); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func (c *contract) awaitCode(ctx context.Context, n *client.Client) error {
	poll := time.NewTicker(100 * time.Millisecond)
	defer poll.Stop()
	for {
		code, err := n.Code(ctx, c.address)
		if err == nil && len(code) > 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			if err == nil {
				err = ctx.Err()
			}
			return fmt.Errorf("contract %s: node %s does not have block %d with it: %w", c.name, n.Name(), c.height, err)
		case <-poll.C:
		}
	}
}

// call encodes a transaction that calls a method.
func (c *contract) call(gas uint64, method string, args ...any) (client.Action, error) {
	data, err := c.abi.Pack(method, args...)
	return client.Action{To: &c.address, Data: data, Gas: gas}, err
}

// decode reads the calldata of a transaction to the contract; ok is false for
// what calls none of its methods.
func (c *contract) decode(tx client.BlockTx) (method string, args []any, ok bool) {
	if tx.To == nil || *tx.To != c.address || len(tx.Input) < 4 {
		return "", nil, false
	}
	m, err := c.abi.MethodById(tx.Input[:4])
	if err != nil {
		return "", nil, false
	}
	args, err = m.Inputs.Unpack(tx.Input[4:])
	if err != nil {
		return "", nil, false
	}
	return m.Name, args, true
}

// events lists the logs of that event in a receipt.
func (c *contract) events(r *client.Receipt, name string) []client.Log {
	var out []client.Log
	for _, l := range r.Logs {
		if l.Address == c.address && len(l.Topics) > 0 && l.Topics[0] == c.abi.Events[name].ID {
			out = append(out, l)
		}
	}
	return out
}

// unpack decodes what a method returned, or what an event has in its data. It
// wants exactly those bytes that encode it.
func unpack(args abi.Arguments, data []byte) ([]any, error) {
	values, err := args.Unpack(data)
	if err != nil {
		return nil, err
	}
	again, err := args.Pack(values...)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(again, data) {
		return nil, fmt.Errorf("%d bytes are not the encoding of what they say, which has %d", len(data), len(again))
	}
	return values, nil
}

// viewed is the answer to a local read.
type viewed struct {
	values []any // without number and parent
	number uint64
	hash   common.Hash // zero when it could not be told which block of that number it was
}

// view calls a method on the node's own state at a tag. The last two values that
// it returns have to be the number and the parent's hash of the block.
func (c *contract) view(ctx context.Context, n *client.Client, tag, method string, args ...any) (viewed, error) {
	data, err := c.abi.Pack(method, args...)
	if err != nil {
		return viewed{}, err
	}
	called, err := n.CallAt(ctx, c.address, data, tag)
	if err != nil {
		return viewed{}, err
	}
	if len(called.Data) == 0 {
		return viewed{}, noContract{tag}
	}
	values, err := unpack(c.abi.Methods[method].Outputs, called.Data)
	if err != nil {
		return viewed{}, fmt.Errorf("answer to %s: %w", method, err)
	}
	last := len(values) - 2
	number, isNumber := values[last].(*big.Int)
	parent, isHash := values[last+1].([32]byte)
	if !isNumber || !isHash || !number.IsInt64() {
		return viewed{}, fmt.Errorf("answer to %s names block %v, which cannot be", method, values[last])
	}
	out := viewed{values: values[:last], number: number.Uint64()}
	out.hash = identify(ctx, n, called, out.number, parent)
	return out, nil
}

// viewAt calls a method on the state after the block with that hash.
func (c *contract) viewAt(ctx context.Context, n *client.Client, hash common.Hash, method string, args ...any) ([]any, error) {
	data, err := c.abi.Pack(method, args...)
	if err != nil {
		return nil, err
	}
	answer, err := n.CallAtHash(ctx, c.address, data, hash)
	if err != nil {
		return nil, err
	}
	if len(answer) == 0 {
		return nil, noContract{hash.Hex()}
	}
	values, err := unpack(c.abi.Methods[method].Outputs, answer)
	if err != nil {
		return nil, fmt.Errorf("answer to %s: %w", method, err)
	}
	return values, nil
}

// identify finds the block of that number and parent that a call was answered
// from. A batch is not atomic: the head may move, or even be replaced, between
// its parts. So the headers before and after the call are both asked; two
// siblings at that number leave it open, for either may have answered.
func identify(ctx context.Context, n *client.Client, called client.Called, number uint64, parent common.Hash) common.Hash {
	is := func(h client.Header) bool { return h.Number == number && h.Parent == parent }
	before, after := is(called.Before), is(called.After)
	switch {
	case before && after && called.Before.Hash != called.After.Hash:
		return common.Hash{}
	case before:
		return called.Before.Hash
	case after:
		return called.After.Hash
	}
	answer := n.Headers(ctx, []uint64{number})[0]
	if answer.Err == nil && is(answer.Value) {
		return answer.Value.Hash
	}
	return common.Hash{}
}

// noContract says that the block at a tag, or with a hash, is from before the
// deployment.
type noContract struct{ at string }

func (e noContract) Error() string { return "contract is not there yet at " + e.at }

// unsigned is a number as contracts take it.
func unsigned(n int64) *big.Int { return big.NewInt(n) }

// small renders the small numbers that a contract lists.
func small(v any) history.Value {
	list, _ := v.([]uint32) // as its ABI says
	out := make([]history.Value, len(list))
	for i, n := range list {
		out[i] = history.Int(int64(n))
	}
	return history.Vec(out...)
}
