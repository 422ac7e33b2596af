package nemesis

import (
	"fmt"
	"math/rand/v2"

	"github.com/jepgo/jepgo/devnet/link"
	"github.com/jepgo/jepgo/history"
)

func sliceEntry() Entry {
	return linkEntry("slice", "hand over the streams of nodes in small pieces", "#8DB1C9", wayBoth, func() shaper { return new(slice) })
}

type slice struct{ bytes int64 }

func (s *slice) params() []param {
	return []param{size(&s.bytes, "the most bytes of a piece such as 16B", 1)}
}

func (s *slice) suffix() string {
	if s.bytes == 0 {
		return ""
	}
	return fmt.Sprintf(":%dB", s.bytes)
}

func (*slice) features() []link.Feature { return []link.Feature{link.FeatureSlice} }

func (s *slice) explain() (does, bites string) {
	n := "1 to 32"
	if s.bytes != 0 {
		n = fmt.Sprint(s.bytes)
	}
	return "Writes streams in pieces of at most " + n + " bytes, for readers that take what one read returns for a whole message. " +
			"The kernel may put pieces together again when the reader is slow.",
		"the units were in the mean no larger than asked, and smaller than before"
}

func (s *slice) draw(rng *rand.Rand) drawnShape {
	n := s.bytes
	if n == 0 {
		n = 1 + rng.Int64N(32)
	}
	return drawnShape{
		shape: link.Shape{Slice: int(min(n, 1<<30))},
		value: []history.Value{history.Keyword("slice-bytes"), history.Int(n)},
		bites: func(s sight) string {
			if s.sum.Units < enoughHit || s.before.Units == 0 {
				return fmt.Sprintf("%d units, too few to see a slice: not enough traffic", s.sum.Units)
			}
			mean := float64(s.sum.Bytes) / float64(s.sum.Units)
			was := float64(s.before.Bytes) / float64(s.before.Units)
			if mean > float64(n) || mean >= was {
				return fmt.Sprintf("units of %.1f bytes in the mean, and %.1f before, not cut to %d", mean, was, n)
			}
			return ""
		},
	}
}
