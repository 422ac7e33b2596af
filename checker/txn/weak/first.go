package weak

import (
	"context"
	"slices"
)

// first lines all nodes up so that the known edges go along, and few rules are broken.
// Where these edges have a cycle it returns those that do not lead to one.
//
// It lets transactions happen one by one, in about the order of their times, and
// each only when nobody who has not yet happened has to read what it overwrites; for
// SnapshotIsolation, when no other one that writes the same has begun. Where that
// leads nowhere the earliest one happens nevertheless, and the line will be mended.
func (s *search) first(ctx context.Context) (order []int32, acyclic bool) {
	n := len(s.txn)
	missing := make([]int32, n) // by node: edges to it from nodes that are not in order
	for node := range n {
		missing[node] = s.inOff[node+1] - s.inOff[node]
	}
	left := slices.Clone(missing)
	order = make([]int32, 0, n)
	for node := range int32(n) {
		if left[node] == 0 {
			order = append(order, node)
		}
	}
	for i := 0; i < len(order); i++ {
		for _, next := range s.out[s.outOff[order[i]]:s.outOff[order[i]+1]] {
			if left[next]--; left[next] == 0 {
				order = append(order, next)
			}
		}
	}
	if len(order) < n {
		return order, false
	}
	f := &firstLine{search: s, missing: missing, order: left[:0]}
	f.start, f.stop = s.guess(order)
	f.run(ctx)
	s.steps += f.work
	return f.order, true
}

// firstLine is the state of a store in which transactions happen one by one.
type firstLine struct {
	*search
	missing []int32
	order   []int32
	done    []bool // by node

	unread []int32 // by version: transactions that have yet to read it
	update []int32 // by version: one that reads it and writes the key, or -1
	holds  []int32 // by key: its version
	lock   []int32 // by key: who began and will write it, or -1

	ready heap            // nodes that may happen as far as edges go
	wait  []int32         // by transaction: the key that it waits for, or -1
	woken []int32         // by transaction: the key that it waited for, or -1
	queue map[int32]*fifo // by key: who waits for it
	idle  heap            // nodes that wait; some no longer do

	starts, stops  []int32 // transactions by start and by stop
	opened, closed int     // how far these were gone through
	admitted       []bool
	work           int64
}

type fifo struct {
	items []int32
	head  int
}

func (f *firstLine) run(ctx context.Context) {
	h := f.h
	n, versions := h.Len(), len(f.owner)
	f.done = make([]bool, len(f.txn))
	f.unread, f.update = make([]int32, versions), make([]int32, versions)
	f.holds, f.lock = make([]int32, h.keys), make([]int32, h.keys)
	f.wait, f.woken = make([]int32, n), make([]int32, n)
	f.queue = make(map[int32]*fifo)
	f.admitted = make([]bool, n)
	const none = -2 // no time
	f.starts, f.stops = byTime(f.start, none), byTime(f.stop, none)
	for v := range versions {
		f.update[v] = -1
	}
	for key := range h.keys {
		f.holds[key], f.lock[key] = f.initial(key), -1
	}
	for t := range int32(n) {
		f.wait[t], f.woken[t] = -1, -1
		for _, v := range f.readBy(t) {
			f.unread[v]++
			if h.wrote(t, f.keyOf(v)) {
				f.update[v] = t
			}
		}
	}
	for node := range int32(len(f.txn)) {
		if f.missing[node] == 0 && f.txn[node] < 0 && !f.done[node] {
			f.happened(node)
		}
	}
	limit := 64*int64(len(f.txn)+len(h.writes)) + 1<<16
	alone := 0 // admitted beyond their time since something happened
	for len(f.order) < len(f.txn) {
		if len(f.order)%checkEvery == 0 && ctx.Err() != nil {
			return
		}
		f.admit()
		if node, ok := f.ready.pop(); ok {
			if f.try(node, f.work > limit) {
				alone = 0
			}
			continue
		}
		const ahead = 256
		if alone < ahead && f.opened < len(f.starts) {
			f.enter(f.starts[f.opened])
			f.opened++
			alone++
			continue
		}
		node, ok := f.idle.pop()
		if !ok {
			if f.opened == len(f.starts) {
				return // not with edges that have no cycle
			}
			alone = 0
			continue
		}
		if t := f.txn[node]; f.wait[t] >= 0 && !f.done[node] && (node == f.begin[t] || f.done[f.begin[t]]) {
			f.wait[t] = -1
			f.try(node, true)
			alone = 0
		}
	}
}

