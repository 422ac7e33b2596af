package link

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Feature is one thing that a mechanism can do to an edge, by its name in
// --nemesis and in reports.
type Feature string

// The features. Which of them a mechanism has, and what they mean there, says
// Link.Features.
const (
	FeatureCut            Feature = "cut"
	FeatureDelay          Feature = "delay"
	FeatureJitter         Feature = "jitter"
	FeatureRate           Feature = "rate"
	FeatureLoss           Feature = "loss"
	FeatureBurst          Feature = "burst"           // Gilbert–Elliott loss
	FeatureDuplicate      Feature = "duplicate"       //
	FeatureReorder        Feature = "reorder"         //
	FeatureCorrupt        Feature = "corrupt"         // the receiver's checksum drops it
	FeatureCorruptVisible Feature = "corrupt-visible" // the application reads it
	FeatureStall          Feature = "stall"
	FeatureSlice          Feature = "slice"
	FeatureSlowClose      Feature = "slow-close"
	FeatureHalfOpen       Feature = "half-open"
	FeatureReset          Feature = "reset"
)

// Shape is what an edge does to what it carries, beside being cut. The zero Shape
// does nothing. A unit is what the mechanism moves at a time: a frame, or, where
// the mechanism sees only streams, one read of a socket. Shares are of 1.
type Shape struct {
	Delay  time.Duration `json:"delay,omitempty"`  // added to every unit
	Jitter time.Duration `json:"jitter,omitempty"` // Delay varies by up to so much either way, uniformly; at most Delay
	Rate   int64         `json:"rate,omitempty"`   // bytes a second; 0 is no limit

	Loss  float64 `json:"loss,omitempty"` // share of units lost, independently
	Burst Burst   `json:"burst,omitzero"` // loss in bursts

	Duplicate float64 `json:"duplicate,omitempty"` // share of units delivered twice
	// Reorder is the share of units that go at once, past those that Delay holds;
	// it needs a Delay.
	Reorder        float64 `json:"reorder,omitempty"`
	Corrupt        float64 `json:"corrupt,omitempty"`         // share with a flipped bit that the receiver's checksum finds: lost
	CorruptVisible float64 `json:"corrupt_visible,omitempty"` // share with a flipped bit that the application reads

	// Stall is the share of units before which the stream stands still for
	// StallTime: what a lost segment looks like from inside a TCP stream.
	Stall     float64       `json:"stall,omitempty"`
	StallTime time.Duration `json:"stall_time,omitempty"`
	Slice     int           `json:"slice,omitempty"`      // at most so many bytes a write; 0 is no limit
	SlowClose time.Duration `json:"slow_close,omitempty"` // the end of a connection is passed on so much later
	HalfOpen  bool          `json:"half_open,omitempty"`  // the end of a connection is never passed on
	// Reset is the share of units that break their connection with an RST to both
	// ends instead of being delivered.
	Reset float64 `json:"reset,omitempty"`
}

// Burst is Gilbert–Elliott loss: an edge is good or bad, and loses every unit
// while it is bad. The mean share lost is Enter/(Enter+Leave), in bursts of
// 1/Leave units.
type Burst struct {
	Enter float64 `json:"enter"` // chance before each unit that a good edge turns bad
	Leave float64 `json:"leave"` // chance before each unit that a bad edge turns good
}

// parts pairs each feature with whether a shape asks for it.
func (s Shape) parts() []struct {
	feature Feature
	asked   bool
	share   float64
} {
	return []struct {
		feature Feature
		asked   bool
		share   float64
	}{
		{FeatureDelay, s.Delay != 0, 0},
		{FeatureJitter, s.Jitter != 0, 0},
		{FeatureRate, s.Rate != 0, 0},
		{FeatureLoss, s.Loss != 0, s.Loss},
		{FeatureBurst, s.Burst != Burst{}, s.Burst.Enter},
		{FeatureBurst, s.Burst != Burst{}, s.Burst.Leave},
		{FeatureDuplicate, s.Duplicate != 0, s.Duplicate},
		{FeatureReorder, s.Reorder != 0, s.Reorder},
		{FeatureCorrupt, s.Corrupt != 0, s.Corrupt},
		{FeatureCorruptVisible, s.CorruptVisible != 0, s.CorruptVisible},
		{FeatureStall, s.Stall != 0, s.Stall},
		{FeatureSlice, s.Slice != 0, 0},
		{FeatureSlowClose, s.SlowClose != 0, 0},
		{FeatureHalfOpen, s.HalfOpen, 0},
		{FeatureReset, s.Reset != 0, s.Reset},
	}
}

// Features lists what the shape asks for, in a fixed order; none for the zero
// Shape.
func (s Shape) Features() []Feature {
	var fs []Feature
	for _, p := range s.parts() {
		if p.asked && !slices.Contains(fs, p.feature) {
			fs = append(fs, p.feature)
		}
	}
	return fs
}

