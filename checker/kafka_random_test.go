package checker

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/jepgo/jepgo/history"
)

// broker is a simulated log service with clients that send and poll, one
// operation after another at the service, and gaps where transactions committed.
type broker struct {
	t       *rapid.T
	logs    [2][]placed
	lines   []history.Op
	cursors map[int64]*[2]int // client → next place in each log
	next    int64
}

type placed struct{ offset, value int64 }

func keyword(name string) history.Value { return history.Keyword(name) }

func (b *broker) add(process int64, kind history.Type, f string, value history.Value) {
	b.lines = append(b.lines, history.Op{Index: int64(len(b.lines)), Time: int64(len(b.lines)), Type: kind, F: f, Process: history.Client(process), Value: value})
}

// put appends a message and returns its offset.
func (b *broker) put(key int, value int64) int64 {
	log := b.logs[key]
	offset := int64(0)
	if len(log) > 0 {
		offset = log[len(log)-1].offset + int64(rapid.SampledFrom([]int{1, 1, 2}).Draw(b.t, "gap"))
	}
	b.logs[key] = append(log, placed{offset, value})
	return offset
}

// operation is a transaction of sends and polls; polls of all come last, as they
// must not see what the transaction sends.
func (b *broker) operation(process int64, sends, polls int) {
	kind := rapid.SampledFrom([]history.Type{history.OK, history.OK, history.OK, history.Info, history.Fail}).Draw(b.t, "outcome")
	cursors := b.cursors[process]
	if cursors == nil {
		cursors = new([2]int)
		b.cursors[process] = cursors
	}
	at := *cursors
	var invoked, done []history.Value
	for range polls {
		pairs := make([][]history.Value, 2)
		for key := range 2 {
			for range rapid.IntRange(0, 2).Draw(b.t, "polled") {
				if at[key] < len(b.logs[key]) {
					m := b.logs[key][at[key]]
					pairs[key] = append(pairs[key], history.Vec(history.Int(m.offset), history.Int(m.value)))
					at[key]++
				}
			}
		}
		invoked = append(invoked, history.Vec(keyword("poll")))
		done = append(done, history.Vec(keyword("poll"), history.MapOf(history.Int(0), history.Vec(pairs[0]...), history.Int(1), history.Vec(pairs[1]...))))
	}
	happens := kind == history.OK || kind == history.Info && rapid.Bool().Draw(b.t, "happens")
	for range sends {
		key := rapid.IntRange(0, 1).Draw(b.t, "key")
		b.next++
		result := history.Int(b.next)
		if happens {
			offset := b.put(key, b.next)
			if kind == history.OK || rapid.Bool().Draw(b.t, "told") {
				result = history.Vec(history.Int(offset), result)
			}
		}
		invoked = append(invoked, history.Vec(keyword("send"), history.Int(int64(key)), history.Int(b.next)))
		done = append(done, history.Vec(keyword("send"), history.Int(int64(key)), result))
	}
	b.add(process, history.Invoke, "txn", history.Vec(invoked...))
	b.add(process, kind, "txn", history.Vec(done...))
	if kind == history.OK {
		*cursors = at
	}
}

// history runs some operations and drains.
func (b *broker) history() *history.History {
	for range rapid.IntRange(1, 12).Draw(b.t, "operations") {
		process := rapid.Int64Range(0, 2).Draw(b.t, "process")
		b.operation(process, rapid.IntRange(0, 2).Draw(b.t, "sends"), rapid.IntRange(0, 2).Draw(b.t, "polls"))
	}
	var all []history.Value
	for key, log := range b.logs {
		var pairs []history.Value
		for _, m := range log {
			pairs = append(pairs, history.Vec(history.Int(m.offset), history.Int(m.value)))
		}
		all = append(all, history.Int(int64(key)), history.Vec(pairs...))
	}
	b.add(9, history.Invoke, "poll", history.Vec(history.Vec(keyword("poll"))))
	b.add(9, history.OK, "poll", history.Vec(history.Vec(keyword("poll"), history.MapOf(all...))))
	return &history.History{Ops: b.lines}
}

func simulate(t *rapid.T) (*history.History, *broker) {
	b := &broker{t: t, cursors: make(map[int64]*[2]int)}
	return b.history(), b
}

func lines(h *history.History) string {
	var s strings.Builder
	for _, op := range h.Ops {
		fmt.Fprintln(&s, op.String())
	}
	return s.String()
}

// TestKafkaNoFalseAlarm holds that a service that does what it should is valid.
func TestKafkaNoFalseAlarm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h, b := simulate(t)
		r := judge(Kafka(KafkaOptions{}), h)
		if r.Verdict == Invalid || r.Verdict == Unknown && len(b.logs[0])+len(b.logs[1]) > 0 {
			t.Fatalf("says %v (%s) %v of\n%s", r.Verdict, r.Reason, names(r), lines(h))
		}
	})
}

