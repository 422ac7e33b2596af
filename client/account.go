package client

import (
	"crypto/ecdsa"
	"fmt"
	"math/big"
	"sync"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
)

// Accounts is a sequence of accounts that follows from a seed: the same seed
// gives the same keys. Each is handed out once. It is safe for concurrent use.
//
// The keys are as secret as the seed: they are for test money only.
type Accounts struct {
	seed string

	mu     sync.Mutex
	ready  int            // accounts 0 to ready-1 have funds
	next   int            // the next to hand out
	nonces map[int]uint64 // first nonce of an account, where it is not 0
}

// NewAccounts returns the accounts of a seed, none of them funded yet.
func NewAccounts(seed string) *Accounts {
	return &Accounts{seed: seed, nonces: make(map[int]uint64)}
}

// Addresses lists the first n addresses ("0x…", checksummed), for the
// allocation of a genesis, and lets Next hand out that many. Cost: about 50 µs
// an address.
func (a *Accounts) Addresses(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = crypto.PubkeyToAddress(a.key(i).PublicKey).Hex()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ready = max(a.ready, n)
	return out
}

// Next hands out an account with funds that nobody has had before.
func (a *Accounts) Next() (*Account, error) {
	a.mu.Lock()
	i, nonce := a.next, a.nonces[a.next]
	if i >= a.ready {
		a.mu.Unlock()
		return nil, fmt.Errorf("accounts are used up: all %d that were funded have been handed out", i)
	}
	a.next++
	a.mu.Unlock()
	return newAccount(a.key(i), nonce), nil
}

// Left is the number of accounts that Next can still hand out.
func (a *Accounts) Left() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return max(0, a.ready-a.next)
}

// key derives account i. A digest that is no key of the curve (one in 2^128) is
// hashed again.
func (a *Accounts) key(i int) *ecdsa.PrivateKey {
	digest := crypto.Keccak256(fmt.Appendf(nil, "%s/%d", a.seed, i))
	for {
		key, err := crypto.ToECDSA(digest)
		if err == nil {
			return key
		}
		digest = crypto.Keccak256(digest)
	}
}

// Account signs transactions and counts their nonces by itself. It belongs to
// one goroutine.
type Account struct {
	Address common.Address
	key     *ecdsa.PrivateKey
	nonce   uint64 // of the next transaction
	signed  uint64 // transactions so far, those that were never sent among them
}

func newAccount(key *ecdsa.PrivateKey, nonce uint64) *Account {
	return &Account{Address: crypto.PubkeyToAddress(key.PublicKey), key: key, nonce: nonce}
}

// Action is what a transaction is to do.
type Action struct {
	To    *common.Address // nil creates a contract from Data
	Data  []byte
	Value *big.Int // wei; nil for none
	Gas   uint64   // gas limit
}

// Tx is a signed transaction.
type Tx struct {
	Hash  common.Hash
	From  common.Address
	Nonce uint64
	Raw   []byte
}

// sign makes the transaction with the account's next nonce, without using the
// nonce up. No two are alike, also of one nonce and one action: what was refused,
// and then done by the next operation, would else seem to have happened.
func (a *Account) sign(fees Fees, do Action) (Tx, error) {
	do.Gas += a.signed // a limit: nobody pays for it
	a.signed++
	var body types.TxData
	if fees.Legacy {
		body = &types.LegacyTx{Nonce: a.nonce, GasPrice: fees.Cap, Gas: do.Gas, To: do.To, Value: do.Value, Data: do.Data}
	} else {
		body = &types.DynamicFeeTx{
			ChainID: fees.ChainID, Nonce: a.nonce, GasTipCap: fees.Tip, GasFeeCap: fees.Cap,
			Gas: do.Gas, To: do.To, Value: do.Value, Data: do.Data,
		}
	}
	tx, err := types.SignNewTx(a.key, types.LatestSignerForChainID(fees.ChainID), body)
	if err != nil {
		return Tx{}, fmt.Errorf("transaction of %s: %w", a.Address, err)
	}
	raw, err := tx.MarshalBinary()
	if err != nil {
		return Tx{}, fmt.Errorf("transaction of %s: %w", a.Address, err)
	}
	return Tx{Hash: tx.Hash(), From: a.Address, Nonce: a.nonce, Raw: raw}, nil
}
