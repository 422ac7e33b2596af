package linear

import (
	"math/rand/v2"

	"github.com/jepgo/jepgo/history"
)

// kind is what a random history is made of.
type kind struct {
	name                string
	unique, cas, misses bool
	again               bool // unique values are set a second time later
	keys                int
	processes, events   int
	values              int64
}

// randomHistory makes a history of clients on registers. Now and then what they
// see is wrong, and some never learn what became of their operation.
func randomHistory(rng *rand.Rand, k kind, o Options) *history.History {
	h := &history.History{}
	processes := 1 + rng.IntN(k.processes)
	crash := rng.IntN(4)
	open := make(map[int64]history.Op)
	id := make([]int64, processes)
	for p := range id {
		id[p] = int64(p)
	}
	states := make([]history.Value, max(1, k.keys))
	for i := range states {
		states[i] = o.Initial
	}
	next := k.values
	value := func() history.Value {
		if k.unique && rng.IntN(40) > 0 {
			if k.again && rng.IntN(3) == 0 {
				return history.Int(k.values + rng.Int64N(next-k.values+1))
			}
			next++
			return history.Int(next)
		}
		return history.Int(rng.Int64N(k.values))
	}
	wrap := func(key int, v history.Value) history.Value {
		if o.Keyed {
			return history.Vec(history.Int(int64(key)), v)
		}
		return v
	}
	keyOf := make(map[int64]int)
	add := func(key int, op history.Op) {
		op.Index, op.Time = history.Absent, history.Absent
		op.Value = wrap(key, op.Value)
		h.Ops = append(h.Ops, op)
	}
	for range 2 + rng.IntN(k.events) {
		slot := rng.IntN(processes)
		p := id[slot]
		op, busy := open[p]
		if !busy {
			key := rng.IntN(len(states))
			op = history.Op{Type: history.Invoke, Process: history.Client(p)}
			fs := []string{"read", "read", "write", "write"}
			if k.cas {
				fs = append(fs, "cas", "cas", "cas")
			}
			switch op.F = fs[rng.IntN(len(fs))]; op.F {
			case "write":
				op.Value = value()
			case "cas":
				old := states[key]
				if rng.IntN(3) == 0 || old.IsNil() {
					old = history.Int(rng.Int64N(next + 1))
				}
				op.Value = history.Vec(old, value())
			}
			if op.F != "cas" && rng.IntN(25) == 0 {
				// No invocation: all of it at one moment.
				op.Type = history.OK
				if op.F == "read" {
					op.Value = states[key]
				} else {
					states[key] = op.Value
				}
				add(key, op)
				continue
			}
			open[p], keyOf[p] = op, key
			add(key, op)
			continue
		}
		key := keyOf[p]
		delete(open, p)
		op.Type = history.OK
		switch at := rng.IntN(12); {
		case at < crash:
			op.Type = history.Info
		case at == 11:
			op.Type = history.Fail
		}
		if op.Type == history.OK || op.Type == history.Info && rng.IntN(2) == 0 {
			switch op.F {
			case "read":
				op.Value = states[key]
				if rng.IntN(9) == 0 {
					op.Value = history.Int(rng.Int64N(next + 1))
				}
			case "write":
				states[key] = op.Value
			case "cas":
				old := op.Value.Elems()[0]
				switch {
				case old.Equal(states[key]) || k.unique && rng.IntN(9) == 0:
					states[key] = op.Value.Elems()[1]
				case op.Type != history.OK:
				case k.misses:
					op.F = "cas-miss"
				default:
					op.Type = history.Fail
				}
				if k.misses && op.Type == history.OK && rng.IntN(14) == 0 {
					op.F = "cas-miss"
				}
			}
		}
		if op.Type != history.OK {
			if op.F == "read" {
				op.Value = history.Value{}
			}
			if op.Type == history.Info {
				id[slot] += int64(processes)
			}
		}
		add(key, op)
	}
	return h
}

func kinds() []kind {
	return []kind{
		{name: "unique", unique: true, processes: 5, events: 24, values: 3},
		{name: "unique-cas", unique: true, cas: true, processes: 5, events: 24, values: 3},
		{name: "again", unique: true, again: true, cas: true, processes: 4, events: 24, values: 3},
		{name: "repeated", processes: 6, events: 24, values: 3},
		{name: "cas", cas: true, processes: 6, events: 24, values: 3},
		{name: "two-values", cas: true, processes: 7, events: 22, values: 2},
		{name: "miss", cas: true, misses: true, processes: 6, events: 24, values: 3},
		{name: "unique-miss", unique: true, cas: true, misses: true, processes: 5, events: 20, values: 3},
		{name: "keyed", cas: true, keys: 3, processes: 6, events: 40, values: 3},
	}
}
