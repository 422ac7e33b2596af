package cli

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Size is a number of bytes as a flag: 4GiB, 512MiB, 1GB, 1000. It implements
// pflag.Value.
type Size int64

var units = []struct {
	name string
	size int64
}{
	{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10},
	{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}, {"B", 1},
}

// String renders s with the largest unit that divides it.
func (s *Size) String() string {
	if *s == 0 {
		return "0"
	}
	for _, u := range units[:4] {
		if int64(*s)%u.size == 0 {
			return strconv.FormatInt(int64(*s)/u.size, 10) + u.name
		}
	}
	return strconv.FormatInt(int64(*s), 10)
}

// Set reads a size.
func (s *Size) Set(text string) error {
	number, unit := text, int64(1)
	for _, u := range units {
		if rest, ok := strings.CutSuffix(text, u.name); ok {
			number, unit = rest, u.size
			break
		}
	}
	f, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil || f < 0 || f*float64(unit) > math.MaxInt64/2 || math.IsNaN(f) {
		return fmt.Errorf("size %q cannot be read, want one such as 4GiB or 512MiB", text)
	}
	*s = Size(f * float64(unit))
	return nil
}

// Type is what the help calls it.
func (s *Size) Type() string { return "size" }
