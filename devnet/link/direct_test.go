package link

import (
	"strings"
	"testing"
	"time"
)

// TestDirectRefuses: whoever asks it for a fault learns that there was none.
func TestDirectRefuses(t *testing.T) {
	d := NewDirect([]string{"n1", "n2", "n3"})
	edges := d.Edges()
	if len(edges) != 6 || edges[0] != (Edge{"n1", "n2"}) {
		t.Fatalf("edges %v", edges)
	}
	e := edges[0]
	_, reset := d.Reset(e)
	for what, err := range map[string]error{"cut": d.Cut(e), "shape": d.Shape(e, Shape{Delay: time.Second}), "reset": reset} {
		if err == nil || !strings.Contains(err.Error(), "directly") || !strings.Contains(err.Error(), "n1→n2") {
			t.Errorf("%s: %v", what, err)
		}
	}
	// What takes something back has nothing to do.
	if err := d.Heal(e); err != nil || d.IsCut(e) {
		t.Errorf("heal: %v, cut %v", err, d.IsCut(e))
	}
	if err := d.Shape(e, Shape{}); err != nil || d.Shaped(e) != (Shape{}) || d.Counters(e) != (Counters{}) {
		t.Errorf("the zero shape: %v", err)
	}
	if f := d.Features(); f == nil || len(f) > 0 {
		t.Errorf("features %#v", f)
	}
}
