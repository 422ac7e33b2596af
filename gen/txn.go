package gen

import (
	"math/rand/v2"
	"slices"
	"strconv"
)

// isolations are the levels of the simulated database, strongest first.
var isolations = []string{"strict-serializable", "serializable", "snapshot-isolation", "read-committed", "read-uncommitted"}

// Isolations lists the isolation levels of transactions:
//
//   - strict-serializable: a transaction happens at one moment
//   - serializable: the same, but those that only read may see an older moment
//   - snapshot-isolation: reads are of the moment it begins, writes happen when
//     it ends, unless another transaction wrote the same key in between
//   - read-committed: each read is of its own moment, writes happen at the end
//   - read-uncommitted: each micro-operation happens at its own moment
func Isolations() []string { return slices.Clone(isolations) }

func transactions() []workload {
	return []workload{
		{name: "append", doc: "transactions of [:append k v] and [:r k list] (list-append)",
			begin: func(o *Options, r *rand.Rand) system { return newDatabase(o, r, true) }, plants: appendScripts},
		{name: "rw", doc: "transactions of [:w k v] and [:r k v] (rw-register)",
			begin: func(o *Options, r *rand.Rand) system { return newDatabase(o, r, false) }, plants: registerScripts},
	}
}

// micro is a micro-operation; of a read the value or the list was seen.
type micro struct {
	read bool
	key  int
	v    int   // written, or read; 0 for nil
	list []int // read
}

// op is what a client is doing; each system uses its own part.
type op struct {
	micros   []micro
	at       int // micro-operations done
	snapshot int // commits that it sees
	begun    bool

	key, arg, old, result int
	before                int  // registers: a value whose write had completed before this write began
	flag                  bool // result of a read that is not a number
	set                   []int
}

// version is a value and the commit that wrote it.
type version struct{ v, commit int }

// database is a multi-version store. Of a list all elements are its versions.
type database struct {
	o       *Options
	r       *rand.Rand
	lists   bool
	keys    []int // in use
	writes  []int // writes drawn of each
	nextKey int
	next    map[int]int // next value of each key in use
	store   map[int][]version
	commits int
	retired []int // keys that may be forgotten once nobody uses them any more
}

func newDatabase(o *Options, r *rand.Rand, lists bool) *database {
	d := &database{o: o, r: r, lists: lists, next: make(map[int]int), store: make(map[int][]version), nextKey: o.Keys}
	for i := range o.Keys {
		d.keys = append(d.keys, i)
		d.writes = append(d.writes, 0)
	}
	return d
}

func (d *database) draw(a *actor) string {
	o := &a.op
	o.micros, o.at, o.begun = o.micros[:0], 0, false
	for range d.o.Shortest + d.r.IntN(d.o.Longest-d.o.Shortest+1) {
		slot := min(int(d.r.ExpFloat64()*float64(len(d.keys))/4), len(d.keys)-1)
		m := micro{read: d.r.Float64() < d.o.Reads, key: d.keys[slot]}
		if !m.read {
			d.next[m.key]++
			m.v = d.next[m.key]
			if d.writes[slot]++; d.writes[slot] >= d.o.Writes {
				d.replace(slot)
			}
		}
		o.micros = append(o.micros, m)
	}
	return "txn"
}

// replace puts a new key in the place of one that was written often enough. What
// open transactions may still use is kept for a while.
func (d *database) replace(slot int) {
	delete(d.next, d.keys[slot])
	d.retired = append(d.retired, d.keys[slot])
	if old := len(d.retired) - 64*(d.o.Clients+1); old > 0 {
		for _, key := range d.retired[:old] {
			delete(d.store, key)
		}
		d.retired = append(d.retired[:0], d.retired[old:]...)
	}
	d.keys[slot], d.writes[slot] = d.nextKey, 0
	d.nextKey++
}

