package validator

import (
	"crypto/ecdsa"
	"fmt"
	"net"

	"github.com/cometbft/cometbft/crypto/ed25519"
	"github.com/cometbft/cometbft/p2p"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/p2p/enode"
)

// FaucetKey is the key of the account that holds the money of every jepgo
// devnet. It is the same in all of them and as good as published: never send it
// anything of value on another network.
func FaucetKey() *ecdsa.PrivateKey { return secp256k1("jepgo devnet faucet") }

// validatorKey signs the consensus votes of validator i.
func validatorKey(seed string, i int) ed25519.PrivKey {
	return ed25519.GenPrivKeyFromSecret([]byte(label(seed, "validator", i)))
}

// Address is the consensus address of validator i in hex, as CometBFT's RPC
// prints it.
func Address(seed string, i int) string { return validatorKey(seed, i).PubKey().Address().String() }

// cometNodeKey is the identity of validator i on CometBFT's peer-to-peer network.
func cometNodeKey(seed string, i int) *p2p.NodeKey {
	return &p2p.NodeKey{PrivKey: ed25519.GenPrivKeyFromSecret([]byte(label(seed, "node", i)))}
}

// devp2pKey is the identity of validator i on devp2p.
func devp2pKey(seed string, i int) *ecdsa.PrivateKey { return secp256k1(label(seed, "devp2p", i)) }

// NodeID is the devp2p identity of validator i in hex, as admin_peers prints it.
func NodeID(seed string, i int) string {
	return enode.PubkeyToIDV4(&devp2pKey(seed, i).PublicKey).String()
}

// Enode is the devp2p key of validator i at an address.
func Enode(seed string, i int, addr string) (*enode.Node, error) {
	host, port, err := splitAddr(addr)
	if err != nil {
		return nil, err
	}
	return enode.NewV4(&devp2pKey(seed, i).PublicKey, net.ParseIP(host), port, 0), nil
}

// feeRecipient collects the fees of the blocks that validator i proposes, so a
// block's miner field names its proposer.
func feeRecipient(seed string, i int) common.Address {
	return crypto.PubkeyToAddress(secp256k1(label(seed, "fees", i)).PublicKey)
}

func label(seed, kind string, i int) string { return fmt.Sprintf("jepgo/%s/%s/%d", seed, kind, i) }

// secp256k1 hashes the label to a key, and again in the practically impossible
// case that the hash is no scalar of the curve.
func secp256k1(label string) *ecdsa.PrivateKey {
	digest := crypto.Keccak256([]byte(label))
	for {
		if key, err := crypto.ToECDSA(digest); err == nil {
			return key
		}
		digest = crypto.Keccak256(digest)
	}
}
