package rpc

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"time"
)

// call is one request with what happens to it.
type call struct {
	envelope
	fired  []firing
	lost   bool   // never reaches the node
	answer []byte // given in the node's place
	asOf   *view  // what a Stale rule lets it see
	tagged bool   // its tag was replaced
}

// errReplaced says that the rules were replaced while they held a message back:
// it goes on as if there had been none.
var errReplaced = errors.New("the rules were replaced")

// exchange is a message from a client, one request or a batch, and the answer
// to it. One goroutine at a time uses it.
type exchange struct {
	set   *ruleset
	ask   asker
	calls []*call
	batch bool
	views map[uint64]*view // by Action.Blocks: one for all calls of a message
}

// ending is how a message ends other than by an answer to each request.
type ending struct {
	hang   bool // silence until the client gives up or the rules are replaced
	status int  // 0: no answer
	page   bool
}

const page = `<!DOCTYPE html>
<html><head><title>Gateway</title></head>
<body><h1>The server is temporarily unable to service your request</h1></body></html>
`

func (e *ending) body() (contentType, text string) {
	if e.page {
		return "text/html; charset=utf-8", page
	}
	return "text/plain; charset=utf-8", http.StatusText(e.status) + "\n"
}

// examine fires the rules at a message from a client. It is nil when nothing
// happens to it, and when it is not one.
func (s *ruleset) examine(body []byte, ask asker) *exchange {
	if len(s.rules) == 0 {
		return nil
	}
	messages, batch, ok := parse(body)
	if !ok {
		return nil
	}
	x := &exchange{set: s, ask: ask, batch: batch, calls: make([]*call, len(messages))}
	any := false
	for i, m := range messages {
		x.calls[i] = &call{envelope: m}
		if m.method != "" {
			x.calls[i].fired = s.fire(m.method)
			any = any || len(x.calls[i].fired) > 0
		}
	}
	if !any {
		return nil
	}
	return x
}

// each calls do for every action of that side.
func (x *exchange) each(after bool, do func(*call, firing)) {
	for _, c := range x.calls {
		for _, f := range c.fired {
			if f.Do.After == after {
				do(c, f)
			}
		}
	}
}

// hold waits for the delays of that side, and counts those that were waited for.
// In a batch the longest counts: its answers travel together.
func (x *exchange) hold(ctx context.Context, after bool) error {
	var longest time.Duration
	var held []firing
	for _, c := range x.calls {
		var sum time.Duration
		for _, f := range c.fired {
			if f.Do.Kind == Delay && f.Do.After == after {
				sum += f.delay()
				held = append(held, f)
			}
		}
		longest = max(longest, sum)
	}
	if len(held) == 0 {
		return nil
	}
	start := time.Now()
	passed, err := x.set.wait(ctx, longest)
	if passed {
		for _, f := range held {
			f.countDelay(time.Since(start))
		}
	}
	return err
}

func (f firing) delay() time.Duration {
	d := f.Do.Delay
	if f.Do.Jitter > 0 {
		d += time.Duration(f.rng.Int64N(int64(2*f.Do.Jitter)+1)) - f.Do.Jitter
	}
	return d
}

// wait waits; passed is false when the rules were replaced meanwhile, and the
// error is that of ctx.
func (s *ruleset) wait(ctx context.Context, d time.Duration) (passed bool, err error) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false, ctx.Err()
	case <-s.done:
		return false, nil
	case <-t.C:
		return true, nil
	}
}

// before does what comes before the node. forward is what the node gets, nil for
// nothing; end says how the message ends here, if it does.
func (x *exchange) before(ctx context.Context) (forward []byte, end *ending, err error) {
	if err := x.hold(ctx, false); err != nil {
		return nil, nil, err
	}
	if x.set.replaced() {
		return nil, nil, errReplaced
	}
	x.each(false, func(c *call, f firing) {
		switch f.Do.Kind {
		case Drop:
			c.lost = true
			end = &ending{hang: f.Do.Hang}
			f.dropped.Add(1)
		case Fail:
			if c.id != "" {
				c.answer = failure(c.id, f.Do)
				f.errored.Add(1)
			}
			c.lost = true
		}
	})
	if gone := x.refuse(false); gone != nil {
		return nil, gone, nil
	}
	var left [][]byte
	answered := false
	for _, c := range x.calls {
		answered = answered || c.answer != nil
		if !c.lost {
			x.makeStale(ctx, c)
			left = append(left, c.raw)
		}
	}
	switch {
	case len(left) > 0 && x.batch:
		return join(left), nil, nil
	case len(left) > 0:
		return left[0], nil, nil
	case answered:
		return nil, nil, nil
	}
	if end == nil { // notifications with a Fail: there is nobody to tell
		end = &ending{}
	}
	return nil, end, nil
}

