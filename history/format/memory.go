package format

import (
	"context"

	"github.com/jepgo/jepgo/history"
)

// memory is a history that is in memory.
type memory struct{ h *history.History }

func (m *memory) each(ctx context.Context, take func(*history.Event) error) error {
	const checkEvery = 4096
	for e := range m.h.Events() {
		if e.Position%checkEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := take(e); err != nil {
			return err
		}
	}
	return nil
}

func (m *memory) head(n int) *history.History {
	return &history.History{Ops: m.h.Ops[:min(n, len(m.h.Ops))]}
}

func (m *memory) source() history.Source             { return m.h.Source() }
func (m *memory) cut() *history.CutError             { return m.h.Cut }
func (m *memory) history() (*history.History, error) { return m.h, nil }
func (m *memory) close() error                       { return nil }
