package workloads

import (
	"math/rand/v2"
	"sync"

	"github.com/jepgo/jepgo/history"
)

const (
	// opsPerKey bounds the transactions of a key, and so the operations in doubt
	// that a search for a linearization has to branch on.
	opsPerKey = 40
	// recentKeys is how many keys the final reads ask for.
	recentKeys = 20
)

// keys hands out what to do next, to all clients together: a few keys at a time,
// each for a bounded number of transactions, then fresh ones. It is safe for
// concurrent use.
type keys struct {
	mu     sync.Mutex
	active []*key
	next   int64
	recent []int64 // keys that transactions were drawn for, the newest last
}

// key is a register in use.
type key struct {
	id     int64
	left   int           // transactions still to be drawn
	values int64         // values handed out: 1 to values
	seen   history.Value // what was last seen in it, nil for nothing yet
	moment moment        // when that was so
}

// moment is a time on the chain, as far as what is seen in a key tells it.
type moment uint64

// within is somewhere in the block at a height, at most math.MaxInt64.
func within(height uint64) moment { return moment(2 * height) }

// after is when the block at a height, at most math.MaxInt64, is done.
func after(height uint64) moment { return moment(2*height + 1) }

// newKeys keeps one key in use for two clients: with fewer keys hardly any cas
// would find what it expects, as another got into the block before it; with more
// the clients would not meet.
func newKeys(clients int) *keys {
	k := &keys{active: make([]*key, max(2, clients/2))}
	for i := range k.active {
		k.active[i] = k.fresh()
	}
	return k
}

func (k *keys) fresh() *key {
	k.next++
	return &key{id: k.next - 1, left: opsPerKey}
}

// strong draws the next transaction.
func (k *keys) strong(rng *rand.Rand) history.Op {
	k.mu.Lock()
	defer k.mu.Unlock()
	slot := rng.IntN(len(k.active))
	it := k.active[slot]
	if it.left == opsPerKey {
		k.recent = append(k.recent, it.id)
		if len(k.recent) > recentKeys {
			k.recent = k.recent[1:]
		}
	}
	if it.left--; it.left == 0 {
		k.active[slot] = k.fresh()
	}
	switch dice := rng.IntN(10); {
	case dice < 3:
		return op("read", it.id, history.Value{})
	case dice < 7 && !it.seen.IsNil():
		old := it.seen
		if rng.IntN(8) == 0 { // now and then a value that is surely another
			old = history.Int(1 + rng.Int64N(it.values))
		}
		it.values++
		return op("cas", it.id, history.Vec(old, history.Int(it.values)))
	default:
		it.values++
		return op("write", it.id, history.Int(it.values))
	}
}

// local draws the key of the next local read: one in use, or one that was.
func (k *keys) local(rng *rand.Rand) int64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.recent) > 0 && rng.IntN(4) == 0 {
		return k.recent[rng.IntN(len(k.recent))]
	}
	return k.active[rng.IntN(len(k.active))].id
}

// observe notes what a key was seen to hold at a moment, for a cas to expect,
// unless something later is known. What was never handed out no cas expects.
func (k *keys) observe(id int64, v history.Value, at moment) {
	n, ok := v.Int()
	if !ok {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, it := range k.active {
		if it.id == id && at >= it.moment && n >= 1 && n <= it.values {
			it.seen, it.moment = v, at
		}
	}
}

// refund gives a key in use back a transaction that certainly never was.
func (k *keys) refund(id int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, it := range k.active {
		if it.id == id && it.left < opsPerKey-1 { // one less, or it would seem fresh
			it.left++
		}
	}
}

// last lists the newest keys that were used, oldest first.
func (k *keys) last() []int64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	return append([]int64(nil), k.recent...)
}

// op is an invocation on a key.
func op(f string, key int64, v history.Value) history.Op {
	return history.Op{F: f, Value: history.Vec(history.Int(key), v)}
}
