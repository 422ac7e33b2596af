package checker

import (
	"context"
	"fmt"

	"github.com/jepgo/jepgo/history"
)

// CausalReverse returns the checker causal-reverse, for an anomaly that
// serializability allows and strict serializability does not: a read sees a write
// and misses one that had ended before that write began. Elements are written one
// by one (:write v), each ok :read returns a collection of them; the order within
// a read does not matter, nor do processes. Unknown when nothing was read.
//
// Where Jepsen differs: if an element is written twice it goes by the last
// invocation, which can accuse a read that saw the first. Elements that nobody
// wrote, or whose write failed, are warnings; Unknown if nobody wrote any.
//
// A read costs a comparison for each element that stands where the read before had
// it. Whether it is wrong then takes one look: at the element, of those it lacks,
// whose write ended first. Memory: some 60 bytes for each element.
func CausalReverse() Stream { return newCausalReverse("causal-reverse") }

func newCausalReverse(name string) *causalReverse { return &causalReverse{name: name, newest: none} }

type causalReverse struct {
	name   string
	in     interner
	held   collection
	puts   puts
	writes []writing // by element
	ended  []int32   // elements in the order in which their writes ended
	first  int       // all of ended before this are in the last read
	newest int32     // of the last read, the element whose write began last; or none
	lookUp bool      // newest has gone and has to be found anew
	odd    int       // elements of the last read that nobody has begun to write so far
	calls  opened[int]

	reads    int
	wrong    []reversal
	wrongs   int
	early    []earlyRead
	soon     bool // an element was read first and written later
	unread   int  // ok reads without a collection
	unreadAt int  // the first of them
}

// writing is what is known of the write of one element: positions, or nowhere.
type writing struct {
	call, ok int
	named    int   // the invocation that says what ok is of, where that does not
	rank     int32 // place in ended
	tried    bool
	failed   bool
	read     bool // some read holds it
}

// reversal is a read that holds an element and lacks one whose write had ended
// before the write of that began.
type reversal struct {
	call, at      int
	missing, held int32
	count         int // how many such it lacks
}

// earlyRead is a read with elements that nobody had begun to write when it ended:
// it can only be judged when all writes are known.
type earlyRead struct {
	call, at int
	wrong    bool // is known already
}

func (c *causalReverse) Name() string { return c.name }

func (c *causalReverse) Take(e *history.Event) {
	if !ofClient(e) {
		return
	}
	switch e.F {
	case "write":
		c.write(e)
	case "read":
		switch e.Type {
		case history.Invoke:
			c.calls.begin(e.Process, e.Position)
		case history.OK:
			call, ok := c.calls.end(e.Process)
			if !ok {
				call = nowhere
			}
			c.read(e, call)
		default:
			c.calls.end(e.Process)
		}
	}
}

func (c *causalReverse) elem(id int32) *writing {
	for len(c.writes) <= int(id) {
		c.writes = append(c.writes, writing{call: nowhere, ok: nowhere, named: nowhere})
	}
	return &c.writes[id]
}

func (c *causalReverse) write(e *history.Event) {
	id, call, ok := c.puts.of(&c.in, e)
	if !ok {
		return
	}
	w := c.elem(id)
	w.tried = true
	open := w.unbegun()
	switch {
	case e.Type == history.Invoke && open:
		w.call = e.Position
		c.soon = c.soon || w.read
	case e.Type == history.OK && w.ok == nowhere:
		w.ok, w.named, w.rank = e.Position, call, int32(len(c.ended))
		c.ended = append(c.ended, id)
	case e.Type == history.Fail:
		w.failed = true
	}
	if open && !w.unbegun() && c.held.holds(id) {
		c.odd--
		if w.call != nowhere {
			c.newest = id
		}
	}
}

// unbegun reports whether nothing is known of when the write begins.
func (w *writing) unbegun() bool { return w.call == nowhere && w.ok == nowhere }

// enter, leave and again follow what a read changes.
func (c *causalReverse) enter(id int32) {
	w := c.elem(id)
	w.read = true
	if w.unbegun() {
		c.odd++
	}
	if w.call != nowhere && (c.newest == none || c.writes[c.newest].call < w.call) {
		c.newest = id
	}
}

func (c *causalReverse) leave(id int32) {
	w := &c.writes[id]
	if w.unbegun() {
		c.odd--
	}
	if id == c.newest {
		c.lookUp = true
	}
	if w.ok != nowhere {
		c.first = min(c.first, int(w.rank))
	}
}

func (*causalReverse) again(int32) {}

