package nemesis

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/jepgo/jepgo/history"
)

// TestLogLinesAreShort holds that what a person sees of a fault fits a line, and
// that the evidence is there for who asks.
func TestLogLinesAreShort(t *testing.T) {
	t.Parallel()
	for level, evidence := range map[slog.Level]bool{slog.LevelInfo: false, slog.LevelDebug: true} {
		n, _, _ := testNet(t, 4)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		r := &rec{}
		o := options(t, n, "partition:halves,pause:one", 3, r)
		o.Interval = time.Millisecond
		var text bytes.Buffer
		o.Logger = slog.New(slog.NewTextHandler(&text, &slog.HandlerOptions{Level: level}))
		undone := 0
		r.seen = func(op history.Op) error {
			if _, starts, _ := entryOf(op.F); !starts && measured(op) {
				if undone++; undone == 2 {
					cancel()
				}
			}
			return nil
		}
		if _, err := Run(ctx, o); err != nil {
			t.Fatal(err)
		}
		got := text.String()
		for _, want := range []string{`msg="fault in force" fault=partition:halves targets="halves: n1 `, ` | n`,
			`msg="fault undone" fault=partition:halves`, `msg="fault in force" fault=pause:one targets=n`, `msg="fault undone" fault=pause:one`} {
			if !strings.Contains(got, want) {
				t.Errorf("at %v %q is not in:\n%s", level, want, got)
			}
		}
		if strings.Contains(got, "evidence=") != evidence {
			t.Errorf("evidence at %v:\n%s", level, got)
		}
	}
}