// TestKafkaFindsFaults plants a fault of each kind into what the final poll of a
// service returns, and holds that it is found, and that its witness alone shows it.
func TestKafkaFindsFaults(t *testing.T) {
	begin := func() Stream { return Kafka(KafkaOptions{}) }
	pair := func(offset, value int64) history.Value {
		return history.Vec(history.Int(offset), history.Int(value))
	}
	faults := map[string]func(t *rapid.T, pairs []history.Value) []history.Value{
		"int-nonmonotonic-poll": func(t *rapid.T, pairs []history.Value) []history.Value {
			i := rapid.IntRange(1, len(pairs)-1).Draw(t, "at")
			pairs[i-1], pairs[i] = pairs[i], pairs[i-1]
			return pairs
		},
		"unexpected": func(_ *rapid.T, pairs []history.Value) []history.Value { return append(pairs, pair(1000, 1000)) },
		"duplicate": func(_ *rapid.T, pairs []history.Value) []history.Value {
			value, _ := pairs[0].Elems()[1].Int()
			return append(pairs, pair(1000, value))
		},
		"inconsistent-offsets": func(_ *rapid.T, pairs []history.Value) []history.Value {
			first, _ := pairs[0].Elems()[0].Int()
			last, _ := pairs[len(pairs)-1].Elems()[1].Int()
			return append(pairs[:len(pairs)-1:len(pairs)-1], pair(first, last))
		},
	}
	for _, name := range sortedKeys(faults) {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				h, b := simulate(t)
				key := slices.IndexFunc(b.logs[:], func(log []placed) bool { return len(log) > 1 })
				if key < 0 {
					t.Skip("no log of two messages")
				}
				last := &h.Ops[len(h.Ops)-1]
				all := slices.Clone(last.Value.Elems()[0].Elems()[1].Elems())
				all[2*key+1] = history.Vec(faults[name](t, slices.Clone(all[2*key+1].Elems()))...)
				last.Value = history.Vec(history.Vec(keyword("poll"), history.MapOf(all...)))
				r := judge(begin(), h)
				if r.Verdict != Invalid || !slices.Contains(names(r), name) {
					t.Fatalf("says %v (%s) %v, want %s, of\n%s", r.Verdict, r.Reason, names(r), name, lines(h))
				}
				for _, a := range r.Anomalies {
					if !alone(t, begin, h, a) {
						t.Fatalf("witness of %s alone does not show it: %s\n%v", a.Name, a.Message, a.Witness)
					}
				}
			})
		})
	}
}

// TestKafkaFindsLoss takes a message out of every poll: it is lost, or, if nothing
// later was polled, unseen.
func TestKafkaFindsLoss(t *testing.T) {
	begin := func() Stream { return Kafka(KafkaOptions{}) }
	rapid.Check(t, func(t *rapid.T) {
		h, _ := simulate(t)
		var acked []history.Value
		for _, op := range h.Ops {
			if op.Type == history.OK {
				for _, micro := range op.Value.Elems() {
					if e := micro.Elems(); e[0].Text() == "send" {
						acked = append(acked, micro)
					}
				}
			}
		}
		if len(acked) == 0 {
			t.Skip("nothing acknowledged")
		}
		gone := rapid.SampledFrom(acked).Draw(t, "gone").Elems()[2].Elems()[1]
		for i := range h.Ops {
			if h.Ops[i].Type == history.Invoke {
				continue
			}
			micros := slices.Clone(h.Ops[i].Value.Elems())
			for j, micro := range micros {
				e := micro.Elems()
				if e[0].Text() != "poll" {
					continue
				}
				all := slices.Clone(e[1].Elems())
				for k := 1; k < len(all); k += 2 {
					all[k] = history.Vec(slices.DeleteFunc(slices.Clone(all[k].Elems()), func(p history.Value) bool { return p.Elems()[1].Equal(gone) })...)
				}
				micros[j] = history.Vec(e[0], history.MapOf(all...))
			}
			h.Ops[i].Value = history.Vec(micros...)
		}
		r := judge(begin(), h)
		found := slices.ContainsFunc(r.Anomalies, func(a Anomaly) bool {
			return (a.Name == "lost-write" || a.Name == "unseen") && strings.HasPrefix(a.Message, "Message "+gone.String()+" ")
		})
		if !found {
			t.Fatalf("message %s is missing, and %v (%s) %v of\n%s", gone, r.Verdict, r.Reason, names(r), lines(h))
		}
		for _, a := range r.Anomalies {
			if !alone(t, begin, h, a) {
				t.Fatalf("witness of %s alone does not show it: %s\n%v", a.Name, a.Message, a.Witness)
			}
		}
	})
}
