package validator

import (
	"context"
	"encoding/json"
	"regexp"
	"strings"
	"sync"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
)

// forkHeight is the first block of the other chain.
const forkHeight = 16

// fork pretends that the chain split at some height. Each block of the other
// chain has the real block's content but another state root, so its hash,
// computed as for any header, differs too, and the next block's parent is that
// hash. Hashes are exchanged wherever they appear, in both directions, so that
// the node contradicts the others but never itself. Nothing is remembered: after
// a restart the same blocks come out.
type fork struct {
	node honest

	mu       sync.Mutex
	from     uint64      // where the other chain begins, 0 until that is settled
	lasts    uint64      // blocks after which the node returns to the real chain, 0 for never,
	until    uint64      // and at which head that is
	next     uint64      // the first height that is not in the maps yet
	last     common.Hash // hash of the other block below next
	lie      map[string]string
	unlie    map[string]string
	hexWords *regexp.Regexp
}

func newFork(node honest) rewriter { return newBranch(node, forkHeight, 0) }

// newReorg is a fork that begins once a client has asked for what is final, and
// ends.
func newReorg(node honest) rewriter { return newBranch(node, 0, reorgBlocks) }

// newSplit is a fork that begins once a client has asked for what is final, on a
// node that stands still on it.
func newSplit(node honest) rewriter { return both{newStuck(node), newBranch(node, 0, 0)} }

func newBranch(node honest, from, lasts uint64) *fork {
	return &fork{node: node, from: from, next: from, lasts: lasts, lie: map[string]string{}, unlie: map[string]string{},
		hexWords: regexp.MustCompile(`0x[0-9a-fA-F]{64,}`)}
}

// away reports whether the node is not on the real chain.
func (f *fork) away() bool { return f.from > 0 && (f.until == 0 || f.node.head() < f.until) }

func (f *fork) question(_ context.Context, c *call) *reply {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.from == 0 && asksForFinal(c) {
		f.from = f.node.head() + reorgAfter
		f.next = f.from
		if f.lasts > 0 {
			f.until = f.from + f.lasts
		}
	}
	if !f.away() {
		return nil
	}
	f.grow()
	for i, p := range c.Params {
		c.Params[i] = f.swap(p, f.unlie)
	}
	return nil
}

func (f *fork) answer(_ context.Context, _ *call, r *reply) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.away() {
		return
	}
	f.grow() // the answer may name a block that is newer than the question
	r.Result = f.swap(r.Result, f.lie)
}

// grow extends the other chain up to the head.
func (f *fork) grow() {
	for head := f.node.head(); f.next <= head; f.next++ {
		real := f.node.header(f.next)
		if real == nil {
			return
		}
		other := types.CopyHeader(real)
		other.Root = crypto.Keccak256Hash([]byte("jepgo fork"), real.Root[:])
		if f.next > f.from {
			other.ParentHash = f.last
		}
		f.last = other.Hash()
		f.exchange(real.Hash(), f.last)
		f.exchange(real.Root, other.Root)
	}
}

// exchange lets the other word stand for the real one; the real one is unknown
// to a node on the other chain.
func (f *fork) exchange(real, other common.Hash) {
	f.lie[bare(real)] = bare(other)
	f.unlie[bare(other)] = bare(real)
	f.unlie[bare(real)] = bare(crypto.Keccak256Hash(real[:]))
}

func bare(h common.Hash) string { return common.Bytes2Hex(h[:]) }

// swap replaces whole 32-byte words, alone or in a row as in the result of a call.
func (f *fork) swap(text json.RawMessage, words map[string]string) json.RawMessage {
	return f.hexWords.ReplaceAllFunc(text, func(hex []byte) []byte {
		for at := 2; at+64 <= len(hex); at += 64 {
			if other, ok := words[strings.ToLower(string(hex[at:at+64]))]; ok {
				copy(hex[at:], other)
			}
		}
		return hex
	})
}
