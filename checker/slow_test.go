package checker

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/jepgo/jepgo/history"
)

// The references here say what the rules say, in the order of the rules, and look
// at everything as often as they need.

func verdictOf(bad, some bool) Verdict {
	switch {
	case bad:
		return Invalid
	case some:
		return Valid
	}
	return Unknown
}

// has reports whether a collection holds a value.
func has(collection, v history.Value) bool {
	return slices.ContainsFunc(collection.Elems(), v.Equal)
}

func TestSetAgrees(t *testing.T) {
	agree(t, adding("add"), Set, func(h *history.History) Verdict {
		last := -1
		for i, op := range h.Ops {
			if op.F == "read" && op.Type == history.OK {
				last = i
			}
		}
		if last < 0 || h.Ops[last].Value.Kind() != history.Vector {
			return Unknown
		}
		read := h.Ops[last].Value
		bad := false
		for _, op := range h.Ops {
			if op.F == "add" && op.Type == history.OK && !has(read, op.Value) {
				bad = true
			}
		}
		for _, elem := range read.Elems() {
			tried := slices.ContainsFunc(h.Ops, func(op history.Op) bool { return op.F == "add" && op.Value.Equal(elem) })
			bad = bad || !tried
		}
		return verdictOf(bad, true)
	})
}

func TestSetFullAgrees(t *testing.T) {
	for _, linearizable := range []bool{false, true} {
		begin := func() Stream { return SetFull(SetFullOptions{Linearizable: linearizable}) }
		agree(t, adding("add"), begin, func(h *history.History) Verdict { return slowSetFull(h, linearizable) })
	}
}

func slowSetFull(h *history.History, linearizable bool) Verdict {
	calls := paired(h)
	h = &history.History{Ops: slices.Clone(h.Ops)}
	for i, call := range calls {
		if h.Ops[i].F == "add" && call != nowhere && h.Ops[i].Type != history.OK {
			h.Ops[i].Value = h.Ops[call].Value // only an ok says itself what was added
		}
	}
	var elems []history.Value
	bad, stable, stale := false, false, false
	for _, op := range h.Ops {
		if op.F == "add" && !has(history.Vec(elems...), op.Value) {
			elems = append(elems, op.Value)
		}
		if op.F == "read" && op.Type == history.OK {
			for i, elem := range op.Value.Elems() {
				if has(history.Vec(op.Value.Elems()[:i]...), elem) {
					bad = true // held twice
				}
				if linearizable {
					added := slices.ContainsFunc(h.Ops[:op.Index], func(o history.Op) bool { return o.F == "add" && o.Value.Equal(elem) })
					bad = bad || !added
				}
			}
		}
	}
	for _, elem := range elems {
		added, known := -1, -1
		present, absent := never, never
		for i, op := range h.Ops {
			if op.F == "add" && op.Value.Equal(elem) {
				if added < 0 {
					added = i
				}
				if op.Type == history.OK && known < 0 {
					known = i
				}
			}
			if op.F != "read" || op.Type != history.OK || op.Value.Kind() != history.Vector || added < 0 {
				continue
			}
			if has(op.Value, elem) {
				present = max(present, calls[i])
				if known < 0 {
					known = i
				}
			} else {
				absent = max(absent, calls[i])
			}
		}
		switch {
		case present > absent:
			stable = true
			if absent >= 0 && known >= 0 && h.Ops[absent].Time+1-h.Ops[known].Time >= 1_000_000 {
				stale = true
			}
		case known >= 0 && absent > present && absent > known:
			bad = true
		}
	}
	if bad {
		return Invalid
	}
	return verdictOf(stale && linearizable, stable)
}

func TestQueueAgrees(t *testing.T) {
	agree(t, queueing(false), func() Stream { return Queue(QueueOptions{}) }, func(h *history.History) Verdict {
		var in []history.Value
		bad := false
		out := func(v history.Value) {
			i := slices.IndexFunc(in, v.Equal)
			if i < 0 {
				bad = true
			} else {
				in = slices.Delete(in, i, i+1)
			}
		}
		for _, op := range h.Ops {
			switch {
			case op.F == "enqueue" && op.Type == history.Invoke:
				in = append(in, op.Value)
			case op.F == "dequeue" && op.Type == history.OK && !op.Value.IsNil():
				out(op.Value)
			case op.F == "drain" && op.Type == history.OK:
				for _, v := range op.Value.Elems() {
					out(v)
				}
			}
		}
		return verdictOf(bad, len(h.Ops) > 0)
	})
}

// TestFIFOAgrees holds the FIFO rule against all orders of the operations: exactly
// where all of them are ok and elements unique, else at least never a false alarm.
func TestFIFOAgrees(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := queueing(true)
		s.fs, s.tidy, s.most = []string{"enqueue", "dequeue"}, true, 12
		h := s.random(t)
		r := judge(Queue(QueueOptions{FIFO: true}), h)
		sure, possible := true, fifoOrder(h)
		for i, op := range h.Ops {
			if op.Type != history.Invoke && op.Type != history.OK {
				sure = false
			}
			if op.Type == history.Invoke && !slices.ContainsFunc(h.Ops[i+1:], func(o history.Op) bool { return o.Process == op.Process }) {
				sure = false
			}
		}
		if r.Verdict == Invalid && possible || sure && r.Verdict == Valid && !possible {
			for _, op := range h.Ops {
				t.Log(op.String())
			}
			t.Fatalf("says %v (%s), while an order exists: %v", r.Verdict, r.Reason, possible)
		}
		for _, a := range r.Anomalies {
			if !alone(t, func() Stream { return Queue(QueueOptions{FIFO: true}) }, h, a) {
				t.Fatalf("witness of %s alone does not show it: %s\n%v", a.Name, a.Message, a.Witness)
			}
		}
	})
}

