package checker

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/jepgo/jepgo/history"
)

// benched is a stream with events to take over and over; each is given anew, with
// its value on a tape as a reader has it.
type benched struct {
	name  string
	begin func() Stream
	fill  func(*benchHistory)
}

// benchHistory is a history as events.
type benchHistory struct {
	tape   history.Tape
	events []history.Event
}

func (b *benchHistory) add(process int, kind history.Type, f string, value history.Value) {
	n := len(b.events)
	b.events = append(b.events, history.Event{
		Position: n, Index: int64(n), Time: int64(n) * 1000, Type: kind, Process: history.Client(int64(process)), F: f, Value: b.tape.Append(value),
	})
}

// both is an operation that is ok at once.
func (b *benchHistory) both(process int, f string, invoked, done history.Value) {
	b.add(process, history.Invoke, f, invoked)
	b.add(process, history.OK, f, done)
}

func intVec(n int) history.Value {
	elems := make([]history.Value, n)
	for i := range elems {
		elems[i] = history.Int(int64(i))
	}
	return history.Vec(elems...)
}

func pairOf(a, b history.Value) history.Value { return history.Vec(a, b) }

// BenchmarkStreams takes 200,000 events; ns/event and what the stream holds for each
// are what counts.
func BenchmarkStreams(b *testing.B) {
	const n = 100_000
	none := history.Value{}
	each := func(f string, invoked, done func(i int) history.Value) func(*benchHistory) {
		return func(h *benchHistory) {
			for i := range n {
				h.both(i%20, f, invoked(i), done(i))
			}
		}
	}
	number := func(i int) history.Value { return history.Int(int64(i)) }
	nothing := func(int) history.Value { return none }
	adds := each("add", number, number)
	for _, test := range []benched{
		{"set", Set, adds},
		{"set-full/adds", func() Stream { return SetFull(SetFullOptions{}) }, adds},
		{"queue", func() Stream { return Queue(QueueOptions{FIFO: true}) }, func(h *benchHistory) {
			for i := range n / 2 {
				h.both(i%20, "enqueue", number(i), number(i))
				h.both(i%20, "dequeue", none, number(i))
			}
		}},
		{"total-queue", TotalQueue, func(h *benchHistory) {
			for i := range n / 2 {
				h.both(i%20, "enqueue", number(i), number(i))
				h.both(i%20, "dequeue", none, number(i))
			}
		}},
		{"unique-ids", UniqueIDs, each("generate", nothing, number)},
		{"unique-ids/texts", UniqueIDs, each("generate", nothing, func(i int) history.Value { return history.Text(fmt.Sprintf("id-%d", i)) })},
		{"counter", func() Stream { return Counter(CounterOptions{}) }, func(h *benchHistory) {
			for i := range n / 2 {
				h.both(i%20, "add", number(1), number(1))
				h.both(i%20, "read", none, number(i+1))
			}
		}},
		{"counter/20-keys", func() Stream {
			return Independent("counter", func() Stream { return Counter(CounterOptions{}) })
		}, func(h *benchHistory) {
			for i := range n / 2 {
				h.both(i%20, "add", pairOf(number(i%20), number(1)), pairOf(number(i%20), number(1)))
				h.both(i%20, "read", pairOf(number(i%20), none), pairOf(number(i%20), number(i/20+1)))
			}
		}},
		{"bank", func() Stream { return Bank(BankOptions{}) }, func(h *benchHistory) {
			var kvs []history.Value
			for i := range 8 {
				kvs = append(kvs, number(i), number(10))
			}
			read := history.MapOf(kvs...)
			for i := range n {
				h.both(i%20, "read", none, read)
			}
		}},
		{"long-fork", func() Stream { return LongFork(LongForkOptions{}) }, func(h *benchHistory) {
			micro := func(f string, key int, v history.Value) history.Value {
				return history.Vec(history.Keyword(f), number(key), v)
			}
			for i := range n / 2 {
				w := history.Vec(micro("w", i, number(1)))
				h.both(i%20, "txn", w, w)
				pair := i / 2 * 2
				h.both(i%20, "txn", history.Vec(micro("r", pair, none), micro("r", pair+1, none)), history.Vec(micro("r", pair, number(1)), micro("r", pair+1, none)))
			}
		}},
		{"causal-reverse/writes", CausalReverse, each("write", number, number)},
		{"g2", G2, each("insert", func(i int) history.Value { return pairOf(number(i), pairOf(number(i), none)) }, func(i int) history.Value { return pairOf(number(i), pairOf(number(i), none)) })},
		{"kafka", func() Stream { return Kafka(KafkaOptions{}) }, func(h *benchHistory) {
			for i := range n / 2 {
				key, at := number(i%10), number(i/10)
				h.both(i%20, "send", history.Vec(history.Vec(keyword("send"), key, number(i))), history.Vec(history.Vec(keyword("send"), key, pairOf(at, number(i)))))
				h.both(20+i%10, "poll", history.Vec(history.Vec(keyword("poll"))), history.Vec(history.Vec(keyword("poll"), history.MapOf(key, history.Vec(pairOf(at, number(i)))))))
			}
		}},
		{"sanity/write", func() Stream { return Sanity(SanityOptions{}) }, each("write", number, number)},
		{"sanity/txn", func() Stream { return Sanity(SanityOptions{}) }, func(h *benchHistory) {
			w := history.Vec(history.Vec(keyword("append"), number(3), number(1)), history.Vec(keyword("r"), number(4), none))
			for i := range n {
				h.both(i%20, "txn", w, w)
			}
		}},
		{"perf", func() Stream { return Perf(PerfOptions{}) }, each("read", nothing, number)},
	} {
		b.Run(test.name, func(b *testing.B) {
			h := &benchHistory{}
			test.fill(h)
			b.ReportAllocs()
			for b.Loop() {
				s := test.begin()
				for i := range h.events {
					s.Take(&h.events[i])
				}
				if r := s.Finish(context.Background(), brokenSource{}); r.Verdict == Invalid {
					b.Fatal(r.Reason)
				}
			}
			perOp := float64(b.Elapsed().Nanoseconds()) / float64(b.N) / float64(len(h.events))
			b.ReportMetric(perOp, "ns/event")
			b.ReportMetric(1e9/perOp, "events/s")
		})
	}
}