func (d *database) step(a *actor) bool {
	o := &a.op
	switch d.o.Isolation {
	case "snapshot-isolation":
		if !o.begun {
			o.begun, o.snapshot = true, d.commits
			return false
		}
		if d.overtaken(o) {
			a.failed = true
			return true
		}
		d.reads(o, o.snapshot)
		d.commit(o)
		return true
	case "read-committed":
		if o.at < len(o.micros) {
			d.read(o, o.at, d.commits)
			o.at++
			return false
		}
		d.commit(o)
		return true
	case "read-uncommitted":
		m := &o.micros[o.at]
		if m.read {
			d.see(m, d.commits)
		} else {
			d.commits++
			d.store[m.key] = append(d.store[m.key], version{m.v, d.commits})
		}
		o.at++
		return o.at == len(o.micros)
	case "serializable":
		if !slices.ContainsFunc(o.micros, func(m micro) bool { return !m.read }) {
			const lag = 50
			d.reads(o, max(0, d.commits-d.r.IntN(lag)))
			return true
		}
	}
	d.reads(o, d.commits)
	d.commit(o)
	return true
}

// overtaken reports whether a key that o writes was written since its snapshot.
func (d *database) overtaken(o *op) bool {
	return slices.ContainsFunc(o.micros, func(m micro) bool {
		vs := d.store[m.key]
		return !m.read && len(vs) > 0 && vs[len(vs)-1].commit > o.snapshot
	})
}

// reads does all reads of o at once.
func (d *database) reads(o *op, snapshot int) {
	for i := range o.micros {
		d.read(o, i, snapshot)
	}
}

// read does micro-operation i, if it is a read: as of the snapshot, with what the
// transaction itself has written before.
func (d *database) read(o *op, i, snapshot int) {
	m := &o.micros[i]
	if !m.read {
		return
	}
	d.see(m, snapshot)
	for j := range o.micros[:i] {
		if w := &o.micros[j]; !w.read && w.key == m.key {
			m.v = w.v
			m.list = append(m.list, w.v)
		}
	}
}

func (d *database) see(m *micro, snapshot int) {
	vs := d.store[m.key]
	n := len(vs)
	for n > 0 && vs[n-1].commit > snapshot {
		n--
	}
	m.v, m.list = 0, m.list[:0]
	if !d.lists {
		if n > 0 {
			m.v = vs[n-1].v
		}
		return
	}
	for _, v := range vs[:n] {
		m.list = append(m.list, v.v)
	}
}

// commit does all writes of o at once. Of a register the last write of a key
// counts.
func (d *database) commit(o *op) {
	d.commits++
	for i := range o.micros {
		m := &o.micros[i]
		if m.read {
			continue
		}
		vs := d.store[m.key]
		if n := len(vs); !d.lists && n > 0 && vs[n-1].commit == d.commits {
			vs[n-1].v = m.v
			continue
		}
		if !d.lists && len(vs) > 40*d.o.Clients+400 {
			vs = append(vs[:0], vs[len(vs)/2:]...)
		}
		d.store[m.key] = append(vs, version{m.v, d.commits})
	}
}

func (d *database) value(dst []byte, a *actor, result bool) []byte {
	dst = append(dst, '[')
	for i := range a.op.micros {
		m := &a.op.micros[i]
		if i > 0 {
			dst = append(dst, ' ')
		}
		switch {
		case !m.read && d.lists:
			dst = append(dst, "[:append "...)
		case !m.read:
			dst = append(dst, "[:w "...)
		default:
			dst = append(dst, "[:r "...)
		}
		dst = strconv.AppendInt(dst, int64(m.key), 10)
		dst = append(dst, ' ')
		switch {
		case !m.read || result && !d.lists && m.v != 0:
			dst = strconv.AppendInt(dst, int64(m.v), 10)
		case result && d.lists:
			dst = appendVector(dst, m.list)
		default:
			dst = append(dst, "nil"...)
		}
		dst = append(dst, ']')
	}
	return append(dst, ']')
}

func (d *database) ended(*actor) {}

func appendVector(dst []byte, list []int) []byte {
	dst = append(dst, '[')
	for i, v := range list {
		if i > 0 {
			dst = append(dst, ' ')
		}
		dst = strconv.AppendInt(dst, int64(v), 10)
	}
	return append(dst, ']')
}