func (c *causalReverse) read(e *history.Event, call int) {
	if !isCollection(e.Value) {
		if c.unread++; c.unread == 1 {
			c.unreadAt = e.Position
		}
		return
	}
	c.reads++
	c.held.read(e.Value, &c.in, c)
	if c.lookUp {
		c.lookUp, c.newest = false, none
		for _, id := range c.held.order {
			if w := &c.writes[id]; w.call != nowhere && (c.newest == none || c.writes[c.newest].call < w.call) {
				c.newest = id
			}
		}
	}
	for c.first < len(c.ended) && c.held.holds(c.ended[c.first]) {
		c.first++
	}
	wrong := c.newest != none && c.first < len(c.ended) && c.writes[c.ended[c.first]].ok < c.writes[c.newest].call
	if wrong {
		if c.wrongs++; c.wrongs <= enough {
			found := reversal{call: call, at: e.Position, missing: c.ended[c.first], held: c.newest}
			for _, id := range c.ended[c.first:] {
				if c.writes[id].ok < c.writes[c.newest].call && !c.held.holds(id) {
					found.count++
				}
			}
			c.wrong = append(c.wrong, found)
		}
	}
	if c.odd > 0 {
		c.early = append(c.early, earlyRead{call, e.Position, wrong})
	}
}

// asks is the reads that have to be looked at again.
func (c *causalReverse) asks() []int {
	if !c.soon {
		return nil
	}
	at := make([]int, len(c.early))
	for i := range c.early {
		at[i] = c.early[i].at
	}
	return at
}

// judge looks at a read again, by all that is known now.
func (c *causalReverse) judge(read earlyRead, v history.View) {
	in := make(map[int32]bool)
	newest := none
	for elem := range elements(v) {
		id := c.in.number(elem)
		in[id] = true
		if w := c.elem(id); w.call != nowhere && (newest == none || c.writes[newest].call < w.call) {
			newest = id
		}
	}
	if newest == none {
		return
	}
	found := reversal{call: read.call, at: read.at, missing: none, held: newest}
	for _, id := range c.ended {
		if c.writes[id].ok >= c.writes[newest].call {
			break
		}
		if !in[id] {
			if found.count++; found.count == 1 {
				found.missing = id
			}
		}
	}
	if found.count > 0 && !read.wrong {
		if c.wrongs++; c.wrongs <= enough {
			c.wrong = append(c.wrong, found)
		}
	}
}

func (c *causalReverse) Finish(ctx context.Context, src history.Source) Result {
	r := Result{Checker: c.name, Facts: c.reads}
	if ctx.Err() != nil {
		return Ended(ctx, c.name)
	}
	next := 0
	err := eachOp(ctx, src, c.asks(), func(op *history.Op) {
		var tape history.Tape
		c.judge(c.early[next], tape.Append(op.Value))
		next++
	})
	if err != nil {
		r.Reason = fmt.Sprintf("reads could not be looked at again: %v", err)
		return r
	}
	var found findings
	for i := range c.wrongs {
		if !found.room("causal-reverse") {
			continue
		}
		w := c.wrong[i]
		missing, held := &c.writes[w.missing], &c.writes[w.held]
		found.explain("causal-reverse", []int{missing.call, missing.named, missing.ok, held.call, held.named, held.ok, w.call, w.at},
			"Read %d holds %s, but lacks %s, whose write had ended (op %d) before the write of %s began (op %d). It lacks %d that it should hold.",
			w.at, c.in.name(w.held), c.in.name(w.missing), missing.ok, c.in.name(w.held), held.call, w.count)
	}
	var unwritten, aborted []int32
	written := false // something that was read
	for id := range c.writes {
		w := &c.writes[id]
		written = written || w.read && w.tried
		switch {
		case w.read && !w.tried:
			unwritten = append(unwritten, int32(id))
		case w.read && w.failed && w.ok == nowhere:
			aborted = append(aborted, int32(id))
		}
	}
	if len(unwritten) > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("reads hold %s that nobody wrote: %s", plural(len(unwritten), "element"), c.in.intervals(unwritten)))
	}
	if len(aborted) > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("reads hold %s although the write failed: %s", plural(len(aborted), "element"), c.in.intervals(aborted)))
	}
	odd := c.puts.odd("write")
	if c.unread > 0 {
		odd = fmt.Sprintf("%s without a collection, such as op %d", plural(c.unread, "ok read"), c.unreadAt)
		if c.wrongs > 0 {
			r.Warnings = append(r.Warnings, odd)
		}
	}
	r.Stats = []Stat{{"reads", fmt.Sprint(c.reads)}, {"written", fmt.Sprint(len(c.ended))}, {"errors", fmt.Sprint(c.wrongs)}}
	r.Anomalies = found.anomalies(src)
	switch {
	case len(r.Anomalies) > 0:
		r.Verdict = Invalid
		r.Reason = fmt.Sprintf("%d of %s lack writes that ended before others that they hold began", c.wrongs, plural(c.reads, "read"))
	case odd != "":
		r.Reason = odd
	case c.reads == 0:
		r.Reason = "nothing was read"
	case len(unwritten) > 0 && !written:
		r.Reason = fmt.Sprintf("nothing that was read was ever written, such as %s: the history is not of this kind", c.in.name(unwritten[0]))
	default:
		r.Verdict = Valid
		r.Reason = plural(c.reads, "read") + " with every write that ended before one that they hold began"
	}
	return r
}
