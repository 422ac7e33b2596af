package txn

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/checker/txn/lattice"
	"github.com/jepgo/jepgo/checker/txn/weak"
	"github.com/jepgo/jepgo/history"
)

// Names of anomalies that only count where Options.Sessions is set; a GarbageRead is
// one there too.
const (
	// NotOwnWrite: a transaction read a key after it wrote it, and did not see that.
	NotOwnWrite = "not-own-write"
)

// weakClocks bounds the bytes of the clocks of causal order where Options do not.
const weakClocks = 4 << 30

// weakAsk is a question to package weak, and the model that it is about.
type weakAsk struct {
	weak.Ask
	model string
}

// asks lists what package weak is to be asked, so that the models that were asked for
// hold: nothing where the order of versions is given, since nothing but that counts
// then.
func (o Options) asks() []weakAsk {
	if o.Order != nil || o.Versions != nil {
		return nil
	}
	models := o.models()
	implied := lattice.Implied(models...)
	var all []weakAsk
	for _, q := range []weakAsk{
		{weak.Ask{Level: weak.Serializable, Sessions: true, Realtime: true}, "strict-serializable"},
		{weak.Ask{Level: weak.Serializable, Sessions: true}, "strong-session-serializable"},
		{weak.Ask{Level: weak.SnapshotIsolation, Sessions: true, Realtime: true}, "strong-snapshot-isolation"},
		{weak.Ask{Level: weak.SnapshotIsolation, Sessions: true}, "strong-session-snapshot-isolation"},
		{weak.Ask{Level: weak.Serializable}, "serializable"},
		{weak.Ask{Level: weak.Serializable}, "repeatable-read"},
		{weak.Ask{Level: weak.SnapshotIsolation}, "snapshot-isolation"},
		{weak.Ask{Level: weak.Prefix}, "prefix"},
		{weak.Ask{Level: weak.Causal, Sessions: true}, "causal-cerone"},
		{weak.Ask{Level: weak.ReadAtomic}, "read-atomic"},
		{weak.Ask{Level: weak.ReadCommitted}, "monotonic-atomic-view"},
		{weak.Ask{Level: weak.ReadCommitted, Sessions: true}, "read-committed"},
	} {
		switch {
		case !slices.Contains(implied, q.model):
			continue
		case o.Sessions:
			q.Sessions, q.Realtime = true, false
		case q.model == "read-committed":
			continue // Adya's does without the order of reads
		case q.model == "causal-cerone" && !slices.Contains(models, q.model):
			continue // others imply it without the order of processes
		}
		if !slices.ContainsFunc(all, func(known weakAsk) bool { return covers(known.Ask, q.Ask) }) {
			all = append(all, q)
		}
	}
	return all
}

// covers reports whether all that holds for a holds for b.
func covers(a, b weak.Ask) bool {
	return a.Level >= b.Level && (a.Sessions || !b.Sessions) && (a.Realtime || !b.Realtime)
}

// weakJudge holds the models against what package weak knows of them.
type weakJudge struct {
	c       *rwRegister
	r       *registers
	j       *judgement
	src     history.Source
	h       *weak.History
	initial int32 // the transaction that wrote the initial state, or noTxn
}

// weakly adds to j what the existing inference does not find. Whatever is found here
// is something that a model asked for forbids.
func (c *rwRegister) weakly(ctx context.Context, r *registers, src history.Source, j *judgement) {
	asks := c.options.asks()
	if len(asks) == 0 || r.unclear != "" || !c.options.Sessions && j.isInvalid() {
		return
	}
	w := &weakJudge{c: c, r: r, j: j, src: src, initial: noTxn}
	if c.options.Sessions {
		w.closed()
	}
	w.build()
	var held []string
	limit := ""
	for _, q := range asks {
		if ctx.Err() != nil {
			return
		}
		answer := w.ask(ctx, q)
		switch {
		case answer.Broken != nil:
			w.broken(q, answer)
		case answer.Holds:
			held = append(held, lattice.Implied(q.model)...)
		case limit == "" && answer.Unfinished != "":
			limit = q.model + ": " + answer.Unfinished
		}
	}
	o := c.options
	switch proved := !slices.ContainsFunc(o.models(), func(m string) bool { return !slices.Contains(held, m) }); {
	case proved && !o.WFRKeys && !o.SequentialKeys && !o.LinearizableKeys:
		j.unfinished = "" // whatever else was left open
	case limit != "" && j.unfinished == "":
		j.unfinished = limit
	}
	if o.Sessions && w.h.Reads() > 0 {
		// That nothing orders two transactions is no doubt where an order was found.
		j.found = slices.DeleteFunc(j.found, func(f finding) bool { return f.name == emptyGraph })
	}
}

// ask decides one question: by forced edges alone if that does, else by a search.
func (w *weakJudge) ask(ctx context.Context, q weakAsk) weak.Answer {
	limit := w.c.options.Memory
	if limit == 0 {
		limit = weakClocks
	}
	first := q.Ask
	if first.Level > weak.Causal {
		first.Level, first.Realtime = weak.ReadAtomic, false
		if w.c.options.Sessions {
			first.Level = weak.Causal
		}
	}
	answer := w.h.Infer(ctx, first, limit)
	if q.Level <= weak.Causal || answer.Broken != nil {
		return answer
	}
	if w.j.isInvalid() {
		return weak.Answer{} // that is enough
	}
	answer = w.h.Search(ctx, q.Ask, w.c.options.Work)
	w.j.stats = append(w.j.stats, checker.Stat{Name: "steps of the search for " + q.model, Value: strconv.FormatInt(answer.Steps, 10)})
	return answer
}

