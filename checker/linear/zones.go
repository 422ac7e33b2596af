package linear

import (
	"cmp"
	"slices"
)

// zone is how long a value was in the register, as far as the calls that set or
// saw it tell: first is the earliest end among them, last the latest begin. When
// first < last the value was there all the time in between.
type zone struct {
	value       int32
	first, last int
}

// maxSuspects bounds how many pairs of values are searched for a contradiction.
const maxSuspects = 32

// plain reports whether every value is set by at most one call, the initial one
// by none, and nothing is compared and set. Such calls are linearizable exactly
// when no two values are suspect (Gibbons and Korach 1997): that the calls of a
// must come before those of b follows from a.first < b.last, and relations of
// that form have a cycle only if they have one of two.
func (s *searcher) plain(calls []call) bool {
	set := make(map[int32]bool, len(calls))
	set[s.r.initial] = true
	for i := range calls {
		switch c := &calls[i]; c.action {
		case cas:
			return false
		case write:
			if set[c.value] {
				return false
			}
			set[c.value] = true
		}
	}
	return true
}

// refute looks among suspects for two values that contradict each other, and
// returns a closed part of calls that is about them only and is not
// linearizable; nil when there is none. That is a proof whatever the calls are
// (see sources), and spares the search that costs most: the one that fails. At
// most maxSuspects small searches.
func (s *searcher) refute(calls []call, suspects [][2]int32) []call {
	if len(suspects) == 0 {
		return nil
	}
	src := findSources(calls, s.nilAny)
	for _, pair := range suspects {
		about := func(v int32) bool { return v == pair[0] || v == pair[1] }
		part := src.closed(calls, func(i int) bool {
			v, sees := calls[i].observed(s.nilAny)
			return !(calls[i].action != read && about(calls[i].value) || sees && about(v))
		})
		if len(part) > 0 && len(part) <= firstPiece && s.invalid(part) {
			return part
		}
	}
	return nil
}

// suspects lists pairs of values whose zones cannot both be, and single values
// that were seen before they were set, those that show earliest first.
func (s *searcher) suspects(calls []call) [][2]int32 {
	zones, early := s.zones(calls)
	var pairs [][2]int32
	for _, v := range early {
		pairs = append(pairs, [2]int32{v, v})
	}
	var lasting, passing []zone
	for _, z := range zones {
		if z.first < z.last {
			lasting = append(lasting, z)
		} else {
			passing = append(passing, z)
		}
	}
	byFirst := func(a, b zone) int { return cmp.Compare(a.first, b.first) }
	slices.SortFunc(lasting, byFirst)
	// Two values that were both there all the time from a to b.
	reach := make([]zone, len(lasting)) // of the zones so far, the one that lasts longest
	for i, z := range lasting {
		if i > 0 {
			if reach[i-1].last > z.first {
				pairs = append(pairs, [2]int32{reach[i-1].value, z.value})
			}
			if reach[i-1].last > z.last {
				z = reach[i-1]
			}
		}
		reach[i] = z
	}
	// A value that came and went wholly while another was there.
	for _, z := range passing {
		at, _ := slices.BinarySearchFunc(lasting, zone{first: z.last}, byFirst)
		if at > 0 && reach[at-1].last > z.first && reach[at-1].value != z.value {
			pairs = append(pairs, [2]int32{reach[at-1].value, z.value})
		}
	}
	return pairs[:min(len(pairs), maxSuspects)]
}

// zones computes the zone of each value, ordered by value, and the values that
// some call saw and ended before any call that sets them began.
func (s *searcher) zones(calls []call) (zones []zone, early []int32) {
	n := s.r.values.Len()
	all := make([]zone, n)
	set := make([]int, n) // earliest begin of a call that sets the value
	for v := range all {
		all[v] = zone{value: int32(v), first: never, last: -1}
		set[v] = never
	}
	note := func(v int32, c *call) {
		all[v].first = min(all[v].first, c.end)
		all[v].last = max(all[v].last, c.begin)
	}
	set[s.r.initial] = -1
	all[s.r.initial].first = -1
	for i := range calls {
		c := &calls[i]
		if c.action != read {
			note(c.value, c)
			set[c.value] = min(set[c.value], c.begin)
		}
		if v, ok := c.needs(s.nilAny); ok && (c.action != cas || v != c.value) {
			note(v, c)
		}
	}
	for _, z := range all {
		if z.last >= 0 {
			zones = append(zones, z)
			if z.first < set[z.value] {
				early = append(early, z.value)
			}
		}
	}
	return zones, early
}
