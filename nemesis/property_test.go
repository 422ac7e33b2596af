package nemesis

import (
	"math/rand/v2"
	"testing"
)

// property holds a check against a hundred draws, and tells the seed of one that
// fails. It takes the place of a library: this binary is started hundreds of times
// as a node or an owner, and what libraries prepare at each start is a third of
// that time.
func property(t *testing.T, check func(t *testing.T, r *rand.Rand)) {
	t.Helper()
	var seed uint64
	defer func() {
		if t.Failed() {
			t.Logf("drawn from seed %d", seed)
		}
	}()
	for range 100 {
		seed = rand.Uint64()
		check(t, seeded(seed))
	}
}

// fromTo draws from a range with both its ends; small steps from the least are
// as likely as large ones.
func fromTo[T ~int | ~int64 | ~uint64](r *rand.Rand, least, most T) T {
	return least + T(r.Uint64()>>r.IntN(64)%(uint64(most-least)+1))
}

func pick[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }

func coin(r *rand.Rand) bool { return r.IntN(2) == 1 }

// some draws up to so many of these characters.
func some(r *rand.Rand, most int, of string) string {
	text := make([]byte, r.IntN(most+1))
	for i := range text {
		text[i] = of[r.IntN(len(of))]
	}
	return string(text)
}
