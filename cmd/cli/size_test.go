package cli

import "testing"

func TestSize(t *testing.T) {
	for text, want := range map[string]int64{
		"4GiB": 4 << 30, "512MiB": 512 << 20, "1.5KiB": 1536, "2GB": 2e9, "100": 100, "7B": 7, "0": 0, "1 MiB": 1 << 20,
	} {
		var s Size
		if err := s.Set(text); err != nil || int64(s) != want {
			t.Errorf("%q is %d, error %v, want %d", text, s, err, want)
		}
	}
	for _, text := range []string{"", "many", "-1", "1XB", "NaN", "1e300GiB", "GiB"} {
		s := Size(5)
		if err := s.Set(text); err == nil || s != 5 {
			t.Errorf("%q is %d, want an error", text, s)
		}
	}
	for size, want := range map[Size]string{4 << 30: "4GiB", 1536: "1536", 0: "0", 3 << 20: "3MiB"} {
		if got := size.String(); got != want {
			t.Errorf("%d is %s, want %s", int64(size), got, want)
		}
	}
}

func TestWorseStatusWins(t *testing.T) {
	order := []int{Valid, Unknown, Invalid, Dirty, Usage, Internal}
	for i, a := range order {
		for j, b := range order {
			if got := Worse(a, b); got != order[max(i, j)] {
				t.Errorf("of %d and %d %d wins", a, b, got)
			}
		}
	}
}
