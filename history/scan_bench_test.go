package history

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"
)

// transactions writes n transactions as Jepsen's list-append histories have them.
func transactions(n int) []byte {
	rng := rand.New(rand.NewPCG(1, 2))
	text := make([]byte, 0, 360*n)
	lists := make([][]int, 10)
	for i := range n {
		var calls, results []byte
		for range 1 + rng.IntN(4) {
			key := rng.IntN(len(lists))
			if rng.IntN(2) == 0 {
				if len(lists[key]) == 32 {
					lists[key] = nil
				}
				lists[key] = append(lists[key], i)
				calls = fmt.Appendf(calls, "[:append %d %d] ", key, i)
				results = fmt.Appendf(results, "[:append %d %d] ", key, i)
				continue
			}
			calls = fmt.Appendf(calls, "[:r %d nil] ", key)
			results = fmt.Appendf(results, "[:r %d %v] ", key, lists[key])
		}
		text = fmt.Appendf(text, "{:type :invoke, :f :txn, :value [%s], :process %d, :time %d, :index %d}\n", bytes.TrimSpace(calls), i%20, i*2000, 2*i)
		text = fmt.Appendf(text, "{:type :ok, :f :txn, :value [%s], :process %d, :time %d, :index %d}\n", bytes.TrimSpace(results), i%20, i*2000+1000, 2*i+1)
	}
	return text
}

// registers writes n operations on registers.
func registers(n int) []byte {
	rng := rand.New(rand.NewPCG(1, 2))
	text := make([]byte, 0, 360*n)
	for i := range n {
		f, value := "read", "nil"
		if rng.IntN(2) == 0 {
			f, value = "write", fmt.Sprint(i)
		}
		key, seen := rng.IntN(10), value
		if f == "read" {
			seen = fmt.Sprint(rng.IntN(i + 1))
		}
		text = fmt.Appendf(text, "{:index %d, :time %d, :type :invoke, :process %d, :f :%s, :value [%d %s]}\n", 2*i, i*2000, i%20, f, key, value)
		text = fmt.Appendf(text, "{:index %d, :time %d, :type :ok, :process %d, :f :%s, :value [%d %s]}\n", 2*i+1, i*2000+1000, i%20, f, key, seen)
	}
	return text
}

func BenchmarkScan(b *testing.B) {
	for _, in := range []struct {
		name string
		text []byte
	}{{"append", transactions(100_000)}, {"register", registers(100_000)}} {
		for _, workers := range []int{1, 2} {
			b.Run(fmt.Sprintf("%s/workers=%d", in.name, workers), func(b *testing.B) {
				b.SetBytes(int64(len(in.text)))
				b.ReportAllocs()
				ops := 0
				for b.Loop() {
					s := &Scan{in: &input{at: bytes.NewReader(in.text)}, workers: workers, chunkSize: chunkSize, every: placeEvery}
					if err := s.Each(context.Background(), func(e *Event) error { return nil }); err != nil {
						b.Fatal(err)
					}
					ops = s.Count()
				}
				b.ReportMetric(float64(ops)*float64(b.N)/b.Elapsed().Seconds(), "ops/s")
			})
		}
		b.Run(in.name+"/events by the general reader", func(b *testing.B) {
			b.SetBytes(int64(len(in.text)))
			b.ReportAllocs()
			c := newChunk(newClasses(), false)
			for b.Loop() {
				for at := 0; at < len(in.text); at += chunkSize {
					c.padded = append(append(c.padded[:0], in.text[at:min(at+chunkSize, len(in.text))]...), make([]byte, padding)...)
					c.n = len(c.padded) - padding
					c.own.Reset()
					var e Event
					for i, ok := bytes.IndexByte(c.padded, '{'), true; ok; {
						i, ok = c.general(c.skip(i), &e)
					}
				}
			}
		})
		b.Run(in.name+"/ReadAll", func(b *testing.B) {
			b.SetBytes(int64(len(in.text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := ReadAll(bytes.NewReader(in.text), EDN()); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(in.name+"/general", func(b *testing.B) {
			b.SetBytes(int64(len(in.text)))
			b.ReportAllocs()
			for b.Loop() {
				r := EDN().Reader(bytes.NewReader(in.text))
				for {
					if _, err := r.Read(); err == io.EOF {
						break
					} else if err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

// BenchmarkScanLongOps reads ops that are longer than a chunk, as reads of a
// large set are.
func BenchmarkScanLongOps(b *testing.B) {
	for _, size := range []int{10_000, 60_000, 300_000} {
		var text []byte
		for i := 0; len(text) < 8<<20; i++ {
			text = fmt.Appendf(text, "{:index %d, :time %d, :type :ok, :process %d, :f :read, :value [1", i, i*1000, i%20)
			for start := len(text); len(text)-start < size; {
				text = append(text, " 12345"...)
			}
			text = append(text, "]}\n"...)
		}
		b.Run(fmt.Sprintf("bytes=%d", size), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				s := &Scan{in: &input{at: bytes.NewReader(text)}, workers: 1, chunkSize: chunkSize, every: placeEvery}
				if err := s.Each(context.Background(), func(e *Event) error { return nil }); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
