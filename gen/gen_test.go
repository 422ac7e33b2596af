package gen

import (
	"bytes"
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/jepgo/jepgo/history"
)

func generate(t testing.TB, o Options) (*history.History, string) {
	t.Helper()
	var text bytes.Buffer
	if err := Write(t.Context(), &text, o); err != nil {
		t.Fatal(err)
	}
	h, err := history.ReadAll(bytes.NewReader(text.Bytes()), history.EDN())
	if err != nil {
		t.Fatalf("%+v: %v", o, err)
	}
	return h, text.String()
}

// Every workload gives well-formed histories: as many invocations as asked for,
// every completion of an open one, the shares of outcomes that were asked for,
// and the same bytes for the same seed.
func TestEveryWorkload(t *testing.T) {
	for _, name := range Workloads() {
		for _, o := range []Options{
			{Workload: name, Ops: 2000, Clients: 7},
			{Workload: name, Ops: 2000, Clients: 3, Keys: 4, Crash: 0.1, Fail: 0.1, Plant: Anomalies(name)},
		} {
			h, text := generate(t, o)
			if _, again := generate(t, o); again != text {
				t.Errorf("%s: the same options gave other bytes", name)
			}
			o.Seed++
			if _, other := generate(t, o); other == text {
				t.Errorf("%s: another seed gave the same bytes", name)
			}
			invoked, crashed, failed := 0, 0, 0
			for _, p := range h.Pairs() {
				if p.Invoke < 0 {
					t.Fatalf("%s: op %d completes what was not invoked", name, p.Complete)
				}
				if p.Complete < 0 {
					t.Fatalf("%s: op %d does not complete", name, p.Invoke)
				}
				if n, _ := h.Ops[p.Invoke].Process.Client(); n >= 1_000_000_000 {
					continue // planted
				}
				invoked++
				switch h.Ops[p.Complete].Type {
				case history.Info:
					crashed++
				case history.Fail:
					failed++
				}
			}
			last := invoked - o.Ops // of those that look at the end
			if last < 0 || last > 0 && name != "queue" && name != "set" && name != "chain" {
				t.Errorf("%s: %d invocations, want %d", name, invoked, o.Ops)
			}
			if o.Crash > 0 && name != "chain" && (crashed < 100 || crashed > 300 || failed < 100) {
				t.Errorf("%s: %d in doubt, %d failed of %d", name, crashed, failed, invoked)
			}
			if o.Crash == 0 && crashed > 0 {
				t.Errorf("%s: %d in doubt though nothing crashes", name, crashed)
			}
		}
	}
}

// A weaker level shows what a stronger one does not: read-uncommitted lets a
// transaction see one list in two states.
func TestIsolationsDiffer(t *testing.T) {
	seen := make(map[string]string)
	for _, level := range Isolations() {
		_, text := generate(t, Options{Isolation: level, Ops: 500, Seed: 3})
		for other, was := range seen {
			if was == text {
				t.Errorf("%s is like %s", level, other)
			}
		}
		seen[level] = text
	}
}

// What is planted is there, with keys of its own.
func TestPlanted(t *testing.T) {
	for _, name := range []string{"append", "rw"} {
		for _, anomaly := range Anomalies(name) {
			_, text := generate(t, Options{Workload: name, Ops: 100, Plant: []string{anomaly}})
			if n := strings.Count(text, ":process 1000000000"); n < 2 {
				t.Errorf("%s %s: %d planted ops", name, anomaly, n)
			}
			if placeholder.MatchString(text) {
				t.Errorf("%s %s: keys were left out", name, anomaly)
			}
		}
	}
}

var placeholder = regexp.MustCompile(`[ \[][xyz][ \]]`)

func TestUnread(t *testing.T) {
	const value = "[[:append x 1] [:r x [1 2]] [:r y nil] [:r z []]]"
	if got, want := unread(value), "[[:append x 1] [:r x nil] [:r y nil] [:r z nil]]"; got != want {
		t.Errorf("unread is %s, want %s", got, want)
	}
}

func TestCheckNamesWhatIsWrong(t *testing.T) {
	for want, o := range map[string]Options{
		`workload "dance"`:    {Workload: "dance"},
		`isolation "none"`:    {Isolation: "none"},
		`anomaly "G9"`:        {Plant: []string{"G9"}},
		"clients -1":          {Clients: -1},
		"longest 2 is below":  {Shortest: 3, Longest: 2},
		"shares of reads 0.5": {Crash: 0.6, Fail: 0.6},
		"values -1":           {Values: -1},
	} {
		err := Write(t.Context(), &bytes.Buffer{}, o)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: error %v, want %q", o, err, want)
		}
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space") }

func TestWriteFails(t *testing.T) {
	if err := Write(t.Context(), full{}, Options{Ops: 100_000}); err == nil {
		t.Error("a full disk went unnoticed")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Write(ctx, &bytes.Buffer{}, Options{Ops: 100_000}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want canceled", err)
	}
}
