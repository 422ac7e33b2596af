package nemesis

import (
	"fmt"
	"math"
	"time"

	"github.com/jepgo/jepgo/devnet/link"
	"github.com/jepgo/jepgo/history"
)

const (
	// enoughHeld units make a mean worth looking at.
	enoughHeld = 5
	// enoughHit units must be expected to be hit before a share is judged.
	enoughHit = 10
	// sure is how many standard deviations hold 99.9 % of the outcomes of a binomial.
	sure = 3.29
	// twoReadings is for two readings of a clock.
	twoReadings = time.Millisecond
)

// heldAtLeast bites when units were held that long in the mean, or longer: a busy
// machine lets them go late, and nothing lets them go early.
func heldAtLeast(least time.Duration) func(sight) string {
	return func(s sight) string {
		if s.sum.Held < enoughHeld {
			return fmt.Sprintf("%d units were held, too few to see a delay: not enough traffic", s.sum.Held)
		}
		if mean := s.sum.HeldTime / time.Duration(s.sum.Held); mean < least-twoReadings {
			return fmt.Sprintf("units were held %v in the mean, less than %v", mean, least)
		}
		return ""
	}
}

// hitShare bites when the share of units that something happened to is what was
// asked, within what 99.9 % of binomial draws give.
func hitShare(what string, share float64, count func(link.Counters) int64) func(sight) string {
	return func(s sight) string {
		n := float64(s.sum.Units)
		if n*share < enoughHit {
			return fmt.Sprintf("%d units, too few to see a share of %g %s: not enough traffic", s.sum.Units, share, what)
		}
		got := count(s.sum)
		if off := math.Abs(float64(got) - n*share); off > sure*math.Sqrt(n*share*(1-share))+1 {
			return fmt.Sprintf("%d of %d units were %s, not a share of %g", got, s.sum.Units, what, share)
		}
		return ""
	}
}

// hitAny bites when something happened at all.
func hitAny(what string, count func(link.Counters) int64) func(sight) string {
	return func(s sight) string {
		if count(s.sum) == 0 {
			return fmt.Sprintf("of %d units none was %s yet", s.sum.Units, what)
		}
		return ""
	}
}

// hitRoughly is hitShare for draws that are not independent of each other: within
// a factor of three.
func hitRoughly(what string, asked float64, count func(link.Counters) int64) func(sight) string {
	return func(s sight) string {
		n := float64(s.sum.Units)
		if n*asked < enoughHit {
			return fmt.Sprintf("%d units, too few to see a share of %g %s: not enough traffic", s.sum.Units, asked, what)
		}
		got := count(s.sum)
		if f := float64(got); f < n*asked/3 || f > n*asked*3 {
			return fmt.Sprintf("%d of %d units were %s, far from a share of %g", got, s.sum.Units, what, asked)
		}
		return ""
	}
}

// asShare prints a share as percent reads it; 0 was not given.
func asShare(share float64) string {
	if share == 0 {
		return ""
	}
	return fmt.Sprintf(":%g%%", share*100)
}

// shareAsked prints a share, or what is drawn when none was given.
func shareAsked(share float64, otherwise string) string {
	if share == 0 {
		return otherwise
	}
	return fmt.Sprintf("%g%%", share*100)
}

// rounded is a share as a value, to three places.
func rounded(f float64) history.Value { return history.FloatOf(math.Round(f*1000) / 1000) }
