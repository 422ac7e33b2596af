package nemesis

import (
	"context"
	"sync"
	"time"
)

// clockwork is a chain that makes a block every so often until it is stopped;
// its nodes propose in turn.
type clockwork struct {
	nodes []string
	power map[string]int64
	block time.Duration

	mu      sync.Mutex
	begun   time.Time
	stopped uint64 // height at which it stands still; 0: it goes on
}

func newClockwork(nodes []string, block time.Duration) *clockwork {
	return &clockwork{nodes: nodes, block: block, begun: time.Now()}
}

func (c *clockwork) height() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := uint64(time.Since(c.begun)/c.block) + 1
	if c.stopped > 0 {
		h = min(h, c.stopped)
	}
	return h
}

func (c *clockwork) Height(context.Context, string) (uint64, error) { return c.height(), nil }

func (c *clockwork) Proposer(context.Context) (string, error) {
	return c.nodes[(c.height()+1)%uint64(len(c.nodes))], nil
}

func (c *clockwork) Power(context.Context) (map[string]int64, error) {
	if c.power != nil {
		return c.power, nil
	}
	power := map[string]int64{}
	for _, n := range c.nodes {
		power[n] = 1
	}
	return power, nil
}
