package nemesis

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/jepgo/jepgo/devnet/link"
	"github.com/jepgo/jepgo/history"
)

func bandwidthEntry() Entry {
	return linkEntry("bandwidth", "make the links of nodes slow", "#9DB4A0", wayBoth, func() shaper { return new(bandwidth) })
}

// bandwidth limits each edge to a rate: Jepsen's default is 1 Mbit/s.
type bandwidth struct{ bits int64 }

func (b *bandwidth) params() []param {
	return []param{bitrate(&b.bits, "a rate such as 1Mbit, per second")}
}

func (b *bandwidth) suffix() string {
	if b.bits == 0 {
		return ""
	}
	for _, u := range bitUnits {
		if b.bits%u.bits == 0 {
			return fmt.Sprintf(":%d%s", b.bits/u.bits, u.suffix)
		}
	}
	return fmt.Sprintf(":%dbit", b.bits)
}

func (*bandwidth) features() []link.Feature { return []link.Feature{link.FeatureRate} }

func (b *bandwidth) explain() (does, bites string) {
	rate := "1Mbit"
	if b.bits != 0 {
		rate = b.suffix()[1:]
	}
	return "Lets " + rate + " a second over each edge, each way by itself; what comes faster waits, and its sender with it. " +
			"A chain with little traffic never fills such a line: then each message is only as slow as the line is, and :filled says what share of the line was used.",
		"units had to wait for the line, and after a second or more none of its edges has carried over 10% more than asked (and 16 KiB that may have been let through at once)"
}

func (b *bandwidth) draw(*rand.Rand) drawnShape {
	rate := b.bits / 8
	if rate == 0 {
		rate = 125_000
	}
	return drawnShape{
		shape: link.Shape{Rate: rate},
		value: []history.Value{history.Keyword("rate-bytes-per-s"), history.Int(rate)},
		bites: atMost(rate),
		measured: func(c link.Counters, took time.Duration) []history.Value {
			got := float64(c.Bytes) / took.Seconds()
			return []history.Value{
				history.Keyword("bytes-per-s"), history.Int(int64(got)),
				history.Keyword("filled"), rounded(got / float64(rate)),
			}
		},
	}
}

// atMost bites when units waited and no edge was faster than asked.
func atMost(rate int64) func(sight) string {
	const burst = 16 << 10
	return func(s sight) string {
		switch {
		case s.took < time.Second:
			return "too short a time to see a rate"
		case s.sum.Held == 0:
			return fmt.Sprintf("of %d units none had to wait: not enough traffic", s.sum.Units)
		}
		most := 1.1*float64(rate)*s.took.Seconds() + burst
		for _, e := range s.edges {
			if float64(e.Bytes) > most {
				return fmt.Sprintf("%d bytes in %v, more than %d a second", e.Bytes, s.took, rate)
			}
		}
		return ""
	}
}

// bitUnits are the units of rates, the largest first.
var bitUnits = [...]struct {
	suffix string
	bits   int64
}{{"Gbit", 1e9}, {"Mbit", 1e6}, {"kbit", 1e3}}

// bitrate takes a number of bits a second as 1Mbit.
func bitrate(at *int64, doc string) param {
	return param{
		doc: doc,
		take: func(part string) (bool, error) {
			for _, u := range bitUnits {
				text, ok := strings.CutSuffix(part, u.suffix)
				if !ok {
					continue
				}
				n, err := strconv.ParseInt(text, 10, 64)
				if err != nil {
					return false, nil
				}
				if n < 1 || n > 100e9/u.bits {
					return true, fmt.Errorf("%q: expected %s, from 1kbit to 100Gbit", part, doc)
				}
				*at = n * u.bits
				return true, nil
			}
			return false, nil
		},
	}
}
