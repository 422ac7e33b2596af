package checker

import (
	"math/bits"
	"slices"
	"time"
)

// latencies counts durations in buckets of which each is at most 1/64 longer than
// the one before, below 64 ns in one for each: quantiles of any number of them in
// little memory, as HdrHistogram does. The zero latencies is empty.
type latencies struct {
	buckets map[uint16]uint32
	count   int
	longest time.Duration
}

const exactBits = 6

func bucketOf(d time.Duration) uint16 {
	n := uint64(max(0, d))
	shift := max(0, bits.Len64(n)-exactBits-1)
	return uint16(shift<<exactBits + int(n>>shift))
}

// longestIn is the longest duration of a bucket.
func longestIn(bucket uint16) time.Duration {
	shift := max(0, int(bucket>>exactBits)-1)
	n := uint64(bucket) - uint64(shift)<<exactBits
	return time.Duration((n+1)<<shift - 1)
}

func (l *latencies) add(d time.Duration) {
	if l.buckets == nil {
		l.buckets = make(map[uint16]uint32)
	}
	l.buckets[bucketOf(d)]++
	l.count++
	l.longest = max(l.longest, d)
}

func (l *latencies) addAll(m *latencies) {
	for bucket, n := range m.buckets {
		if l.buckets == nil {
			l.buckets = make(map[uint16]uint32)
		}
		l.buckets[bucket] += n
	}
	l.count += m.count
	l.longest = max(l.longest, m.longest)
}

// quantiles returns the quantiles of those that were added, nil when there are
// none: for each the end of the bucket that it is in.
func (l *latencies) quantiles(qs []float64) []time.Duration {
	if l.count == 0 {
		return nil
	}
	buckets := make([]uint16, 0, len(l.buckets))
	for bucket := range l.buckets {
		buckets = append(buckets, bucket)
	}
	slices.Sort(buckets)
	out := make([]time.Duration, len(qs))
	for i, q := range qs {
		rank := int(q * float64(l.count))
		if float64(rank) < q*float64(l.count) {
			rank++
		}
		rank = min(max(rank, 1), l.count)
		for _, bucket := range buckets {
			if rank -= int(l.buckets[bucket]); rank <= 0 {
				out[i] = min(longestIn(bucket), l.longest)
				break
			}
		}
	}
	return out
}
