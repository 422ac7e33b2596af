package checker

import (
	"context"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/jepgo/jepgo/history"
)

func TestCounterAgrees(t *testing.T) {
	for _, least := range []int64{0, -3} {
		counts := shape{
			fs: []string{"add", "read"},
			invoke: func(t *rapid.T, f string) history.Value {
				if f == "read" {
					return history.Value{}
				}
				return history.Int(rapid.Int64Range(least, 3).Draw(t, "amount"))
			},
			result: func(t *rapid.T, f string, invoked history.Value) history.Value {
				if f == "add" {
					return invoked
				}
				n := rapid.Int64Range(-4, 8).Draw(t, "value")
				if n == -4 {
					return history.Value{}
				}
				return history.Int(n)
			},
		}
		agree(t, counts, func() Stream { return Counter(CounterOptions{}) }, slowCounter)
	}
}

// slowCounter sums up for each read anew.
func slowCounter(h *history.History) Verdict {
	calls := paired(h)
	ends := make(map[int]int)
	for i, call := range calls {
		if call != nowhere {
			ends[call] = i
		}
	}
	// What each add may have done, and when: from an invocation, or at any time
	// before its completion where that has none.
	type add struct {
		amount   int64
		from, ok int
	}
	var adds []add
	nameless := make(map[int64]int)
	const later = 1 << 30
	for i, op := range h.Ops {
		if op.F != "add" {
			continue
		}
		amount, _ := op.Value.Int()
		switch {
		case op.Type == history.Invoke:
			a := add{amount, i, later}
			if end, ok := ends[i]; ok && h.Ops[end].F == "add" {
				if h.Ops[end].Type == history.Fail {
					continue
				}
				if h.Ops[end].Type == history.OK {
					a.ok = end
				}
			}
			if op.Process.IsZero() {
				nameless[amount]++
			}
			adds = append(adds, a)
		case calls[i] != nowhere || op.Type == history.Fail:
		case nameless[amount] > 0:
			nameless[amount]--
			if op.Type == history.OK {
				at := slices.IndexFunc(adds, func(a add) bool {
					return a.from >= 0 && a.amount == amount && a.ok == later && h.Ops[a.from].Process.IsZero()
				})
				adds[at].ok = i
			}
		case op.Type == history.OK:
			adds = append(adds, add{amount, -1, i})
		default:
			adds = append(adds, add{amount, -1, later})
		}
	}
	bad := false
	for i, op := range h.Ops {
		if op.F != "read" || op.Type != history.OK {
			continue
		}
		value, _ := op.Value.Int()
		low, high := int64(0), int64(0)
		for _, a := range adds {
			sure, possible := a.ok < calls[i], a.from < i
			if sure || possible && a.amount < 0 {
				low += a.amount
			}
			if sure || possible && a.amount > 0 {
				high += a.amount
			}
		}
		bad = bad || value < low || value > high
	}
	return verdictOf(bad, len(h.Ops) > 0)
}

func TestBankAgrees(t *testing.T) {
	for _, negative := range []bool{false, true} {
		reads := shape{
			fs:     []string{"read"},
			invoke: func(*rapid.T, string) history.Value { return history.Value{} },
			result: func(t *rapid.T, _ string, _ history.Value) history.Value {
				var kvs []history.Value
				for account := range int64(3) {
					switch n := rapid.Int64Range(-3, 4).Draw(t, "balance"); n {
					case -3:
					case -2:
						kvs = append(kvs, history.Int(account), history.Value{})
					default:
						kvs = append(kvs, history.Int(account), history.Int(n))
					}
				}
				return history.MapOf(kvs...)
			},
			most: 10,
		}
		agree(t, reads, func() Stream { return Bank(BankOptions{NegativeBalances: negative}) }, func(h *history.History) Verdict {
			var first *history.Value
			var accounts []history.Value
			sum := func(v history.Value) (sum int64) {
				for i := 1; i < len(v.Elems()); i += 2 {
					n, _ := v.Elems()[i].Int()
					sum += n
				}
				return sum
			}
			bad, some := false, false
			for _, op := range h.Ops {
				if op.Type != history.OK {
					continue
				}
				some = true
				if first == nil {
					first = &op.Value
				}
				elems := op.Value.Elems()
				if len(accounts) == 0 {
					for i := 0; i < len(elems); i += 2 {
						accounts = append(accounts, elems[i])
					}
				}
				bad = bad || sum(op.Value) != sum(*first)
				for i := 0; i < len(elems); i += 2 {
					n, isInt := elems[i+1].Int()
					bad = bad || !isInt || n < 0 && !negative || !has(history.Vec(accounts...), elems[i])
				}
			}
			return verdictOf(bad, some)
		})
	}
}