// BenchmarkFullReads reads a growing set in full after each 20 adds, sorted as
// databases do and in the order of a hash as Clojure prints sets. It gives the cost
// of one element of a read.
func BenchmarkFullReads(b *testing.B) {
	const adds, every = 4_000, 20
	for _, model := range []struct {
		name  string
		f     string
		begin func() Stream
	}{
		{"set-full", "add", func() Stream { return SetFull(SetFullOptions{}) }},
		{"causal-reverse", "write", CausalReverse},
	} {
		for _, order := range []string{"sorted", "hashed", "shuffled"} {
			b.Run(model.name+"/"+order, func(b *testing.B) {
				r := rand.New(rand.NewPCG(1, 2))
				h := &benchHistory{}
				elements := 0
				place := r.Perm(adds)
				inOrder := make([]history.Value, adds)
				for i := range adds {
					h.both(i%20, model.f, history.Int(int64(i)), history.Int(int64(i)))
					if i%every != every-1 {
						continue
					}
					read := intVec(i + 1)
					if order == "hashed" {
						clear(inOrder)
						for j := range i + 1 {
							inOrder[place[j]] = history.Int(int64(j))
						}
						var elems []history.Value
						for _, v := range inOrder {
							if !v.IsNil() {
								elems = append(elems, v)
							}
						}
						read = history.SetOf(elems...)
					}
					if order == "shuffled" {
						elems := read.Elems()
						r.Shuffle(len(elems), func(a, b int) { elems[a], elems[b] = elems[b], elems[a] })
					}
					h.both(i%20, "read", history.Value{}, read)
					elements += i + 1
				}
				b.ReportAllocs()
				for b.Loop() {
					s := model.begin()
					for i := range h.events {
						s.Take(&h.events[i])
					}
					if r := s.Finish(context.Background(), brokenSource{}); r.Verdict != Valid {
						b.Fatal(r.Reason)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(elements), "ns/element")
			})
		}
	}
}
