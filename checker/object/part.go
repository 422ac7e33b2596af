package object

import (
	"cmp"
	"slices"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history"
)

// part is what is judged by itself: the calls of one key, or of less.
type part struct {
	r      *recorder
	key    int32
	sub    int32 // number of the part within the key, or -1
	events []uint32
}

// An event of a part is a call's index doubled, plus 1 for its end. Ends of calls
// in doubt are not events.

// finding is what is known of a part.
type finding struct {
	verdict checker.Verdict
	calls   []int32 // Invalid: calls that are not linearizable by themselves
	stop    int32   // Invalid, of a search: the call that ended without a place
	note    string  // Invalid: what a monitor saw in them
	proof   bool    // Invalid: the note says it all, fewer calls would say less
	why     string  // Unknown: the limit
	at      int     // Unknown: the position that the search did not get past
	by      string
	steps   int64
}

func sortInts(ids []int32) { slices.SortFunc(ids, cmp.Compare[int32]) }

// title names p for people.
func (p *part) title() string {
	text := p.r.spec.name
	if p.r.options.Keyed {
		text = "key " + short(p.r.values.value(p.key).String())
	}
	if p.sub >= 0 {
		if text != "" {
			text += ", "
		}
		text += "part " + short(p.r.values.value(p.sub).String())
	}
	return text
}

// certain is how many of p's operations happened for sure.
func (p *part) certain() int {
	n := 0
	for _, ev := range p.events {
		n += int(ev & 1)
	}
	return n
}

// operations is how many operations p has.
func (p *part) operations() int { return len(p.events) - p.certain() }

// parts groups the calls by key, each in the order of events. O(events).
func (r *recorder) parts() []*part {
	// Where each half of a call stands; a position without one holds 0.
	at := make([]uint32, r.last+2)
	index := make([]int32, 1)
	if r.options.Keyed {
		index = make([]int32, r.values.len())
	}
	var parts []*part
	var sizes []int
	var early []uint32
	for i := range int32(r.count) {
		c := r.call(i)
		if c.how == leftOut || c.how == failType && !r.spec.fails {
			continue
		}
		if index[c.key] == 0 {
			parts = append(parts, &part{r: r, key: c.key, sub: -1})
			sizes = append(sizes, 0)
			index[c.key] = int32(len(parts))
		}
		ev := uint32(i) << 1
		sizes[index[c.key]-1]++
		if c.begin < 0 {
			early = append(early, ev)
		} else {
			at[c.begin] = ev + 1
		}
		if c.end != never {
			sizes[index[c.key]-1]++
			at[c.end] = (ev | 1) + 1
		}
	}
	total := 0
	for _, size := range sizes {
		total += size
	}
	slab := make([]uint32, total)
	for i, p := range parts {
		p.events, slab = slab[:0:sizes[i]], slab[sizes[i]:]
	}
	put := func(ev uint32) {
		p := parts[index[r.call(int32(ev>>1)).key]-1]
		p.events = append(p.events, ev)
	}
	for _, ev := range early {
		put(ev)
	}
	for _, ev := range at {
		if ev != 0 {
			put(ev - 1)
		}
	}
	return parts
}

// splitBy splits p by a number of each call; the parts are in the order in which
// they begin.
func (p *part) splitBy(number func(c *call) int32) []*part {
	var parts []*part
	index := make(map[int32]int)
	for _, ev := range p.events {
		n := number(p.r.call(int32(ev >> 1)))
		i, ok := index[n]
		if !ok {
			i = len(parts)
			index[n] = i
			parts = append(parts, &part{r: p.r, key: p.key, sub: n})
		}
		parts[i].events = append(parts[i].events, ev)
	}
	return parts
}

// splitByModel splits p as the model's Partition says.
func (p *part) splitByModel() []*part {
	type shape struct {
		arg, res int32
		f        uint16
		how      history.Type
	}
	known := make(map[shape]int32)
	var tape history.Tape
	return p.splitBy(func(c *call) int32 {
		s := shape{c.arg, c.res, c.f, c.how}
		n, ok := known[s]
		if !ok {
			tape.Reset()
			n = p.r.values.number(tape.Append(p.r.spec.partition(p.r.op(c))))
			known[s] = n
		}
		return n
	})
}

// choose returns p with those calls alone; a call whose index is in open never
// ended.
func (p *part) choose(keep func(call int32) bool) *part {
	q := &part{r: p.r, key: p.key, sub: p.sub}
	for _, ev := range p.events {
		if keep(int32(ev >> 1)) {
			q.events = append(q.events, ev)
		}
	}
	return q
}

// only returns p with those calls alone.
func (p *part) only(calls []int32) *part {
	keep := make(map[int32]bool, len(calls))
	for _, c := range calls {
		keep[c] = true
	}
	return p.choose(func(call int32) bool { return keep[call] })
}
