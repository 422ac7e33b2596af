package txn

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/checker/txn/graph"
	"github.com/jepgo/jepgo/history"
)

// RWRegister returns the checker of transactions that write and read single
// values: micro-ops [:w k v] and [:r k v]. A value may be written to a key only
// once; where one was written twice nothing is concluded from it, and a history
// without an anomaly is unknown. Nil is what a key holds before the first write.
//
// Besides the cycles of checker/txn/graph it finds G1a, G1b, internal,
// future-read, lost-update and, where the options let it assume more about the
// order of versions than is true, cyclic-versions, as Elle defines them.
//
// In which order a key took its values is not read off anywhere, as it is for
// lists. It follows from the options, and besides from what a model implies that
// was asked for:
//
//   - That a transaction wrote what it had read before, for models that forbid G1c:
//     if it were the other way round there would be one.
//   - The order of each process, for models that forbid the anomalies with
//     -process, and real time for those that forbid the ones with -realtime: if the
//     versions that a transaction and a later one came upon were the other way
//     round, there would be a G-single-item of that kind at least. So that is what
//     a cycle is called that leans on this, or G-nonadjacent or G2 if it is one.
//
// Elle does the first only with WFRKeys and the other two only for keys that it may
// take to be sequential or linearizable, so that here more is found. Nothing of this
// is concluded from values that nobody in the history wrote, and where Order or
// Versions give the order nothing but that counts.
//
// What is then still open package weak decides: from monotonic-atomic-view on it finds
// an order of the transactions that a model allows, or a few transactions that can have
// none, and only where its work runs out is the verdict unknown. Its names are those of
// Elle, and non-monotonic-read, fractured-read, causal-cycle and non-prefix-read where
// Elle has none. It is not asked where Order or Versions are given. Who asks for
// causal-cerone by name asks for the order of processes too, as causality is nothing
// without it; who asks for a model that implies it does not.
//
// What else differs from Elle: transactions in doubt take part when one of their
// values was read. A value that nobody wrote is a warning, as it may be from before
// the history; where it cannot be, as another such value of the key was read or nil
// was, it is a garbage-read. With Options.Sessions any such value is one, and a
// transaction that misses what it wrote itself is a not-own-write at any level.
//
// With n micro-ops and c transactions open at once it is O(n) in time, but O(n·c)
// for what real time says of one key, and where a version was read by many
// transactions and overwritten by many others that nothing orders, their product;
// past 256 such pairs per micro-op the verdict is unknown. It takes about 40 bytes
// for each micro-op besides what all transactions take, and package weak about 30 for
// the weak levels and 100 for the strong ones.
func RWRegister(o Options) checker.Stream {
	c := &rwRegister{options: o}
	c.txns = txns{write: "w", unknown: unknownCode, limit: o.Memory}
	c.txns.read = func(_ int32, saw history.View, _ status) int32 { return c.txns.vals.code(saw) }
	if o.Order != nil {
		c.places = make(map[int]int)
	}
	return c
}

type rwRegister struct {
	options Options
	txns    txns
	places  map[int]int // by position of a completion: its place in Options.Order
	trust   bool        // transactions in doubt are known to have happened
}

// Name returns rw-register.
func (c *rwRegister) Name() string { return "rw-register" }

// Take looks at the next event.
func (c *rwRegister) Take(e *history.Event) {
	c.txns.take(e)
	if c.places != nil && e.Type != history.Invoke {
		index := int(e.Index)
		if e.Index == history.Absent {
			index = e.Position
		}
		if place, ok := c.options.Order[index]; ok {
			c.places[e.Position] = place
		}
	}
}

// Finish judges what was taken.
func (c *rwRegister) Finish(ctx context.Context, src history.Source) checker.Result {
	if ctx.Err() != nil {
		return checker.Ended(ctx, c.Name())
	}
	if err := c.options.Check(); err != nil {
		return checker.Result{Checker: c.Name(), Reason: err.Error()}
	}
	c.txns.settle()
	if c.txns.broken != "" {
		return checker.Result{Checker: c.Name(), Reason: c.txns.broken}
	}
	r := newRegisters(&c.txns, c.trust)
	found := c.judge(ctx, r)
	if ctx.Err() != nil {
		return checker.Ended(ctx, c.Name())
	}
	x := &explainer{txns: &c.txns, teller: found, src: src}
	all := found.points.kept
	for _, cycle := range found.cycles {
		if s, ok := x.cycle(cycle); ok {
			all = append(all, s)
		} else {
			x.unverified = cycle.Class
		}
	}
	said := x.anomalies(all)
	j := judgement{checker: c.Name(), options: c.options, facts: c.txns.count(committed), unfinished: found.unfinished}
	for name, n := range found.counts() {
		if len(said[name]) > 0 {
			j.found = append(j.found, finding{name: name, count: n, anomalies: said[name]})
		}
	}
	switch {
	case j.unfinished != "":
	case x.unverified != "":
		j.unfinished = "a cycle of the class " + x.unverified + " could not be verified"
	case r.unclear != "":
		j.unfinished = r.unclear
	}
	if found.report.Edges == 0 && !found.ordered {
		j.found = append(j.found, finding{name: emptyGraph, count: 1})
	}
	if n := len(r.garbage); n > 0 {
		v := r.garbage[0]
		j.warnings = append(j.warnings, fmt.Sprintf("%d values were read that nobody in this history wrote, such as %s of key %s", n, r.name(v), r.keyName(r.key[v])))
	}
	j.stats = []checker.Stat{
		{Name: "transactions", Value: strconv.Itoa(c.txns.len())},
		{Name: "dependencies", Value: strconv.Itoa(found.report.Edges)},
		{Name: "components", Value: strconv.Itoa(found.report.Components)},
		{Name: "largest component", Value: strconv.Itoa(found.report.Largest)},
	}
	c.weakly(ctx, r, src, &j)
	if ctx.Err() != nil {
		return checker.Ended(ctx, c.Name())
	}
	return j.result()
}