// fifoOrder reports whether the operations can be put in an order that respects
// time and a FIFO queue; those in doubt may be left out.
func fifoOrder(h *history.History) bool {
	type op struct {
		put      bool
		v        history.Value // nil: anything
		from, to int
		must     bool
	}
	var all []op
	calls := paired(h)
	ended := make(map[int]int)
	for i, call := range calls {
		if call != nowhere {
			ended[call] = i
		}
	}
	for i, o := range h.Ops {
		if o.Type != history.Invoke {
			continue
		}
		x := op{put: o.F == "enqueue", v: o.Value, from: i, to: 1 << 30}
		if end, ok := ended[i]; ok {
			switch h.Ops[end].Type {
			case history.Fail:
				continue
			case history.OK:
				x.to, x.must = end, true
				x.v = h.Ops[end].Value
			}
		}
		all = append(all, x)
	}
	var search func(done []bool, queue []history.Value) bool
	search = func(done []bool, queue []history.Value) bool {
		left := false
		first := 1 << 30
		for i, x := range all {
			if !done[i] && x.must {
				left = true
				first = min(first, x.to)
			}
		}
		if !left {
			return true
		}
		for i, x := range all {
			if done[i] || x.from > first {
				continue
			}
			next := queue
			switch {
			case x.put:
				next = append(slices.Clone(queue), x.v)
			case len(queue) == 0 || !x.v.IsNil() && !x.v.Equal(queue[0]):
				continue
			default:
				next = queue[1:]
			}
			done[i] = true
			ok := search(done, next)
			done[i] = false
			if ok {
				return true
			}
		}
		return false
	}
	return search(make([]bool, len(all)), nil)
}

func TestTotalQueueAgrees(t *testing.T) {
	agree(t, queueing(false), TotalQueue, func(h *history.History) Verdict {
		type count struct{ tries, acks, outs, named int }
		counts := make(map[string]*count)
		of := func(v history.Value) *count {
			if counts[v.Key()] == nil {
				counts[v.Key()] = new(count)
			}
			return counts[v.Key()]
		}
		openDrains := make(map[history.Process]bool)
		crashed, facts := false, 0
		for _, op := range h.Ops {
			if op.Type == history.Invoke {
				if op.Process.IsClient() {
					crashed = crashed || openDrains[op.Process]
					openDrains[op.Process] = op.F == "drain"
				}
			} else {
				delete(openDrains, op.Process)
			}
			switch op.F {
			case "enqueue":
				c := of(op.Value)
				if op.Type == history.Invoke {
					c.tries++
				}
				if op.Type == history.OK {
					if c.tries == c.acks {
						c.tries++
					}
					c.acks++
					facts++
				}
			case "dequeue":
				if op.Type == history.OK && !op.Value.IsNil() {
					of(op.Value).outs++
					facts++
				}
				if op.Type == history.Info && !op.Value.IsNil() {
					of(op.Value).named++
				}
			case "drain":
				if op.Type == history.Info {
					crashed = true
				}
				for _, v := range op.Value.Elems() {
					if op.Type == history.OK {
						of(v).outs++
						facts++
					}
				}
			}
		}
		for _, open := range openDrains {
			crashed = crashed || open
		}
		lost, bad := false, false
		for _, c := range counts {
			if c.tries == 0 && c.outs > 0 {
				bad = true
			} else if c.outs <= c.tries && c.acks > c.outs+c.named {
				lost = true
			}
		}
		if bad || lost && !crashed {
			return Invalid
		}
		return verdictOf(false, facts > 0 && !lost)
	})
}

func TestUniqueIDsAgrees(t *testing.T) {
	ids := shape{
		fs:     []string{"generate"},
		invoke: func(*rapid.T, string) history.Value { return history.Value{} },
		result: func(t *rapid.T, _ string, _ history.Value) history.Value {
			return rapid.SampledFrom([]history.Value{history.Int(1 << 40), history.Int(-1), history.Int(7), history.Text("7"), history.Keyword("7"),
				history.Vec(history.Int(7)), history.ListOf(history.Int(7)), history.FloatOf(7), history.Value{}, history.SetOf(history.Int(7))}).Draw(t, "id")
		},
		most: 12,
	}
	agree(t, ids, UniqueIDs, func(h *history.History) Verdict {
		bad, some := false, false
		for i, op := range h.Ops {
			if op.Type != history.OK {
				continue
			}
			some = true
			for _, other := range h.Ops[:i] {
				bad = bad || other.Type == history.OK && other.Value.Equal(op.Value)
			}
		}
		return verdictOf(bad, some)
	})
}