// broken adds a violation to what was found.
func (w *weakJudge) broken(q weakAsk, answer weak.Answer) {
	v := answer.Broken
	f := finding{name: v.Name, count: answer.Count, bad: true, sessions: v.Sessions && !w.c.options.Sessions}
	switch {
	case v.Level == weak.ReadCommitted && !w.c.options.Sessions:
		f.rulesOut = []string{"monotonic-atomic-view"}
	case v.Level <= weak.Prefix:
		f.rulesOut = []string{v.Level.String()}
	case w.c.options.Sessions:
		f.rulesOut = []string{q.model} // the order of sessions is part of it
	}
	t := &weakTeller{w: w, v: v}
	x := &explainer{txns: &w.c.txns, teller: t, src: w.src}
	f.anomalies = x.anomalies([]shown{t.shown()})[v.Name]
	if len(f.anomalies) == 0 {
		w.j.unfinished = "a violation called " + v.Name + " could not be verified"
		return
	}
	for i := range w.j.found {
		if known := &w.j.found[i]; known.name == f.name {
			known.bad, known.rulesOut = true, f.rulesOut
			return
		}
	}
	w.j.found = append(w.j.found, f)
}

// closed finds what is wrong with single reads where nothing was there before the
// history, and every level has transactions see what they did themselves.
func (w *weakJudge) closed() {
	r := w.r
	var s tally
	if w.c.options.InitialTxn && r.len() > 0 && r.status[0] == committed && r.at(0) == 0 {
		w.initial = 0
	}
	own := newPerKey(r.keys.len())
	garbage := make(map[int32]bool, len(r.garbage))
	for _, v := range r.garbage {
		garbage[v] = true
	}
	for i := range int32(r.len()) {
		if r.status[i] != committed {
			continue
		}
		own.begin()
		for _, m := range r.of(i) {
			key, v := m.of(), m.val
			if !m.isRead() {
				own.set(key, v)
				continue
			}
			if garbage[v] {
				s.add(GarbageRead, func() shown {
					return shown{
						txns:    []int32{i},
						clauses: []string{fmt.Sprintf("T1 read %s of key %s, which nobody wrote", r.name(v), r.keyName(key))},
						end:     "What was never written must not be read.",
					}
				})
			}
			if before := own.get(key); before != noVersion && before != v {
				s.add(NotOwnWrite, func() shown { return r.internal(i, before, v) })
			}
		}
	}
	x := &explainer{txns: &w.c.txns, src: w.src}
	said := x.anomalies(s.kept)
	for _, name := range []string{GarbageRead, NotOwnWrite} {
		if s.count[name] > 0 {
			w.j.found = append(w.j.found, finding{name: name, count: s.count[name], anomalies: said[name], bad: true, rulesOut: []string{"read-committed"}})
		}
	}
	if s.count[GarbageRead] > 0 {
		w.j.warnings = nil
	}
}

// build makes the history that package weak takes: transactions have the same
// numbers, and those that took no part are empty.
func (w *weakJudge) build() {
	r := w.r
	w.h = &weak.History{}
	reads := 0
	for _, m := range r.mops {
		if m.isRead() {
			reads++
		}
	}
	w.h.Grow(r.len(), reads, len(r.mops)-reads)
	session := r.sessions()
	own := newPerKey(r.keys.len())
	for i := range int32(r.len()) {
		if !r.part[i] || i == w.initial {
			w.h.Add(-1, -1, weak.Never)
			continue
		}
		call, ret := r.call[i], r.ret[i]
		if r.status[i] != committed || w.c.options.Sessions {
			ret = weak.Never
		}
		w.h.Add(session[i], call, ret)
		own.begin()
		for _, m := range r.of(i) {
			key, v := m.of(), m.val
			if !m.isRead() {
				own.set(key, v)
				continue
			}
			if r.status[i] != committed || v == noVersion || own.get(key) != noVersion {
				continue
			}
			switch from := r.source(v); {
			case r.isFirst(v) || from >= 0 && from == w.initial:
				w.h.Read(key, weak.Initial)
			case from >= 0 && from != i:
				w.h.Read(key, from)
			}
		}
		for _, m := range r.of(i) {
			if key := m.of(); !m.isRead() && own.get(key) == m.val {
				w.h.Write(key)
			}
		}
	}
}

// sessions returns the process of each transaction that has its place in the order of
// one: an uncertain one has it when nothing of its process came after it.
func (r *registers) sessions() []int32 {
	session := make([]int32, r.len())
	last := make([]int32, r.clients.len()) // of each process: the last committed transaction, and 1
	for i, p := range r.process {
		session[i] = -1
		if p >= 0 && r.status[i] == committed {
			session[i] = p
			last[p] = int32(i) + 1
		}
	}
	taken := make([]bool, r.clients.len())
	for i, p := range r.process {
		if p < 0 || !r.part[i] || r.status[i] == committed || taken[p] {
			continue
		}
		if before := last[p] - 1; before < 0 || before < int32(i) && r.ret[before] < r.call[i] {
			session[i], taken[p] = p, true
		}
	}
	return session
}
