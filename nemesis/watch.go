package nemesis

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// watch is what triggers know of the network. It looks only while no fault is
// being applied or undone, and is used by one goroutine.
type watch struct {
	net     Net
	start   time.Time // of the main phase
	heights bool      // somebody asks for them

	heads map[string]head // by node; "" is the highest of all
	block time.Duration   // between two blocks, as last measured; 0: not yet
	was   uint64          // the highest head at the look before
	fresh bool            // was is of the look before, with no fault in between
}

// head is the highest block that was seen somewhere.
type head struct {
	height uint64
	moved  time.Time // when it was first seen
}

const (
	// askWait bounds one question to a node: a node that does not answer must not
	// hold up the moment that another one tells of.
	askWait = 2 * time.Second
	// Bounds of the time between two looks, and what it is while nobody knows how
	// long a block takes.
	leastLook = 20 * time.Millisecond
	mostLook  = time.Second
	// looksPerBlock is how often a block is looked at, so that a moment is seen
	// within that part of a block.
	looksPerBlock = 4
)

func newWatch(n Net, start time.Time, faults []Fault) *watch {
	w := &watch{net: n, start: start, heads: make(map[string]head)}
	for _, f := range faults {
		_, when, stay := timesOf(f)
		w.heights = w.heights || when != nil && when.of().needs(Reach{}) == needsChain(Reach{}) || stay != nil && stay.blocks > 0
	}
	return w
}

func (w *watch) elapsed() time.Duration { return time.Since(w.start) }

// period is the time between two looks: a part of a block.
func (w *watch) period() time.Duration {
	if w.block == 0 {
		return look
	}
	return min(max(w.block/looksPerBlock, leastLook), mostLook)
}

// head is the highest head that was seen; known is false when none was.
func (w *watch) head() (height uint64, known bool) {
	h, known := w.heads[""]
	return h.height, known
}

// look asks every node for its height. A node that does not answer keeps the
// head that it was last seen to have.
func (w *watch) look(ctx context.Context) {
	if !w.heights || w.net.Chain == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, askWait)
	defer cancel()
	seen := make([]uint64, len(w.net.Nodes))
	var wg sync.WaitGroup
	for i, node := range w.net.Nodes {
		wg.Go(func() {
			if h, err := w.net.Chain.Height(ctx, node); err == nil {
				seen[i] = h
			}
		})
	}
	wg.Wait()
	now := time.Now()
	was, known := w.heads[""]
	w.was, w.fresh = was.height, known && w.fresh
	for i, node := range w.net.Nodes {
		for _, name := range []string{node, ""} {
			if h, known := w.heads[name]; seen[i] > h.height || !known && seen[i] > 0 {
				w.heads[name] = head{seen[i], now}
			}
		}
	}
	if is := w.heads[""]; known && w.fresh && is.height > was.height {
		w.block = is.moved.Sub(was.moved) / time.Duration(is.height-was.height)
	}
}

// looked says that the next look follows this one with nothing in between.
func (w *watch) looked() { w.fresh = true }

// blind says that the network was not looked at for a while.
func (w *watch) blind() { w.fresh = false }

// moment is when a fault started.
type moment struct {
	at     time.Duration // since the main phase began
	height uint64        // highest head known, 0 where nobody asked
	ops    int64         // completed by all clients, 0 where nobody counts
}

func (w *watch) now() moment {
	m := moment{at: w.elapsed()}
	m.height, _ = w.head()
	if w.net.Ops != nil {
		m.ops = w.net.Ops(allProcesses)
	}
	return m
}

// clue is what one trigger's due may look at.
type clue struct {
	ctx context.Context
	*watch
	*memory
}

// memory is what a trigger keeps from look to look.
type memory struct {
	next    time.Duration // every: when it is due next
	ended   bool          // after: the fault before it was undone, and it has not fired since
	from    uint64        // after: the head when that was seen
	counted bool          // after: from is known
	saw     string        // the nearest that it came, for the one that never fires
}

func dueHeight(c clue, t trigger) (bool, error) {
	h, known := c.head()
	c.saw = fmt.Sprintf("the highest head was %d", h)
	return known && h >= t.n, nil
}

func dueAfter(c clue, t trigger) (bool, error) {
	h, known := c.head()
	switch {
	case !c.ended:
		c.saw = "the fault before it was not undone"
		return false, nil
	case !known:
		return false, nil
	case !c.counted:
		c.from, c.counted = h, true
	}
	c.saw = fmt.Sprintf("the fault before it was undone at block %d, and the highest head was %d", c.from, h)
	if h < c.from+t.n {
		return false, nil
	}
	c.ended, c.counted = false, false
	return true, nil
}

func dueEpoch(c clue, t trigger) (bool, error) {
	h, known := c.head()
	c.saw = fmt.Sprintf("the highest head was %d", h)
	return known && c.fresh && h/t.n > c.was/t.n, nil
}

func dueProposer(c clue, t trigger) (bool, error) {
	ctx, cancel := context.WithTimeout(c.ctx, askWait)
	defer cancel()
	p, err := c.net.Proposers.Proposer(ctx)
	if err != nil {
		return false, fmt.Errorf("the next proposer: %w", err)
	}
	c.saw = "the last proposer seen was " + p
	return p == t.node, nil
}

func dueOp(c clue, t trigger) (bool, error) {
	n := c.net.Ops(t.process)
	c.saw = fmt.Sprintf("%d operations were completed", n)
	return n >= int64(t.n), nil
}

func dueStall(c clue, t trigger) (bool, error) {
	h, known := c.heads[t.node]
	if !known {
		c.saw = "no head was seen"
		return false, nil
	}
	c.saw = fmt.Sprintf("at the last look block %d was %v old", h.height, time.Since(h.moved).Round(time.Millisecond))
	return time.Since(h.moved) >= t.d, nil
}

// dueMetric asks every endpoint of every node that counts; one without that
// series says nothing.
func dueMetric(c clue, t trigger) (bool, error) {
	ctx, cancel := context.WithTimeout(c.ctx, askWait)
	defer cancel()
	var last error
	found := false
	for _, node := range c.net.Nodes {
		if t.node != "" && t.node != node {
			continue
		}
		for _, url := range c.net.Metrics[node] {
			values, err := scrape(ctx, url, t.metric)
			if err != nil {
				last = err
			}
			for _, v := range values {
				found = true
				c.saw = fmt.Sprintf("the last value seen was %g on %s", v, node)
				if t.above && v > t.value || !t.above && v < t.value {
					return true, nil
				}
			}
		}
	}
	if found {
		return false, nil
	}
	c.saw = fmt.Sprintf("no node had a series %q", t.metric)
	return false, last
}

func dueTime(c clue, t trigger) (bool, error) {
	c.saw = fmt.Sprintf("the main phase took %v", c.elapsed().Round(time.Millisecond))
	return c.elapsed() >= t.d, nil
}

// dueEvery skips the turns that it missed while another fault was in force.
func dueEvery(c clue, t trigger) (bool, error) {
	if c.next == 0 {
		c.next = t.d
	}
	now := c.elapsed()
	c.saw = fmt.Sprintf("the main phase took %v", now.Round(time.Millisecond))
	if now < c.next {
		return false, nil
	}
	c.next = (now/t.d + 1) * t.d
	return true, nil
}
