package client

import (
	"context"
	"crypto/ecdsa"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/jepgo/jepgo/history"
)

const (
	transferGas  = 21_000
	fundInFlight = 16              // geth keeps 16 transactions of a sender for sure
	fundPatience = 2 * time.Minute // for one transfer to be included
	// accountGas is what one account can pay for at a tenth of the highest price
	// (all of it where there is no base fee): some 400 transactions of 50,000.
	// At the highest price it still affords the two million that a deployment
	// may reserve.
	accountGas = 20_000_000
)

// Fund gives the first n accounts money from a faucet on a running network and
// lets Next hand them out. faucetKey is a private key in hex. Accounts that have
// enough already, of an earlier run with the same seed, get nothing. At most 16
// transfers are in flight. Cost: a block's time for each 16 accounts.
func (a *Accounts) Fund(ctx context.Context, c *Client, faucetKey string, n int) error {
	key, err := faucet(faucetKey)
	if err != nil {
		return err
	}
	fees, err := c.Fees(ctx)
	if err != nil {
		return fmt.Errorf("faucet: %w", err)
	}
	amount := fees.cost(accountGas)
	if !fees.Legacy {
		amount.Div(amount, big.NewInt(10))
	}
	poor, err := a.survey(ctx, c, amount, n)
	if err != nil {
		return err
	}
	if err := transfer(ctx, c, key, fees, amount, poor); err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ready = max(a.ready, n)
	return nil
}

func faucet(hex string) (*ecdsa.PrivateKey, error) {
	hex = strings.TrimPrefix(strings.TrimSpace(hex), "0x")
	if hex == "" {
		return nil, errors.New("faucet has no key: give the private key of an account with funds on this network with --key")
	}
	key, err := crypto.HexToECDSA(hex)
	if err != nil {
		// The key itself is a secret and stays out of the message.
		return nil, fmt.Errorf("faucet key of %d characters is no private key: --key wants 64 hex digits", len(hex))
	}
	return key, nil
}

// survey notes the nonces of the first n accounts and lists those with less
// than amount.
func (a *Accounts) survey(ctx context.Context, c *Client, amount *big.Int, n int) ([]common.Address, error) {
	var poor []common.Address
	for i := range n {
		who := crypto.PubkeyToAddress(a.key(i).PublicKey)
		balance, err := c.Balance(ctx, who)
		if err != nil {
			return nil, fmt.Errorf("account %s: %w", who, err)
		}
		if balance.Cmp(amount) < 0 {
			poor = append(poor, who)
		}
		nonce, err := c.Nonce(ctx, who, "pending")
		if err != nil {
			return nil, fmt.Errorf("account %s: %w", who, err)
		}
		a.mu.Lock()
		a.nonces[i] = nonce
		a.mu.Unlock()
	}
	return poor, nil
}

// transfer sends amount to each address and waits for all receipts.
func transfer(ctx context.Context, c *Client, key *ecdsa.PrivateKey, fees Fees, amount *big.Int, to []common.Address) error {
	if len(to) == 0 {
		return nil
	}
	from := newAccount(key, 0)
	have, err := c.Balance(ctx, from.Address)
	if err != nil {
		return fmt.Errorf("faucet %s: %w", from.Address, err)
	}
	need := new(big.Int).Add(amount, fees.cost(transferGas))
	need.Mul(need, big.NewInt(int64(len(to))))
	if have.Cmp(need) < 0 {
		return fmt.Errorf("faucet %s has %s, and %d accounts need %s: send it more, or name another account with --key",
			from.Address, ether(have), len(to), ether(need))
	}
	if from.nonce, err = c.Nonce(ctx, from.Address, "pending"); err != nil {
		return fmt.Errorf("faucet %s: %w", from.Address, err)
	}
	for len(to) > 0 {
		chunk := to[:min(fundInFlight, len(to))]
		to = to[len(chunk):]
		if err := transferChunk(ctx, c, from, fees, amount, chunk); err != nil {
			return err
		}
	}
	return nil
}

func transferChunk(ctx context.Context, c *Client, from *Account, fees Fees, amount *big.Int, to []common.Address) error {
	ctx, cancel := context.WithTimeout(ctx, fundPatience)
	defer cancel()
	results := make(chan error, len(to))
	for _, who := range to {
		// Each transfer has its own nonce from the start, so that they can be in
		// flight together; a failed one leaves a gap, and then all of them fail.
		one := &Account{Address: from.Address, key: from.key, nonce: from.nonce}
		from.nonce++
		go func() {
			r := c.Execute(ctx, one, fees, Action{To: &who, Value: amount, Gas: transferGas})
			if r.Type == history.OK {
				results <- nil
				return
			}
			results <- fmt.Errorf("faucet %s: transfer to %s: %s: %s", from.Address, who, r.Class, r.Text)
		}()
	}
	var first error
	for range to {
		if err := <-results; err != nil && first == nil {
			first = err
			cancel()
		}
	}
	return first
}

// ether renders wei as ETH.
func ether(wei *big.Int) string {
	f := new(big.Float).Quo(new(big.Float).SetInt(wei), big.NewFloat(1e18))
	return f.Text('g', 6) + " ETH"
}
