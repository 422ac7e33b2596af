package txn

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history"
)

// readsThenAppends is a history of one key that many read empty, one after the
// other, before many append to it: n² reads that did not see an append.
func readsThenAppends(n int, late bool) *history.History {
	h := &history.History{}
	one := func(f string, v history.Value) {
		mops := history.Vec(history.Vec(history.Keyword(f), history.Int(1), v))
		for _, kind := range []history.Type{history.Invoke, history.OK} {
			h.Ops = append(h.Ops, history.Op{Index: history.Absent, Time: history.Absent, Type: kind, Process: history.Client(0), F: "txn", Value: mops})
		}
	}
	for range n {
		one("r", history.Vec())
	}
	for i := range n {
		one("append", history.Int(int64(i)))
	}
	if late {
		one("r", history.Vec())
	}
	return h
}

func TestManyUnreadAppends(t *testing.T) {
	const n = 5000 // squared, more than the edges that are allowed
	if r := checkAppend(readsThenAppends(n, false), Options{}); r.Verdict != checker.Valid {
		t.Errorf("%s: %s", r.Verdict, r.Reason)
	}
	if r := checkAppend(readsThenAppends(n, true), Options{}); r.Verdict != checker.Invalid || !strings.Contains(r.Reason, "G-single-item") {
		t.Errorf("a late read: %s: %s", r.Verdict, r.Reason)
	}
	// Nothing orders them but what was not read, and that is too much.
	if r := checkAppend(readsThenAppends(n, false), Options{Models: []string{"serializable"}}); r.Verdict != checker.Unknown || !strings.Contains(r.Reason, "too many appends") {
		t.Errorf("%s: %s", r.Verdict, r.Reason)
	}
}

// BenchmarkListAppend reads a file and judges it. The stores of strict keep strict
// serializability; those of torn apply each micro-op at another time, so that most
// transactions are in one component.
func BenchmarkListAppend(b *testing.B) {
	for _, kind := range []string{"strict", "torn"} {
		for _, n := range []int{10_000, 100_000} {
			b.Run(fmt.Sprintf("%s/%d", kind, n), func(b *testing.B) {
				path := filepath.Join(b.TempDir(), "history.edn")
				size := writeAppends(b, path, n, kind == "torn")
				b.SetBytes(size)
				b.ReportAllocs()
				for b.Loop() {
					s, err := history.OpenScan(path, history.ScanOptions{})
					if err != nil {
						b.Fatal(err)
					}
					c := ListAppend(Options{})
					if err := s.Each(context.Background(), func(e *history.Event) error { c.Take(e); return nil }); err != nil {
						b.Fatal(err)
					}
					if r := c.Finish(context.Background(), s); (r.Verdict == checker.Valid) != (kind == "strict") {
						b.Fatalf("%s: %s", r.Verdict, r.Reason)
					}
					s.Close()
				}
				b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "txns/s")
			})
		}
	}
}

// writeAppends writes a history of n transactions by 20 clients over keys of which
// ten are in use at a time, and each is retired after 100 appends.
func writeAppends(b *testing.B, path string, n int, torn bool) (size int64) {
	file, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	defer file.Close()
	w := bufio.NewWriter(file)
	r := rand.New(rand.NewPCG(1, 1))
	keys := make([]int, 10)
	lists := map[int][]string{}
	for i := range keys {
		keys[i] = i
	}
	fresh := len(keys)
	type client struct{ asked, done []string }
	clients := make([]client, 20)
	apply := func(c *client) {
		mop := c.asked[len(c.done)]
		var f string
		var key int
		fmt.Sscanf(mop, "[:%s %d", &f, &key)
		if f == "r" {
			mop = fmt.Sprintf("[:r %d [%s]]", key, strings.Join(lists[key], " "))
		} else {
			lists[key] = append(lists[key], fmt.Sprint(len(lists[key])+1))
			mop = fmt.Sprintf("[:append %d %d]", key, len(lists[key]))
		}
		c.done = append(c.done, mop)
	}
	// An element is known when it is appended only: an invocation says a number that
	// the ok replaces.
	for begun, ended := 0, 0; ended < n; {
		p := r.IntN(len(clients))
		c := &clients[p]
		switch {
		case c.asked == nil && begun < n:
			begun++
			for range 1 + r.IntN(4) {
				at := r.IntN(len(keys))
				if len(lists[keys[at]]) >= 100 {
					keys[at], fresh = fresh, fresh+1
				}
				f := [...]string{"[:r %d nil]", "[:append %d 0]"}[r.IntN(2)]
				c.asked = append(c.asked, fmt.Sprintf(f, keys[at]))
			}
			fmt.Fprintf(w, "{:type :invoke, :f :txn, :value [%s], :process %d}\n", strings.Join(c.asked, " "), p)
		case c.asked == nil:
		case len(c.done) == 0 || torn && len(c.done) < len(c.asked):
			apply(c)
			for !torn && len(c.done) < len(c.asked) {
				apply(c)
			}
		default:
			ended++
			fmt.Fprintf(w, "{:type :ok, :f :txn, :value [%s], :process %d}\n", strings.Join(c.done, " "), p)
			*c = client{}
		}
	}
	if err := w.Flush(); err != nil {
		b.Fatal(err)
	}
	info, err := file.Stat()
	if err != nil {
		b.Fatal(err)
	}
	return info.Size()
}
