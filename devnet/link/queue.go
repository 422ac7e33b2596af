package link

import "time"

// hold queues a unit behind those that are held already. p.mu is held.
func (p *pump) hold(c *conn, s *state, u unit) {
	u.let, u.letEnds = s.let, s.letEnds
	if n := len(p.queue); n > 0 {
		// It cannot be late before those that it is behind. What has been let go
		// since keeps nobody.
		if before := p.queue[n-1]; before.let == u.let && before.letEnds == u.letEnds {
			u.due = later(u.due, before.due)
		}
	}
	p.queue = append(p.queue, u)
	p.queued += len(u.data)
	if !p.draining {
		p.draining = true
		c.wg.Go(func() { p.drain(c) })
	}
}

// drain lets held units go as they are due, until none is left.
func (p *pump) drain(c *conn) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		s, wait, end := p.next(c)
		if end {
			return
		}
		timer.Reset(wait)
		select {
		case <-timer.C:
		case <-s.gone:
		case <-c.done:
			return
		}
	}
}

// forever is longer than anybody waits.
const forever = 1000 * time.Hour

// next lets go what is due and returns how long the next unit must still wait in
// the state that it saw. end is true when nothing is left to be done.
func (p *pump) next(c *conn) (s *state, wait time.Duration, end bool) {
	for {
		p.mu.Lock()
		if len(p.queue) == 0 {
			p.draining = false
			p.mu.Unlock()
			return nil, 0, true
		}
		s = p.edge.state.Load()
		if s.Cut || p.lost.Load() {
			p.discard(c)
			return nil, 0, true
		}
		u, now := p.queue[0], time.Now()
		if wait = u.wait(s, now); wait > 0 {
			p.mu.Unlock()
			return s, wait, false
		}
		p.pop()
		var err error
		if u.end != nil {
			p.passEnd(c, u.end)
		} else if err = p.write(c, u.data); err == nil && !p.lost.Load() {
			p.edge.left(u, now, time.Now())
		}
		p.mu.Unlock()
		if err != nil {
			p.refused(c, c.other(p), err)
			return nil, 0, true
		}
	}
}

// wait is how long the unit must still wait in a state.
func (u unit) wait(s *state, now time.Time) time.Duration {
	switch {
	case u.end == nil && u.let != s.let, u.end != nil && u.letEnds != s.letEnds:
		return 0
	case u.end != nil && s.Shape.HalfOpen:
		return forever
	}
	return u.due.Sub(now)
}

// pop takes the first unit off the queue. p.mu is held.
func (p *pump) pop() {
	p.queued -= len(p.queue[0].data)
	p.queue[0] = unit{}
	if p.queue = p.queue[1:]; len(p.queue) == 0 {
		p.queue = nil
	}
	p.makeRoom()
}

func (p *pump) makeRoom() {
	select {
	case p.room <- struct{}{}:
	default:
	}
}

// discard loses all that is held. It is called with p.mu and gives it back.
func (p *pump) discard(c *conn) {
	lost, end := p.queued, false
	for _, u := range p.queue {
		end = end || u.end != nil
	}
	p.queue, p.queued, p.draining = nil, 0, false
	p.makeRoom()
	cut := p.lose(lost)
	p.mu.Unlock()
	switch {
	case !cut:
		c.hangUp()
	case end:
		<-c.done // as finish does
	}
}

// awaitRoom waits while the direction holds as much as it may.
func (p *pump) awaitRoom(c *conn) {
	for {
		p.mu.Lock()
		full := p.queued >= mostHeld || len(p.queue) >= mostHeldUnits
		p.mu.Unlock()
		s := p.edge.state.Load()
		over := s.line.backlog(time.Now()) - mostBacklog
		if s.Cut || !full && over <= 0 {
			return
		}
		if full {
			over = forever
		}
		timer := time.NewTimer(over)
		select {
		case <-timer.C:
		case <-p.room:
		case <-s.gone:
		case <-c.done:
			timer.Stop()
			return
		}
		timer.Stop()
	}
}