// registerFindings is what there is to say of a history of registers. It tells
// about its cycles.
type registerFindings struct {
	c       *rwRegister
	r       *registers
	given   func(key int32) []int32
	levels  []evidence  // what may be concluded from: the options alone, processes too, real time too
	orders  []*keyOrder // by level: orders of keys, nil until they are needed
	points  tally
	report  graph.Report // of all that may be concluded
	ordered bool         // processes or real time order something
	cycles  []graph.Cycle
	classes map[string]int

	unfinished string
}

// judge finds the anomalies of registers.
func (c *rwRegister) judge(ctx context.Context, r *registers) *registerFindings {
	places := make(map[int32]int, len(c.places))
	for i := range int32(r.len()) {
		if place, ok := c.places[r.at(i)]; ok {
			places[i] = place
		}
	}
	f := &registerFindings{c: c, r: r, classes: make(map[string]int)}
	f.given = r.givenOrder(c.options, places)
	f.levels = c.levels()
	f.orders = make([]*keyOrder, len(f.levels))
	f.points = r.points()
	if !c.trust && !c.options.Sessions { // a part of a history lacks writes
		r.contradictions(&f.points, r.loggedAt(c.options.Versions, f.given))
	}
	f.cyclesOf(ctx)
	return f
}

// levels says what may be concluded from.
func (c *rwRegister) levels() []evidence {
	o := c.options
	base := byFirst
	if o.WFRKeys {
		base |= byWFR
	}
	if o.SequentialKeys {
		base |= bySequential
	}
	if o.LinearizableKeys {
		base |= byLinearizable
	}
	if o.Order != nil || o.Versions != nil {
		return []evidence{base | byOrder}
	}
	forbidden := o.forbidden()
	if forbidden["G1c"] {
		base |= inferWFR
	}
	levels := []evidence{base}
	for _, order := range []struct {
		suffix string
		source evidence
	}{{"-process", inferProcess}, {"-realtime", inferRealtime}} {
		if !forbidden["G1c"+order.suffix] || !forbidden["G-single-item"+order.suffix] {
			break
		}
		levels = append(levels, levels[len(levels)-1]|order.source)
	}
	return levels
}

// order returns what finds the order of keys at a level. Each level has its own, as
// what is asked about is mostly the key that was asked about before.
func (f *registerFindings) order(level int) *keyOrder {
	if f.orders[level] == nil {
		f.orders[level] = newKeyOrder(f.r, f.given)
	}
	return f.orders[level]
}

// counts returns how often each anomaly was found.
func (f *registerFindings) counts() map[string]int {
	all := make(map[string]int)
	for name, n := range f.points.count {
		all[name] += n
	}
	for name, n := range f.classes {
		all[name] += n
	}
	return all
}

// why says why one transaction comes before another, by the least that shows it.
func (f *registerFindings) why(rel graph.Rel, from, to int32, fromName, toName string) (reason, bool) {
	why, _, ok := f.leastWhy(rel, from, to, fromName, toName)
	return why, ok
}

func (f *registerFindings) leastWhy(rel graph.Rel, from, to int32, fromName, toName string) (why reason, level int, ok bool) {
	name := func(i int32) string {
		switch i {
		case from:
			return fromName
		case to:
			return toName
		}
		return "the transaction at op " + strconv.Itoa(f.r.at(i))
	}
	for level, allowed := range f.levels {
		if why, ok := f.r.why(f.order(level), allowed, rel, from, to, name); ok {
			why.shownBy = slices.DeleteFunc(why.shownBy, func(i int32) bool { return i == from || i == to })
			return why, level, true
		}
	}
	return reason{}, 0, false
}
