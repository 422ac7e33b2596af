package linear

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/jepgo/jepgo/checker"
)

// What it takes to decide a key, in bytes: without its calls, for each value
// (cluster, zone, numbers), and with them, for each call besides.
const (
	valueBytes = 24 + 12 + 8
	callBytes  = 24
)

// lightBytes is what approve takes for a key.
func (k *key) lightBytes() int64 {
	return 4*int64(k.span()) + valueBytes*int64(k.values()) + readBytes
}

// fullBytes is what it takes to decode a key and decide it without a search.
func (k *key) fullBytes() int64 {
	bytes := callBytes*int64(k.records) + k.lightBytes()
	if k.sets <= settersPerValue*k.values() { // see split
		bytes += callBytes * int64(k.records+k.sets)
	}
	return bytes
}

// room is the memory that keys take in turns.
type room struct {
	mu   sync.Mutex
	more sync.Cond
	all  int64
	used int64
}

func newRoom(bytes int64) *room {
	r := &room{all: bytes}
	r.more.L = &r.mu
	return r
}

// enter waits until there is room, and reports whether there can be.
func (r *room) enter(bytes int64) bool {
	if bytes > r.all {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.used+bytes > r.all {
		r.more.Wait()
	}
	r.used += bytes
	return true
}

func (r *room) leave(bytes int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.used -= bytes
	r.more.Broadcast()
}

// light decides a key by its clusters alone, without ever having its calls in
// memory. That is how keys are found valid in which no value is set twice.
type light struct {
	c        *columns
	k        *key
	numbers  *numbering
	initial  int32
	watch    *watch // nil when nothing is in doubt
	clusters []cluster
	bad      *conflict // unless the calls fit
	found    outcome
}

// each calls do with every call of the key that prune leaves, in the order of the
// records, and counts those that certainly happened and those that are left out.
func (l *light) each(ctx context.Context, do func(now *call) bool) error {
	l.found.certain, l.found.pruned = 0, 0
	rows := 0
	var now call
	err := l.c.each(l.k, func(r *row) bool {
		if rows++; rows%checker.CheckEvery == 0 && ctx.Err() != nil {
			return false
		}
		if r.fate == done {
			l.found.certain++
		}
		var ok bool
		if now, ok = l.c.call(r); !ok {
			return true
		}
		l.numbers.number(&now)
		if l.watch != nil && l.watch.unobserved(&now) {
			l.found.pruned++
			return true
		}
		return do(&now)
	})
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return err
}

// decide reports whether no value is set twice, so that the verdict is known.
func (l *light) decide(ctx context.Context) (unique bool, err error) {
	k := l.k
	l.numbers = newNumbering(k)
	l.initial = l.numbers.of(l.c.initial)
	if k.doubts {
		w := &watch{}
		if err := l.each(ctx, func(now *call) bool { w.look(now); return true }); err != nil {
			return false, err
		}
		w.close()
		l.watch = w
	}
	if k.span() > 0 {
		l.clusters = make([]cluster, 0, k.values())
	}
	unique = true
	err = l.each(ctx, func(now *call) bool {
		l.found.work++
		l.clusters = grow(l.clusters, len(l.numbers.codes), l.initial)
		if unique = add(l.clusters, now); !unique {
			return false
		}
		if another := join(l.clusters, now); another >= 0 && l.bad == nil {
			l.bad = &conflict{values: []int32{another, now.value, now.old}}
		}
		return true
	})
	if err != nil || !unique {
		return false, err
	}
	if l.bad == nil {
		l.bad = fits(l.clusters, l.initial)
	}
	l.found.verdict = checker.Valid
	if l.bad != nil {
		l.found.verdict = checker.Invalid
	}
	return true, nil
}

// proofPasses bounds how often a key is read again for a proof.
const proofPasses = 100

// prove finds the proof of the conflict as conflict.proof does, but reads the key
// again for each step from a call to whoever set what it observes. It is nil when
// the steps are too many.
func (l *light) prove(ctx context.Context) ([]call, error) {
	wanted, seers := make(map[int32]bool), make(map[int32]*call)
	for _, v := range l.bad.values {
		wanted[v] = true
	}
	marks := make(map[uint32]bool)
	for _, at := range l.bad.marks {
		marks[at] = true
	}
	picked := make(map[uint32]call) // by begin
	for range proofPasses {
		before := len(picked)
		err := l.each(ctx, func(now *call) bool {
			if now.sets() && wanted[now.value] || marks[now.begin+1] || now.end != never && marks[now.end+1] {
				picked[now.begin] = *now
			}
			if v, ok := now.observed(); ok {
				if best, asked := seers[v]; asked && (best == nil || best.crashed || now.end < best.end) {
					seer := *now
					seers[v] = &seer
				}
			}
			return true
		})
		if err != nil {
			return nil, err
		}
		for _, seer := range seers {
			if seer != nil {
				picked[seer.begin] = *seer
			}
		}
		asked := len(wanted) + len(seers)
		for _, now := range picked {
			if v, ok := now.observed(); ok {
				wanted[v] = true
			}
			if _, known := seers[now.value]; !known && now.action == cas && now.crashed {
				seers[now.value] = nil
			}
		}
		if len(picked) == before && len(wanted)+len(seers) == asked {
			byBegin := func(a, b call) int { return cmp.Compare(a.begin, b.begin) }
			return slices.SortedFunc(maps.Values(picked), byBegin), nil
		}
	}
	return nil, nil
}
