package checker

import (
	"context"
	"fmt"
	"runtime"
	"sync"

	"github.com/jepgo/jepgo/history"
)

// Pass gives the events of one history to several streams and composes what they
// say, as Compose does for checkers.
type Pass struct {
	streams []Stream
	broken  []string // what a stream panicked with, "" for none
	seen    int
}

// NewPass begins a pass.
func NewPass(streams ...Stream) *Pass {
	return &Pass{streams: streams, broken: make([]string, len(streams))}
}

// Take gives the next event to every stream.
func (p *Pass) Take(e *history.Event) {
	p.seen++
	p.give(0, e)
}

// give gives the event to the streams from one on. One that panics is broken, and
// the others go on.
func (p *Pass) give(from int, e *history.Event) {
	defer func() {
		if r := recover(); r != nil {
			p.broken[from] = fmt.Sprintf("checker panicked at op %d: %v", e.Position, r)
			p.give(from+1, e)
		}
	}()
	for ; from < len(p.streams); from++ {
		if p.broken[from] == "" {
			p.streams[from].Take(e)
		}
	}
}

// Finish lets the streams judge, at most GOMAXPROCS at once, and returns their
// results in their order with the worst of their verdicts. A stream that
// panicked, that ctx ended before it had seen everything, or that claims valid
// with no facts, is Unknown with the reason. No streams at all is Unknown.
func (p *Pass) Finish(ctx context.Context, src history.Source) ([]Result, Verdict) {
	results := make([]Result, len(p.streams))
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	var wait sync.WaitGroup
	for i, s := range p.streams {
		wait.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			if p.broken[i] != "" {
				results[i] = Result{Checker: s.Name(), Reason: p.broken[i]}
				return
			}
			results[i] = guard(ctx, s.Name(), func() Result { return s.Finish(ctx, src) })
		})
	}
	wait.Wait()
	return results, worstOf(results)
}
