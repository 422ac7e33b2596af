package graph

import (
	"math"
	"math/bits"
	"strings"
)

// Rel is a set of reasons why one transaction comes before another. In a Step it
// is exactly one of them.
type Rel uint8

// The relations of Adya's direct serialization graph, those through a predicate
// with a P, and the two orders that sessions and clocks give.
const (
	WW       Rel = 1 << iota // overwrites what the other wrote
	WWP                      // changes what the other wrote, as a predicate sees it
	WR                       // reads what the other wrote
	WRP                      // its predicate read sees what the other wrote
	RW                       // overwrites what the other read
	RWP                      // changes what the other's predicate read saw
	Process                  // the same process ran it later
	Realtime                 // it was invoked after the other had completed
)

// Never is the completion of a transaction that is in doubt: nothing is known to
// have begun after it.
const Never int32 = math.MaxInt32

const (
	relWW   = WW | WWP
	relWR   = WR | WRP
	relRW   = RW | RWP
	relData = relWW | relWR | relRW
)

var relNames = [8]string{"ww", "wwp", "wr", "wrp", "rw", "rwp", "process", "realtime"}

// String returns ww, wwp, wr, wrp, rw, rwp, process or realtime, and a set of
// several as "ww|rw".
func (r Rel) String() string {
	if r == 0 {
		return "none"
	}
	var b strings.Builder
	for rest := r; rest != 0; rest &= rest - 1 {
		if b.Len() > 0 {
			b.WriteByte('|')
		}
		b.WriteString(relNames[bits.TrailingZeros8(uint8(rest))])
	}
	return b.String()
}

// first returns the strongest single relation in the set: data before orders, ww
// before wr before rw.
func (r Rel) first() Rel { return r & -r }
