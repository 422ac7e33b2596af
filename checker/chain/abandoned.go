package chain

import (
	"fmt"
	"strings"

	"github.com/jepgo/jepgo/checker"
)

// maxAbandoned is how many blocks that were left behind are told one by one, and
// maxMoved how many of a block's transactions.
const (
	maxAbandoned = 3
	maxMoved     = 3
)

// abandoned is the blocks that heads have left behind and that are not on the
// chain in the end, each once.
type abandoned struct {
	r      *Reader
	seen   map[int32]bool
	blocks []int32
}

func newAbandoned(r *Reader) *abandoned { return &abandoned{r: r, seen: make(map[int32]bool)} }

// branch adds the blocks of a branch from its head down. O(depth).
func (a *abandoned) branch(head int32, depth int64) {
	for at := head; depth > 0 && at >= 0; depth-- {
		if !a.seen[at] && !a.r.end().canon[at] {
			a.seen[at] = true
			a.blocks = append(a.blocks, at)
		}
		at = a.r.blocks[at].up
	}
}

// tell counts what became of the transactions in these blocks, of which the lists
// or the receipts are known, and names the first.
func (a *abandoned) tell(found *findings) []checker.Stat {
	if len(a.blocks) == 0 {
		return nil
	}
	moved, vanished, told := 0, 0, 0
	for _, block := range a.blocks {
		b := a.r.bodyAt(block)
		if b == nil || len(b.txs) == 0 {
			continue
		}
		var parts []string
		for _, tx := range b.txs {
			text := ""
			if at, ok := a.r.onChain(tx); ok {
				moved++
				now := &a.r.blocks[a.r.bodies[at.body].block]
				text = fmt.Sprintf("%s is now in block %d %s", a.r.short(tx), now.n, a.r.short(now.h))
			} else {
				vanished++
				text = a.r.short(tx) + " is in no block of the chain that is known"
			}
			if len(parts) < maxMoved {
				parts = append(parts, text)
			}
		}
		if told++; told <= maxAbandoned {
			more := ""
			if n := len(b.txs) - len(parts); n > 0 {
				more = fmt.Sprintf(", and so on for %d more", n)
			}
			was := &a.r.blocks[block]
			found.warn("of the transactions of block %d %s, which was left behind (op %d), %s%s", was.n, a.r.short(was.h), b.op, strings.Join(parts, "; "), more)
		}
	}
	return []checker.Stat{
		{Name: "blocks left behind", Value: fmt.Sprint(len(a.blocks))},
		{Name: "their transactions", Value: fmt.Sprintf("%d moved to another block, %d are in none that is known", moved, vanished)},
		{Name: "receipts that changed their block", Value: fmt.Sprint(a.r.changedReceipts())},
	}
}

// changedReceipts counts the transactions with receipts from several blocks.
func (r *Reader) changedReceipts() (n int) {
	for i := range r.receipts.n {
		if rc := r.receipts.at(i); r.receiptOf.get(rc.tx) == int32(i+1) && rc.next > 0 {
			n++
		}
	}
	return n
}