func TestLongForkAgrees(t *testing.T) {
	const size = 3
	txns := shape{
		fs:     []string{"txn"},
		invoke: func(*rapid.T, string) history.Value { return history.Vec() },
		result: func(t *rapid.T, _ string, _ history.Value) history.Value {
			first := rapid.SampledFrom([]int64{0, 0, 10}).Draw(t, "group")
			var ops []history.Value
			for _, key := range rapid.Permutation([]int64{0, 1, 2}).Draw(t, "order") {
				value := history.Value{}
				if rapid.Bool().Draw(t, "there") {
					value = history.Int(first + key)
				}
				ops = append(ops, history.Vec(history.Keyword("r"), history.Int(first+key), value))
			}
			return history.Vec(ops...)
		},
		most: 16,
	}
	agree(t, txns, func() Stream { return LongFork(LongForkOptions{GroupSize: size}) }, func(h *history.History) Verdict {
		seen := func(op history.Op) (keys, absent []history.Value) {
			for _, micro := range op.Value.Elems() {
				if e := micro.Elems(); e[2].IsNil() {
					absent = append(absent, e[1])
				} else {
					keys = append(keys, e[1])
				}
			}
			return keys, absent
		}
		any := func(a, b []history.Value) bool {
			return slices.ContainsFunc(a, func(v history.Value) bool { return has(history.Vec(b...), v) })
		}
		bad, some := false, false
		for i, op := range h.Ops {
			if op.Type != history.OK {
				continue
			}
			some = true
			for _, other := range h.Ops[:i] {
				if other.Type == history.OK {
					a, notA := seen(op)
					b, notB := seen(other)
					bad = bad || any(a, notB) && any(b, notA)
				}
			}
		}
		return verdictOf(bad, some)
	})
}

func TestCausalReverseAgrees(t *testing.T) {
	agree(t, adding("write"), CausalReverse, slowCausalReverse)
}

func slowCausalReverse(h *history.History) Verdict {
	firstOf := func(v history.Value, of history.Type) int {
		return slices.IndexFunc(h.Ops, func(op history.Op) bool { return op.F == "write" && op.Type == of && op.Value.Equal(v) })
	}
	bad, some := false, false
	held, written := false, false // anything read; anything of that written
	for _, op := range h.Ops {
		if op.F != "read" || op.Type != history.OK || op.Value.Kind() != history.Vector {
			continue
		}
		some = true
		for _, elem := range op.Value.Elems() {
			held = true
			for kind := history.Invoke; kind <= history.Info; kind++ {
				written = written || firstOf(elem, kind) >= 0
			}
		}
		for _, held := range op.Value.Elems() {
			call := firstOf(held, history.Invoke)
			if ok := firstOf(held, history.OK); ok >= 0 && ok < call {
				continue // of unknown start
			}
			for _, w := range h.Ops {
				if w.F == "write" && w.Type == history.OK && !has(op.Value, w.Value) && firstOf(w.Value, history.OK) < call {
					bad = true
				}
			}
		}
	}
	return verdictOf(bad, some && (written || !held))
}

// TestIndependentAgrees holds the lifted stream against one history a key.
func TestIndependentAgrees(t *testing.T) {
	plain := adding("write")
	keyed := shape{
		fs: plain.fs,
		invoke: func(t *rapid.T, f string) history.Value {
			return history.Vec(history.Int(rapid.Int64Range(0, 2).Draw(t, "key")), plain.invoke(t, f))
		},
		result: func(t *rapid.T, f string, invoked history.Value) history.Value {
			return history.Vec(invoked.Elems()[0], plain.result(t, f, invoked.Elems()[1]))
		},
		most: 60,
	}
	for _, begin := range []func() Stream{CausalReverse, func() Stream { return SetFull(SetFullOptions{}) }, func() Stream { return Independent("x", CausalReverse) }} {
		lifted := func() Stream { return Independent("lifted", begin) }
		agree(t, keyed, lifted, func(h *history.History) Verdict {
			worst := Valid
			found := false
			for key := range int64(3) {
				var part history.History
				for _, op := range h.Ops {
					if elems := op.Value.Elems(); elems[0].Equal(history.Int(key)) {
						op.Value = elems[1]
						part.Ops = append(part.Ops, op)
					}
				}
				if len(part.Ops) == 0 {
					continue
				}
				found = true
				for i := range part.Ops {
					part.Ops[i].Index = int64(i) // of the part, for the references
				}
				worst = Worst(worst, judge(begin(), &part).Verdict)
			}
			if !found {
				return Unknown
			}
			return worst
		})
	}
}