// refuse answers the whole message, where a rule says so.
func (x *exchange) refuse(after bool) (end *ending) {
	x.each(after, func(c *call, f firing) {
		switch f.Do.Kind {
		case Status:
			end = &ending{status: f.Do.Status}
		case Page:
			end = &ending{status: f.Do.Status, page: true}
			if end.status == 0 {
				end.status = http.StatusOK
			}
		default:
			return
		}
		f.errored.Add(1)
	})
	return end
}

// after does to the node's answer what comes after the node; body is nil when the
// node was not asked. It returns body itself when there is nothing to do. The
// delays are the caller's.
func (x *exchange) after(body []byte) (answer []byte, end *ending) {
	if x.set.replaced() {
		return body, nil
	}
	if gone := x.refuse(true); gone != nil {
		return nil, gone
	}
	var answers []envelope
	if body != nil {
		var ok bool
		if answers, _, ok = parse(body); !ok {
			return x.opaque(body)
		}
	}
	byID := make(map[string]*call, len(x.calls))
	for _, c := range x.calls {
		if c.id != "" {
			byID[c.id] = c
		}
	}
	changed := false
	var out [][]byte
	for _, a := range answers {
		c := byID[a.id]
		if c == nil && !x.batch && len(answers) == 1 {
			c = x.calls[0] // an error whose id the node could not read
		}
		raw := a.raw
		if c != nil {
			raw, end = x.alter(c, a, end)
			changed = changed || !bytes.Equal(raw, a.raw)
		}
		if raw != nil {
			out = append(out, raw)
		}
	}
	for _, c := range x.calls {
		if c.answer != nil {
			out = append(out, c.answer)
			changed = true
		}
	}
	if changed {
		switch {
		case len(out) == 0:
			return nil, end
		case x.batch:
			body = join(out)
		default:
			body = out[0]
		}
	}
	return x.cut(body), nil
}

// opaque is after for an answer that cannot be read.
func (x *exchange) opaque(body []byte) ([]byte, *ending) {
	var end *ending
	if !x.batch {
		x.each(true, func(_ *call, f firing) {
			if f.Do.Kind == Drop {
				f.dropped.Add(1)
				end = &ending{hang: f.Do.Hang}
			}
		})
	}
	if end != nil {
		return nil, end
	}
	return x.cut(body), nil
}

// alter does to one answer what its call's rules say; nil when it is lost.
func (x *exchange) alter(c *call, a envelope, end *ending) ([]byte, *ending) {
	for _, f := range c.fired {
		if f.Do.Kind == Drop && f.Do.After {
			f.dropped.Add(1)
			return nil, &ending{hang: f.Do.Hang}
		}
	}
	for _, f := range c.fired {
		was := a.raw
		switch {
		case f.Do.Kind == Fail && f.Do.After && c.id != "":
			f.errored.Add(1)
			return failure(c.id, f.Do), end
		case f.Do.Kind == Stale:
			a = c.stale(a, f)
		case f.Do.Kind == Corrupt && a.hasResult:
			for _, e := range f.Do.Edits {
				a = open(e.apply(a.raw, a.result, f.rng))
			}
			f.countCorrupted(was, a.raw)
		case f.Do.Kind == WrongID && a.id != "":
			a = open(splice(a.raw, a.idAt, []byte(otherID(a.id))))
			f.countCorrupted(was, a.raw)
		}
	}
	return a.raw, end
}

func (r *rule) countCorrupted(was, is []byte) {
	if !bytes.Equal(was, is) {
		r.corrupted.Add(1)
	}
}

// cut ends the body early, where a rule says so.
func (x *exchange) cut(body []byte) []byte {
	for _, c := range x.calls {
		for _, f := range c.fired {
			if f.Do.Kind != Cut || len(body) == 0 {
				continue
			}
			keep := f.Do.Keep
			if keep == 0 {
				keep = 0.5
			}
			body = body[:int(keep*float64(len(body)))]
			f.corrupted.Add(1)
		}
	}
	return body
}

// repeated is a request that the node gets once more.
type repeated struct {
	id string
	by firing
}

// repeats is what the node gets once more, nil for nothing.
func (x *exchange) repeats() (body []byte, all []repeated) {
	if x.set.replaced() {
		return nil, nil
	}
	var again [][]byte
	for _, c := range x.calls {
		for _, f := range c.fired {
			if f.Do.Kind == Duplicate && !c.lost {
				again = append(again, c.raw)
				all = append(all, repeated{c.id, f})
			}
		}
	}
	switch {
	case len(again) == 0:
		return nil, nil
	case x.batch:
		return join(again), all
	}
	return again[0], all
}
