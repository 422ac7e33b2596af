package object

import (
	"slices"
	"sort"
	"strings"
)

// cells are the states of one key of a store, as far as anybody can tell them
// apart: a text of which no get returned any more than a part that begins like it
// is as good as any other such text, now and whatever is appended. So a state is a
// beginning of what some gets returned, or lost; and there are no more states than
// beginnings, whatever the order of the operations.
type cells struct {
	results []string // sorted, each once
}

// cell is the first n bytes of results[lo:hi], which are all that begin so.
type cell struct{ lo, hi, n int32 }

// lost is every text that no get can have seen.
var lostCell = cell{-1, -1, -1}

func newCells(results []string) *cells {
	slices.Sort(results)
	return &cells{slices.Compact(results)}
}

// start is the state "".
func (c *cells) start() cell {
	if len(c.results) == 0 {
		return lostCell
	}
	return cell{0, int32(len(c.results)), 0}
}

// join is the state s with piece behind it.
func (c *cells) join(s cell, piece string) cell {
	if s.n < 0 || piece == "" {
		return s
	}
	rest := func(i int) string { return c.results[int(s.lo)+i][s.n:] }
	size := int(s.hi - s.lo)
	lo := sort.Search(size, func(i int) bool { return rest(i) >= piece })
	hi := lo + sort.Search(size-lo, func(i int) bool { return !strings.HasPrefix(rest(lo+i), piece) })
	if lo == hi {
		return lostCell
	}
	return cell{s.lo + int32(lo), s.lo + int32(hi), s.n + int32(len(piece))}
}

// is reports whether state s is text, one of the results.
func (c *cells) is(s cell, text string) bool {
	return int(s.n) == len(text) && c.results[s.lo] == text
}
