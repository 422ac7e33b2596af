package workloads

import (
	"math/rand/v2"
	"sync"

	"github.com/ethereum/go-ethereum/common"

	"github.com/jepgo/jepgo/history"
)

// places are the blocks that a workload's transactions went into, the newest
// last. It is safe for concurrent use.
type places struct {
	mu  sync.Mutex
	all []blockID
}

// blockID is a block by what questions name it.
type blockID struct {
	number uint64
	hash   common.Hash
}

// remembered is how many blocks are: nodes drop the state of older ones, go-ethereum
// after 128.
const remembered = 100

// fresh is how many of them most questions are about.
const fresh = 8

// newPlaces begins with the block of a deployment, so that there always is one.
func newPlaces(c *contract) *places {
	return &places{all: []blockID{{c.height, c.block}}}
}

// add notes a block, unless it is the one noted last.
func (p *places) add(number uint64, hash common.Hash) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all[len(p.all)-1].hash == hash {
		return
	}
	if p.all = append(p.all, blockID{number, hash}); len(p.all) > remembered {
		p.all = p.all[1:]
	}
}

// draw picks a block: mostly one of the newest, which some node may not have
// yet, now and then any.
func (p *places) draw(rng *rand.Rand) blockID {
	p.mu.Lock()
	defer p.mu.Unlock()
	from := 0
	if rng.IntN(4) > 0 {
		from = max(0, len(p.all)-fresh)
	}
	return p.all[from+rng.IntN(len(p.all)-from)]
}

// height is that of a block; false for one that is forgotten.
func (p *places) height(hash common.Hash) (uint64, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, b := range p.all {
		if b.hash == hash {
			return b.number, true
		}
	}
	return 0, false
}

// put notes the block of that hash as the one that an op was answered from.
func (p *places) put(o *history.Op, hash common.Hash) {
	if n, ok := p.height(hash); ok {
		place(o, n, hash)
		return
	}
	o.Set(history.HashKey, history.Text(hash.Hex()))
}

// newest is the block noted last.
func (p *places) newest() blockID {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.all[len(p.all)-1]
}

// last lists the newest n, oldest first.
func (p *places) last(n int) []blockID {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]blockID(nil), p.all[max(0, len(p.all)-n):]...)
}
