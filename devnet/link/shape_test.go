package link_test

import (
	"testing"
	"time"

	"github.com/jepgo/jepgo/devnet/link"
)

func TestShapesAddUp(t *testing.T) {
	const ms = time.Millisecond
	parts := []link.Shape{
		{Delay: 50 * ms},
		{Delay: 30 * ms, Jitter: 30 * ms},
		{Delay: 20 * ms, Reorder: 0.2},
		{Rate: 1000},
		{Loss: 0.3},
		{Burst: link.Burst{Enter: 0.1, Leave: 0.2}},
		{Duplicate: 0.1, Corrupt: 0.2, CorruptVisible: 0.3},
		{Stall: 0.1, StallTime: ms},
		{Slice: 3, HalfOpen: true, Reset: 0.7, SlowClose: ms},
	}
	var all link.Shape
	var err error
	for _, p := range parts {
		if all, err = all.With(p); err != nil {
			t.Fatal(err)
		}
	}
	if all.Delay != 100*ms || all.Jitter != 30*ms || all.Reorder != 0.2 || all.Loss != 0.3 || !all.HalfOpen {
		t.Errorf("together: %+v", all)
	}
	for _, p := range parts {
		for _, f := range p.Features() {
			again, err := all.With(p)
			switch {
			case p.Rate+int64(p.Slice) == 0 && p.Loss+p.Reorder+p.Duplicate+p.Stall == 0 && p.Burst == link.Burst{}:
				if err != nil {
					t.Errorf("%s twice: %v", f, err)
				}
			case err == nil || again != all:
				t.Errorf("%s twice: %+v, %v", f, again, err)
			}
		}
	}
	// In another order than they came.
	for _, i := range []int{3, 0, 8, 1, 2, 5, 4, 7, 6} {
		all = all.Without(parts[i])
	}
	if all != (link.Shape{}) {
		t.Errorf("without all of them: %+v", all)
	}
	if s := (link.Shape{Loss: 0.1}).Without(link.Shape{Loss: 0.2, Delay: ms}); s != (link.Shape{Loss: 0.1}) {
		t.Errorf("what was never there is taken away: %+v", s)
	}
}
