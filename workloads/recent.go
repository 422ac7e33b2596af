package workloads

import (
	"math/rand/v2"
	"sync"

	"github.com/ethereum/go-ethereum/common"
)

// recent is the transactions of a run, of all workloads, the newest last. It is
// safe for concurrent use and keeps 32 bytes for each.
type recent struct {
	mu  sync.Mutex
	all []common.Hash
}

func (r *recent) add(tx common.Hash) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, tx)
}

// draw picks one of the newest few, now and then any; false when there is none.
func (r *recent) draw(rng *rand.Rand, few int) (common.Hash, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.all) == 0 {
		return common.Hash{}, false
	}
	from := 0
	if rng.IntN(4) > 0 {
		from = max(0, len(r.all)-few)
	}
	return r.all[from+rng.IntN(len(r.all)-from)], true
}

// sample lists at most so many, in their order: a third of them the newest, the
// rest drawn from all before those.
func (r *recent) sample(rng *rand.Rand, most int) []common.Hash {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.all) <= most {
		return append([]common.Hash(nil), r.all...)
	}
	older := r.all[:len(r.all)-most/3]
	out := make([]common.Hash, 0, most)
	// One after the other, each with the chance that so many of the rest be taken.
	for i, want := 0, most-most/3; want > 0; i++ {
		if rng.IntN(len(older)-i) < want {
			out = append(out, older[i])
			want--
		}
	}
	return append(out, r.all[len(older):]...)
}
