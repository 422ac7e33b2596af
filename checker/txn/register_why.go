package txn

import (
	"fmt"
	"slices"

	"github.com/jepgo/jepgo/checker/txn/graph"
)

// why says why one transaction comes before another, given what evidence of the
// order of versions is allowed.
func (r *registers) why(o *keyOrder, allowed evidence, rel graph.Rel, from, to int32, name func(int32) string) (reason, bool) {
	before, after := r.touchesOf(from), r.touchesOf(to)
	for _, key := range r.keysOf(to) {
		a, b := before[key], after[key]
		if a == nil || b == nil {
			continue
		}
		switch rel {
		case graph.WR:
			if b.read != noVersion && r.source(b.read) == from {
				return reason{text: fmt.Sprintf("%s read %s of key %s, which %s wrote", name(to), r.name(b.read), r.keyName(key), name(from))}, true
			}
		case graph.WW:
			if a.wrote == noVersion || b.wrote == noVersion || r.source(a.wrote) != from || r.source(b.wrote) != to {
				continue
			}
			if because, ok := r.ordered(o, allowed, inferWFR, a.wrote, b.wrote, name); ok {
				because.text = fmt.Sprintf("%s wrote %s to key %s over %s's %s: %s",
					name(to), r.name(b.wrote), r.keyName(key), name(from), r.name(a.wrote), because.text)
				return because, true
			}
		case graph.RW:
			if a.read == noVersion || b.wrote == noVersion || r.source(b.wrote) != to {
				continue
			}
			if because, ok := r.ordered(o, allowed, 0, a.read, b.wrote, name); ok {
				because.text = fmt.Sprintf("%s read %s of key %s, which %s overwrote with %s: %s",
					name(from), r.name(a.read), r.keyName(key), name(to), r.name(b.wrote), because.text)
				return because, true
			}
		}
	}
	return reason{}, false
}

// ordered says why version b came right after version a, other than for that
// reason.
func (r *registers) ordered(o *keyOrder, allowed, other evidence, a, b int32, name func(int32) string) (reason, bool) {
	if o.key != r.key[a] || o.allowed != allowed {
		o.build(r.key[a], allowed)
	}
	if !o.has(a) || !o.has(b) {
		return reason{}, false
	}
	for _, e := range o.edges {
		if e.a == o.local[a] && e.b == o.local[b] && e.by != other {
			return o.evidenced(e, name), true
		}
	}
	return reason{}, false
}

// evidenced says in a clause why a version came after another one, and who shows
// it. What is inferred rests on its being known who wrote them.
func (o *keyOrder) evidenced(e follows, name func(int32) string) reason {
	why := o.clause(e, name)
	if e.by&inferred != 0 {
		why.shownBy = append(why.shownBy, o.r.source(o.versions[e.a]), o.r.source(o.versions[e.b]))
	}
	return why
}

func (o *keyOrder) clause(e follows, name func(int32) string) reason {
	r, a, b := o.r, o.versions[e.a], o.versions[e.b]
	switch {
	case e.by == byFirst:
		return reason{text: r.name(a) + " is what a key holds before the first write"}
	case e.by == byOrder:
		return reason{text: "so says the order of versions that is given", shownBy: []int32{e.t1, e.t2}}
	case e.t1 == e.t2:
		return reason{text: fmt.Sprintf("%s read %s before it wrote %s", name(e.t1), r.name(a), r.name(b)), shownBy: []int32{e.t1}}
	}
	why := reason{
		text:    fmt.Sprintf("%s, which %s %s, ", name(e.t1), r.did(e.t1, a), r.name(a)),
		shownBy: []int32{e.t1, e.t2},
	}
	if e.by == bySequential || e.by == inferProcess {
		why.text += fmt.Sprintf("came before %s, which %s %s, in the same process", name(e.t2), r.did(e.t2, b), r.name(b))
		return why
	}
	why.text += fmt.Sprintf("had completed before %s, which %s %s, was invoked", name(e.t2), r.did(e.t2, b), r.name(b))
	why.started = []int32{e.t2}
	return why
}

// did says what a transaction did with a version: wrote, or read.
func (r *registers) did(t, v int32) string {
	for _, m := range r.of(t) {
		if m.val == v && !m.isRead() {
			return "wrote"
		}
	}
	return "read"
}

// keysOf returns the keys of a transaction, each once.
func (r *registers) keysOf(i int32) []int32 {
	var keys []int32
	for _, m := range r.of(i) {
		keys = append(keys, m.of())
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// touchesOf returns what a transaction has to do with each key.
func (r *registers) touchesOf(i int32) map[int32]*touch {
	all := make(map[int32]*touch)
	for _, m := range r.of(i) {
		t := all[m.of()]
		if t == nil {
			t = &touch{txn: i, read: noVersion, wrote: noVersion}
			all[m.of()] = t
			if m.isRead() && r.status[i] == committed {
				t.read = m.val
			}
		}
		if !m.isRead() {
			t.wrote = m.val
		}
	}
	return all
}