func TestG2Agrees(t *testing.T) {
	inserts := shape{
		fs: []string{"insert"},
		invoke: func(t *rapid.T, _ string) history.Value {
			return history.Vec(history.Int(rapid.Int64Range(0, 5).Draw(t, "key")), history.Vec(history.Int(1), history.Value{}))
		},
		result: func(_ *rapid.T, _ string, invoked history.Value) history.Value { return invoked },
	}
	agree(t, inserts, G2, func(h *history.History) Verdict {
		counts := make(map[string]int)
		bad := false
		for _, op := range h.Ops {
			if op.Type == history.OK {
				key := op.Value.Elems()[0].Key()
				counts[key]++
				bad = bad || counts[key] > 1
			}
		}
		return verdictOf(bad, len(counts) > 0)
	})
}

// TestStreamsSurvive gives every stream ops of every kind: none may panic, and none
// may claim validity without facts.
func TestStreamsSurvive(t *testing.T) {
	streams := []func() Stream{
		Set, func() Stream { return SetFull(SetFullOptions{Linearizable: true}) }, func() Stream { return Queue(QueueOptions{FIFO: true}) },
		TotalQueue, UniqueIDs, func() Stream { return Counter(CounterOptions{}) }, func() Stream { return Bank(BankOptions{}) },
		func() Stream { return LongFork(LongForkOptions{}) }, Causal, CausalReverse, Comments, G2, func() Stream { return Kafka(KafkaOptions{}) },
		Exceptions, func() Stream { return Perf(PerfOptions{}) }, func() Stream { return ClockPlot() }, func() Stream { return Sanity(SanityOptions{}) },
		func() Stream { return Independent("sets", Set) },
	}
	fs := []string{"", "add", "read", "write", "enqueue", "dequeue", "drain", "generate", "txn", "read-init", "insert", "send", "poll", "assign", "cas"}
	rapid.Check(t, func(t *rapid.T) {
		var value func(depth int) history.Value
		value = func(depth int) history.Value {
			n := rapid.IntRange(0, 13).Draw(t, "kind")
			if depth == 0 {
				n = min(n, 7)
			}
			var elems []history.Value
			if n > 7 {
				for range 2 * rapid.IntRange(0, 2).Draw(t, "size") {
					elems = append(elems, value(depth-1))
				}
			}
			switch n {
			case 0, 1:
				return history.Value{}
			case 2, 3, 4:
				return history.Int(rapid.SampledFrom([]int64{0, 1, 2, -1, 1 << 40, 1<<63 - 1, -1 << 63}).Draw(t, "int"))
			case 5:
				return history.Keyword(rapid.SampledFrom([]string{"r", "w", "append", "send", "poll", "x", "init"}).Draw(t, "keyword"))
			case 6:
				return history.Text(rapid.SampledFrom([]string{"", "0", "-1", "r"}).Draw(t, "text"))
			case 7:
				return history.FloatOf(1.5)
			case 8:
				return history.SetOf(elems...)
			case 9, 10:
				return history.MapOf(elems...)
			}
			return history.Vec(elems...)
		}
		var h history.History
		for range rapid.IntRange(0, 20).Draw(t, "ops") {
			h.Ops = append(h.Ops, history.Op{
				Index: history.Absent, Time: rapid.Int64Range(-1, 1<<62).Draw(t, "time"), Type: history.Type(rapid.IntRange(0, 4).Draw(t, "type")),
				Process: rapid.SampledFrom([]history.Process{{}, history.Client(0), history.Client(1), history.Client(-1 << 63), history.Nemesis()}).Draw(t, "process"),
				F:       rapid.SampledFrom(fs).Draw(t, "f"), Value: value(3), Error: value(1),
				Extra: []history.Field{{Key: rapid.SampledFrom([]string{"link", "exception", "clock-offsets", "rebalance-log"}).Draw(t, "extra"), Value: value(2)}},
			})
		}
		for _, begin := range streams {
			s := begin()
			for e := range h.Events() {
				s.Take(e)
			}
			if r := s.Finish(context.Background(), h.Source()); r.Verdict == Valid && r.Facts == 0 {
				t.Fatalf("%s is valid without facts", s.Name())
			}
		}
	})
}
