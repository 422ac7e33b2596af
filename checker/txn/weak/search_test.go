package weak

import (
	"context"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// strong are the questions that take a search.
func strong() []Ask {
	return slices.DeleteFunc(asks(), func(a Ask) bool { return a.Level <= Causal })
}

// The search through all orders that checks violations is right itself.
func TestAnyOrderAgreesWithTheAxioms(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := draw(t, 4)
		for _, a := range strong() {
			if got, want := h.anyOrder(a) && !h.readsTwice(a), holds(h, a); got != want {
				t.Fatalf("%+v: got %v, the axioms say %v\n%s", a, got, want, h)
			}
		}
	})
}

// Of ten transactions most orders are never looked at, and yet the answer is that of
// all of them.
func TestSearchAgreesWithAllOrdersOfTen(t *testing.T) {
	decided, exhausted := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		h := draw(t, 10)
		if h.readsTwice(Ask{Level: Serializable}) {
			return
		}
		for _, a := range strong() {
			got, want := h.Search(context.Background(), a, 0), h.anyOrder(a)
			if got.Holds != want || (got.Broken == nil) != want {
				t.Fatalf("%+v: got %+v, all orders say %v\n%s", a, got, want, h)
			}
			decided++
			if want {
				continue
			}
			if v := got.Broken; v.Exhausted {
				exhausted++
			} else if !v.Checked {
				t.Fatalf("%+v: %+v was not checked\n%s", a, v, h)
			}
		}
	})
	t.Logf("%d questions, %d answered by trying all orders of a core", decided, exhausted)
}

// blind makes a history of transactions that write without reading, and of readers that
// each saw two keys as some order of them left them: nothing says which order.
func blind(r *rand.Rand, writers, readers, keys int) *History {
	h := &History{}
	var wrote [][]int32
	for range writers {
		own := []int32{int32(r.IntN(keys)), int32(r.IntN(keys))}
		wrote = append(wrote, own)
		h.Add(-1, -1, Never)
		h.Write(own[0])
		h.Write(own[1])
	}
	order := r.Perm(writers)
	for range readers {
		holds := make([]int32, keys)
		for key := range holds {
			holds[key] = Initial
		}
		for _, w := range order[:1+r.IntN(writers)] {
			for _, key := range wrote[w] {
				holds[key] = int32(w)
			}
		}
		h.Add(-1, -1, Never)
		for _, key := range r.Perm(keys)[:2] {
			h.Read(int32(key), holds[key])
		}
	}
	return h
}

// Where only a search finds the order, it finds one.
func TestSearchFindsTheOrderOfBlindWrites(t *testing.T) {
	for seed := range uint64(8) {
		h := blind(rand.New(rand.NewPCG(seed, 1)), 40, 60, 6)
		for _, a := range strong() {
			if got := h.Search(context.Background(), a, 0); !got.Holds {
				t.Fatalf("seed %d, %+v: %+v", seed, a, got)
			}
		}
	}
}

// mixed has one reader of blind see two keys as two orders left them.
func mixed(seed uint64) *History {
	r := rand.New(rand.NewPCG(seed, 2))
	h := blind(r, 12, 14, 4)
	other := blind(rand.New(rand.NewPCG(seed, 2)), 12, 14, 4)
	for i := range h.reads {
		if r.IntN(6) == 0 {
			key := h.reads[i].key
			if w := int32(r.IntN(12)); other.wrote(w, key) {
				h.reads[i].from = w
			}
		}
	}
	return h
}

// A history that no order explains is refuted, by all of its transactions or fewer.
func TestSearchRefutesBlindWrites(t *testing.T) {
	refuted, exhausted, largestCore := 0, 0, 0
	for seed := range uint64(300) {
		h := mixed(seed)
		for _, a := range []Ask{{Level: Prefix}, {Level: SnapshotIsolation}, {Level: Serializable}} {
			got := h.Search(context.Background(), a, 0)
			if got.Unfinished != "" {
				t.Fatalf("seed %d, %+v: %+v", seed, a, got)
			}
			v := got.Broken
			if v == nil {
				continue
			}
			refuted++
			largestCore = max(largestCore, len(v.Core))
			if v.Exhausted {
				exhausted++
			}
			if len(v.Core) > largestTried {
				continue
			}
			if !v.Checked {
				t.Errorf("seed %d, %+v: %+v was not checked", seed, a, v)
			}
			// Nobody can be left out.
			for i := range v.Core {
				rest := slices.Delete(slices.Clone(v.Core), i, i+1)
				if len(rest) > 0 && h.only(rest).broken(context.Background(), v.Ask, smallWork) {
					t.Errorf("seed %d, %+v: the core %v does without %d", seed, a, v.Core, v.Core[i])
				}
			}
		}
	}
	t.Logf("%d refuted, %d of them by trying all orders of a core; the largest core has %d transactions", refuted, exhausted, largestCore)
	if refuted == 0 {
		t.Error("nothing was refuted")
	}
}

// What runs out of work says so, and how much is open.
func TestSearchEnds(t *testing.T) {
	h := blind(rand.New(rand.NewPCG(7, 7)), 200, 300, 8)
	a := h.Search(context.Background(), Ask{Level: Serializable}, 2000)
	if a.Holds || a.Broken != nil || a.Open == 0 || !strings.Contains(a.Unfinished, "work limit") {
		t.Errorf("got %+v", a)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if a := h.Search(ctx, Ask{Level: Serializable}, 0); a.Holds || a.Broken != nil || !strings.Contains(a.Unfinished, "ended early") {
		t.Errorf("got %+v", a)
	}
	if a := h.Infer(ctx, Ask{Level: Causal}, 0); a.Holds || a.Broken != nil || !strings.Contains(a.Unfinished, "ended early") {
		t.Errorf("got %+v", a)
	}
	if a := h.Infer(context.Background(), Ask{Level: Causal}, 64); a.Holds || !strings.Contains(a.Unfinished, "memory limit") {
		t.Errorf("got %+v", a)
	}
}

// The same history gives the same answer, to the last step.
func TestSameAnswer(t *testing.T) {
	for seed := range uint64(20) {
		for _, a := range asks() {
			first, second := answer(mixed(seed), a), answer(mixed(seed), a)
			if !reflect.DeepEqual(first, second) {
				t.Fatalf("seed %d, %+v: %+v, then %+v", seed, a, first, second)
			}
		}
	}
}

// Neither an order of keys nor of sessions has anything to do with the answer.
func TestNumbersDoNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := draw(t, 8)
		keys := rapid.Permutation(seq(int(h.keys))).Draw(t, "keys")
		other := &History{}
		for i := range int32(h.Len()) {
			session := h.session[i]
			if session >= 0 {
				session = 5 - session
			}
			other.Add(session, h.call[i], h.ret[i])
			for _, r := range h.readsOf(i) {
				other.Read(int32(keys[r.key])+3, r.from)
			}
			for _, key := range h.writesOf(i) {
				other.Write(int32(keys[key]) + 3)
			}
		}
		for _, a := range asks() {
			if got, want := answer(other, a), answer(h, a); got.Holds != want.Holds || (got.Broken == nil) != (want.Broken == nil) {
				t.Fatalf("%+v: %+v, with other numbers %+v\n%s", a, want, got, h)
			}
		}
	})
}
