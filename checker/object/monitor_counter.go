package object

import "fmt"

// monitorCounter finds reads of a counter that no order explains: each read is at
// least the sum of what was surely added by its begin, and at most that of what
// can have been added by its end; with negative adds the other way round. A
// counter that passes is left to the search. O(n).
func monitorCounter(p *part) (finding, bool) {
	var up, down struct{ begun, ended int64 } // sums of positive and negative adds
	// What had ended when a read that is open began.
	type sums struct{ up, down int64 }
	open := make(map[int32]sums)
	add := func(begun bool, n int64) {
		s := &up
		if n < 0 {
			s = &down
		}
		if begun {
			s.begun += n
		} else {
			s.ended += n
		}
	}
	for _, ev := range p.events {
		id := int32(ev >> 1)
		c := p.r.call(id)
		if c.f == 0 {
			n, isInt := p.r.values.int(c.arg)
			if !isInt {
				return finding{}, false
			}
			add(ev&1 == 0, n)
			continue
		}
		if ev&1 == 0 {
			if c.end != never {
				open[id] = sums{up.ended, down.ended}
			}
			continue
		}
		n, isInt := p.r.values.int(c.res)
		if !isInt && c.res != 0 {
			return finding{}, false
		}
		least, most := p.r.spec.start+open[id].up+down.begun, p.r.spec.start+up.begun+open[id].down
		delete(open, id)
		if n >= least && n <= most {
			continue
		}
		return p.impossibleSum(id, n < least)
	}
	return finding{}, false
}

// largeSums refuses counters whose adds together may not fit into 64 bits.
func largeSums(p *part) string {
	sum := uint64(0)
	for _, ev := range p.events {
		c := p.r.call(int32(ev >> 1))
		if ev&1 == 1 || c.f != 0 {
			continue
		}
		n, _ := p.r.values.int(c.arg)
		if n < 0 {
			n = -n // of the least integer this is 1<<63 once it is unsigned
		}
		if sum += min(uint64(n), mostSum+1); sum > mostSum {
			return fmt.Sprintf("what is added sums up to more than %d, and larger sums might wrap", int64(mostSum))
		}
	}
	return ""
}

// impossibleSum gives the adds that show that a read is too low or too high.
func (p *part) impossibleSum(read int32, low bool) (finding, bool) {
	calls := []int32{read}
	r := p.r.call(read)
	for _, ev := range p.events {
		id := int32(ev >> 1)
		c := p.r.call(id)
		if c.f != 0 || ev&1 == 1 || c.begin > r.end {
			continue
		}
		// What can only move it away from what was read may be left out if it need
		// not have happened.
		n, _ := p.r.values.int(c.arg)
		if (n < 0) == low || c.end < r.begin {
			calls = append(calls, id)
		}
	}
	if low {
		return invalid("More was added before it began.", calls...)
	}
	return invalid("Not as much was added by its end.", calls...)
}