// Check returns why the shape makes no sense, or asks for a feature that is not
// among those offered.
func (s Shape) Check(offered []Support) error {
	for _, p := range s.parts() {
		if p.asked && !Offers(offered, p.feature) {
			return fmt.Errorf("link: %s is not among what this mechanism can do: %s", p.feature, names(offered))
		}
		if !(p.share >= 0 && p.share <= 1) {
			return fmt.Errorf("link: %s %g: expected a share from 0 to 1", p.feature, p.share)
		}
	}
	switch {
	case s.Delay < 0 || s.StallTime < 0 || s.SlowClose < 0:
		return fmt.Errorf("link: delay %v, stall %v, slow close %v: expected none below 0", s.Delay, s.StallTime, s.SlowClose)
	case s.Jitter < 0 || s.Jitter > s.Delay:
		return fmt.Errorf("link: jitter %v: expected 0 to the delay of %v", s.Jitter, s.Delay)
	case s.Rate < 0 || s.Slice < 0:
		return fmt.Errorf("link: rate %d, slice %d: expected none below 0", s.Rate, s.Slice)
	case s.Reorder > 0 && s.Delay == 0:
		return fmt.Errorf("link: reorder without a delay: expected a delay, else there is nothing to overtake")
	case s.Stall > 0 && s.StallTime == 0:
		return fmt.Errorf("link: stall without a time: expected how long the stream stands still")
	}
	return nil
}

// With returns the shape that does what both do: their times add up. It is an
// error when both ask for another feature that an edge can have only once.
func (s Shape) With(o Shape) (Shape, error) {
	has := s.Features()
	for _, f := range o.Features() {
		if f != FeatureDelay && f != FeatureJitter && f != FeatureSlowClose && slices.Contains(has, f) {
			return s, fmt.Errorf("link: %s: the edge has one already", f)
		}
	}
	s.Delay += o.Delay
	s.Jitter += o.Jitter
	s.SlowClose += o.SlowClose
	s.Rate = cmp.Or(s.Rate, o.Rate)
	s.Loss = cmp.Or(s.Loss, o.Loss)
	s.Burst = cmp.Or(s.Burst, o.Burst)
	s.Duplicate = cmp.Or(s.Duplicate, o.Duplicate)
	s.Reorder = cmp.Or(s.Reorder, o.Reorder)
	s.Corrupt = cmp.Or(s.Corrupt, o.Corrupt)
	s.CorruptVisible = cmp.Or(s.CorruptVisible, o.CorruptVisible)
	s.Stall = cmp.Or(s.Stall, o.Stall)
	s.StallTime = cmp.Or(s.StallTime, o.StallTime)
	s.Slice = cmp.Or(s.Slice, o.Slice)
	s.HalfOpen = cmp.Or(s.HalfOpen, o.HalfOpen)
	s.Reset = cmp.Or(s.Reset, o.Reset)
	return s, nil
}

// Without takes back With: s.With(o) without o is s, in whatever order several
// are taken back.
func (s Shape) Without(o Shape) Shape {
	s.Delay -= min(o.Delay, s.Delay)
	s.Jitter -= min(o.Jitter, s.Jitter)
	s.SlowClose -= min(o.SlowClose, s.SlowClose)
	s.Rate = less(s.Rate, o.Rate)
	s.Loss = less(s.Loss, o.Loss)
	s.Burst = less(s.Burst, o.Burst)
	s.Duplicate = less(s.Duplicate, o.Duplicate)
	s.Reorder = less(s.Reorder, o.Reorder)
	s.Corrupt = less(s.Corrupt, o.Corrupt)
	s.CorruptVisible = less(s.CorruptVisible, o.CorruptVisible)
	s.Stall = less(s.Stall, o.Stall)
	s.StallTime = less(s.StallTime, o.StallTime)
	s.Slice = less(s.Slice, o.Slice)
	s.HalfOpen = less(s.HalfOpen, o.HalfOpen)
	s.Reset = less(s.Reset, o.Reset)
	return s
}

// less is a, or zero where that is what b put there.
func less[T comparable](a, b T) T {
	if a == b {
		var none T
		return none
	}
	return a
}

// Support is one feature of a mechanism and what it honestly means there.
type Support struct {
	Feature   Feature
	Semantics string // one sentence
}

// Offers reports whether the feature is among those offered.
func Offers(offered []Support, f Feature) bool {
	for _, o := range offered {
		if o.Feature == f {
			return true
		}
	}
	return false
}

func names(offered []Support) string {
	var ns []string
	for _, o := range offered {
		ns = append(ns, string(o.Feature))
	}
	return strings.Join(ns, ", ")
}
