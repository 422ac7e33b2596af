package rpc

import (
	"time"
)

// notification takes one notification to the client, by the rules. They keep
// their order, whatever delays they have.
func (s *session) notification(set *ruleset, kind int, n envelope) error {
	h := heldMessage{kind: kind, set: set, since: time.Now()}
	for _, f := range set.fire(n.method) {
		switch f.Do.Kind {
		case Drop:
			f.dropped.Add(1)
			return nil
		case Delay:
			h.delay += f.delay()
			h.fired = append(h.fired, f)
		case Stale:
			old := s.olderHead(f, n)
			if old == nil {
				return nil
			}
			n = open(old)
		case Corrupt:
			was := n.raw
			for _, e := range f.Do.Edits {
				result, ok := member(n.raw, n.params, "result")
				if !ok {
					break
				}
				n = open(e.apply(n.raw, result, f.rng))
			}
			f.countCorrupted(was, n.raw)
		case Cut:
			x := exchange{calls: []*call{{fired: []firing{f}}}}
			n.raw = x.cut(n.raw)
		}
	}
	h.message = n.raw
	if h.delay == 0 && s.holds.Load() == 0 {
		return s.client.send(kind, h.message)
	}
	s.holds.Add(1)
	select {
	case s.held <- h:
		return nil
	case <-s.ctx.Done():
		return s.ctx.Err()
	}
}

// olderHead puts a new head into its queue, and returns the one that a client
// that many blocks behind gets now; nil is none yet. What is no new head comes
// back as it is.
func (s *session) olderHead(f firing, n envelope) []byte {
	result, ok := member(n.raw, n.params, "result")
	if !ok {
		return n.raw
	}
	if _, ok := member(n.raw, result, "parentHash"); !ok {
		return n.raw
	}
	id, _ := member(n.raw, n.params, "subscription")
	of := headsOf{f.rule, string(id.of(n.raw))}
	s.mu.Lock()
	defer s.mu.Unlock()
	for k := range s.heads {
		if k.rule.set.replaced() {
			delete(s.heads, k)
		}
	}
	queue := append(s.heads[of], n.raw)
	var old []byte
	if uint64(len(queue)) > f.Do.Blocks {
		old, queue = queue[0], queue[1:]
	}
	s.heads[of] = queue
	f.countStale(uint64(len(queue)))
	return old
}

// release lets held notifications go when it is their time.
func (s *session) release() {
	for {
		select {
		case <-s.ctx.Done():
			return
		case h := <-s.held:
			passed, err := h.set.wait(s.ctx, h.delay-time.Since(h.since))
			if err == nil {
				err = s.client.send(h.kind, h.message)
			}
			if err != nil {
				s.cancel()
				return
			}
			if passed {
				for _, f := range h.fired {
					f.countDelay(time.Since(h.since))
				}
			}
			s.holds.Add(-1)
		}
	}
}
