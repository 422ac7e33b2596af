package usage

import (
	"slices"
	"testing"
)

func TestSimilar(t *testing.T) {
	known := []string{"kill", "isolate-kill", "pause", "clock-bump", "n1"}
	for name, want := range map[string][]string{
		"kil":       {"kill", "isolate-kill"},
		"KILL":      {"kill", "isolate-kill"},
		"clokc-bmp": nil, // three letters apart
		"clock":     {"clock-bump"},
		"puase":     {"pause"},
		"paws":      nil, // of four letters one may differ, and here two do
		"pausse":    {"pause"},
		"":          nil,
		"x":         nil,
	} {
		if got := Similar(name, known); !slices.Equal(got, want) {
			t.Errorf("Similar(%q) = %q, want %q", name, got, want)
		}
	}
	if got := Meant("kil", known); got != "did you mean kill, isolate-kill? " {
		t.Errorf("Meant said %q", got)
	}
	if got := Meant("zzz", known); got != "" {
		t.Errorf("Meant said %q of a name like none", got)
	}
}