// admit lets those begin before whose beginning nobody has to end.
func (f *firstLine) admit() {
	for f.closed < len(f.stops) && f.done[f.end[f.stops[f.closed]]] {
		f.closed++
	}
	for f.opened < len(f.starts) && (f.closed == len(f.stops) || f.start[f.starts[f.opened]] <= f.stop[f.stops[f.closed]]) {
		f.enter(f.starts[f.opened])
		f.opened++
	}
}

func (f *firstLine) enter(t int32) {
	f.admitted[t] = true
	if f.missing[f.begin[t]] == 0 {
		f.push(f.begin[t])
	}
}

func (f *firstLine) push(node int32) {
	t := f.txn[node]
	when := f.stop[t]
	if node != f.end[t] {
		when = f.start[t]
	}
	f.ready.push(when, node)
}

// try lets a node happen, unless it has to wait.
func (f *firstLine) try(node int32, force bool) bool {
	t := f.txn[node]
	begins, ends := node == f.begin[t], node == f.end[t]
	if f.done[node] {
		return false
	}
	for _, key := range f.h.writesOf(t) {
		f.work++
		if force || !f.mustWait(t, key, begins, ends) {
			continue
		}
		f.wait[t] = key
		f.idle.push(f.stop[t], node)
		q := f.queue[key]
		if q == nil {
			q = &fifo{}
			f.queue[key] = q
		}
		q.items = append(q.items, node)
		if before := f.woken[t]; before >= 0 && before != key {
			f.woken[t] = -1
			f.wake(before)
		}
		f.woken[t] = -1
		return false
	}
	f.woken[t] = -1
	f.happened(node)
	if begins {
		for _, v := range f.readBy(t) {
			f.unread[v]--
			if f.update[v] == t {
				f.update[v] = -1
			}
		}
		if !ends && f.a.Level == SnapshotIsolation {
			for _, key := range f.h.writesOf(t) {
				f.lock[key] = t
			}
		}
	}
	if ends {
		for slot := f.h.firstWrite(t); slot < f.h.writeEnd[t]; slot++ {
			key := f.h.writes[slot]
			f.holds[key], f.lock[key] = int32(slot), -1
		}
		for _, key := range f.h.writesOf(t) {
			f.wake(key)
		}
	}
	if begins {
		for _, v := range f.readBy(t) {
			if key := f.keyOf(v); f.holds[key] == v {
				f.wake(key)
			}
		}
	}
	return true
}

// mustWait reports whether t cannot yet begin, or end, for what it will write to key.
func (f *firstLine) mustWait(t, key int32, begins, ends bool) bool {
	v := f.holds[key]
	if begins && !ends && f.a.Level == SnapshotIsolation {
		if f.lock[key] >= 0 || f.update[v] >= 0 && f.update[v] != t {
			return true
		}
	}
	if !ends {
		return false
	}
	unread := f.unread[v]
	if begins && unread > 0 {
		for _, own := range f.readBy(t) {
			if own == v {
				unread--
			}
		}
	}
	return unread > 0
}

// happened puts a node into the line.
func (f *firstLine) happened(node int32) {
	stack := []int32{node}
	for len(stack) > 0 {
		node := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		f.done[node] = true
		f.order = append(f.order, node)
		for _, next := range f.out[f.outOff[node]:f.outOff[node+1]] {
			f.work++
			if f.missing[next]--; f.missing[next] > 0 {
				continue
			}
			if t := f.txn[next]; t < 0 {
				stack = append(stack, next)
			} else if f.admitted[t] {
				f.push(next)
			}
		}
	}
}

// wake lets one of those that wait for a key try again: who holds it or has read what
// it holds before all others.
func (f *firstLine) wake(key int32) {
	v := f.holds[key]
	if t := f.lock[key]; t >= 0 {
		if f.wait[t] == key && f.unread[v] == 0 {
			f.retry(t, key)
		}
		return
	}
	if t := f.update[v]; t >= 0 && f.a.Level != Prefix {
		if f.wait[t] == key && (f.a.Level == SnapshotIsolation || f.unread[v] <= 1) {
			f.retry(t, key)
		}
		return
	}
	if f.unread[v] > 0 && f.a.Level != SnapshotIsolation {
		return
	}
	q := f.queue[key]
	if q == nil {
		return
	}
	for q.head < len(q.items) {
		node := q.items[q.head]
		q.head++
		f.work++
		if t := f.txn[node]; f.wait[t] == key && !f.done[node] {
			f.retry(t, key)
			return
		}
	}
	q.items, q.head = q.items[:0], 0
}

func (f *firstLine) retry(t, key int32) {
	f.wait[t], f.woken[t] = -1, key
	node := f.begin[t]
	if f.done[node] {
		node = f.end[t]
	}
	f.push(node)
}
