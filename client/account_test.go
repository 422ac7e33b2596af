package client

import (
	"math/big"
	"testing"

	"github.com/ethereum/go-ethereum/common"
)

// TestSignaturesDiffer: a transaction that was signed and never sent is told from
// the next one of the same nonce that does the same.
func TestSignaturesDiffer(t *testing.T) {
	accounts := NewAccounts("differ")
	accounts.Addresses(1)
	a, err := accounts.Next()
	if err != nil {
		t.Fatal(err)
	}
	seen := make(map[common.Hash]bool)
	for _, legacy := range []bool{false, true} {
		for range 3 {
			tx, err := a.sign(Fees{ChainID: big.NewInt(1), Legacy: legacy, Tip: big.NewInt(1), Cap: big.NewInt(2)}, Action{Data: []byte{1}, Gas: 21000})
			if err != nil {
				t.Fatal(err)
			}
			if seen[tx.Hash] || tx.Nonce != 0 {
				t.Errorf("transaction %s of nonce %d: want one that was not there before, of nonce 0", tx.Hash, tx.Nonce)
			}
			seen[tx.Hash] = true
		}
	}
}
