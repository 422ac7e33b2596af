package judge

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/gen"
	"github.com/jepgo/jepgo/history"
	"github.com/jepgo/jepgo/history/format"
	"github.com/jepgo/jepgo/history/historytest"
)

// circumstances are what a judgement must not depend on.
type circumstances struct {
	cores   int  // GOMAXPROCS
	workers int  // goroutines that parse; 0 for what format.Open uses
	busy    bool // others want the cores too
}

func manyCircumstances() []circumstances {
	return []circumstances{
		{cores: 1}, {cores: 2}, {cores: 1, busy: true}, {cores: 2, busy: true},
		{cores: 2, workers: 1}, {cores: 1, workers: 2}, {cores: 2, workers: 3, busy: true}, {cores: 4},
	}
}

// judged judges the file under those circumstances.
func (c circumstances) judged(path string, o Options) (string, error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(c.cores))
	if c.busy {
		defer busy(2 * c.cores)()
	}
	if c.workers == 0 {
		j, err := File(context.Background(), path, o)
		if err != nil {
			return "", err
		}
		return saying(j.Verdict, j.Reason(), j.Results), nil
	}
	s, err := history.OpenScan(path, history.ScanOptions{Workers: c.workers})
	if err != nil {
		return "", err
	}
	defer s.Close()
	j, err := judge(context.Background(), scanned{s}, o, func(int, string) {})
	if err != nil {
		return "", err
	}
	return saying(j.Verdict, j.Reason(), j.Results), nil
}

// scanned is a Scan as an input.
type scanned struct{ *history.Scan }

func (s scanned) History() (*history.History, error) {
	h := &history.History{}
	err := s.Each(context.Background(), func(e *history.Event) error {
		h.Ops = append(h.Ops, history.Op{Index: e.Index, Time: e.Time, Type: e.Type, Process: e.Process, F: e.F, Value: e.Value.Value()})
		return nil
	})
	return h, err
}

func (s scanned) Source() history.Source { return s.Scan }

// busy keeps that many goroutines busy until stop.
func busy(n int) (stop func()) {
	var done atomic.Bool
	var wait sync.WaitGroup
	for range n {
		wait.Go(func() {
			for sum := 0; !done.Load(); sum++ {
				_ = make([]byte, 1+sum%4096) // the garbage collector has work too
			}
		})
	}
	return func() {
		done.Store(true)
		wait.Wait()
	}
}

// saying is all that a judgement says.
func saying(verdict checker.Verdict, reason string, results []checker.Result) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s: %s\n", verdict, reason)
	for _, r := range results {
		fmt.Fprintf(&text, "%s %s %d facts: %s\n", r.Checker, r.Verdict, r.Facts, r.Reason)
		for _, a := range r.Anomalies {
			fmt.Fprintf(&text, "  %+v\n", a)
		}
		for _, w := range r.Warnings {
			fmt.Fprintf(&text, "  warning %s\n", w)
		}
		for _, s := range r.Stats {
			fmt.Fprintf(&text, "  %s %s\n", s.Name, s.Value)
		}
	}
	return text.String()
}

// same judges a file under all circumstances and wants one judgement.
func same(t *testing.T, name, path string, o Options, all []circumstances) (verdict string) {
	t.Helper()
	want, wantErr := all[0].judged(path, o)
	for _, c := range all[1:] {
		got, err := c.judged(path, o)
		if got != want || fmt.Sprint(err) != fmt.Sprint(wantErr) {
			t.Errorf("%s, %+v:\n%s%v\nwith %+v:\n%s%v", name, c, got, err, all[0], want, wantErr)
		}
	}
	verdict, _, _ = strings.Cut(want, ":")
	return verdict
}

// question is a history and what to ask about it.
type question struct {
	gen gen.Options
	o   Options
}

// questions are histories of every workload and of every isolation level, healthy
// and with everything planted that can be.
func questions(ops int) []question {
	var all []question
	add := func(g gen.Options, o Options) {
		g.Ops, g.Clients, g.Seed = ops, 12, uint64(len(all))
		all = append(all, question{g, o})
		g.Plant, g.Crash, g.Fail = gen.Anomalies(g.Workload), 0.003, 0.02
		all = append(all, question{g, o})
	}
	for _, name := range gen.Workloads() {
		switch name {
		case "append", "rw":
			for _, level := range gen.Isolations() {
				add(gen.Options{Workload: name, Isolation: level}, Options{})
			}
			for _, level := range []string{"causal", "read-committed", "snapshot-isolation", "serializable"} {
				add(gen.Options{Workload: name, Isolation: "read-committed"}, Options{Consistency: []string{level}})
			}
		case "register", "cas-register":
			add(gen.Options{Workload: name}, Options{})
			add(gen.Options{Workload: name, Values: 5}, Options{})
			add(gen.Options{Workload: name, Keys: 20, Values: 5}, Options{Keyed: true})
		case "queue":
			for _, model := range []string{"queue", "total-queue", "fifo-queue"} {
				add(gen.Options{Workload: name}, Options{Model: model})
			}
		case "counter":
			add(gen.Options{Workload: name}, Options{})
			add(gen.Options{Workload: name}, Options{Model: "linearizable-counter", Initial: "0"})
		default:
			add(gen.Options{Workload: name}, Options{})
		}
	}
	return all
}

// The same file gives the same verdict, reason, anomalies and witnesses on one
// core and on several, however it is parsed, whether others work or not.
func TestSameJudgementAnywhere(t *testing.T) {
	ops := 300
	if *large {
		ops = 20_000
	}
	verdicts := make(map[string]int)
	for i, q := range questions(ops) {
		path := filepath.Join(t.TempDir(), "history.edn")
		file, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		if err := gen.Write(t.Context(), file, q.gen); err != nil {
			t.Fatal(err)
		}
		// As the command has it: limits of memory are counted by the checkers.
		q.o.Memory = 4 << 30
		all := manyCircumstances()
		if !*large {
			all = []circumstances{all[0], all[1+i%(len(all)-1)]} // by turns
		}
		verdicts[same(t, fmt.Sprintf("%+v %+v", q.gen, q.o), path, q.o, all)]++
	}
	t.Logf("%v", verdicts)
	if verdicts["valid"] == 0 || verdicts["invalid"] == 0 {
		t.Errorf("only one kind of verdict: %v", verdicts)
	}
}

// The same for real histories: a sample of the corpus, or with -large all of it.
func TestSameJudgementOfCorpus(t *testing.T) {
	var rows []historytest.Row
	for _, row := range historytest.Rows(t) {
		if row.Expected != "-" {
			rows = append(rows, row)
		}
	}
	verdicts := make(map[string]int)
	for i := 0; i < len(rows); i++ {
		if !*large && i%41 != 0 {
			continue
		}
		row := rows[i]
		if info, err := os.Stat(row.Path); !*large && err == nil && info.Size() > 1<<20 {
			continue
		}
		o, err := optionsOf(t, row)
		if err != nil {
			t.Fatal(err)
		}
		all := slices.DeleteFunc(manyCircumstances(), func(c circumstances) bool { return c.workers > 0 && !isEDN(row.Path) })
		if !*large {
			all = []circumstances{all[0], all[1+i%(len(all)-1)]}
		}
		verdicts[same(t, row.Name+" "+row.Options, row.Path, o, all)]++
	}
	t.Logf("%v", verdicts)
}

func isEDN(path string) bool {
	f, err := format.Open(path, "")
	if err != nil {
		return false
	}
	defer f.Close()
	return f.Format() == "edn"
}

// What is allocated, and so the work, grows with a history as it gets longer, not
// faster: no time is measured. Buffers that every judgement needs do not count, as
// what is compared is how much more a longer history takes.
func TestGrowthIsLinear(t *testing.T) {
	const shortest, times = 1500, 4
	for _, q := range questions(0) {
		switch {
		case len(q.gen.Plant) > 0, q.gen.Workload == "set":
			continue // what is found is as long as it is; reads of all of a set are quadratic
		case q.gen.Workload == "append" || q.gen.Workload == "rw":
			if q.gen.Isolation != "strict-serializable" && q.gen.Isolation != "serializable" {
				continue
			}
		}
		var took [3]float64
		ops := shortest
		for i := range took {
			q.gen.Ops = ops
			path := filepath.Join(t.TempDir(), "history.edn")
			file, err := os.Create(path)
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			if err := gen.Write(t.Context(), file, q.gen); err != nil {
				t.Fatal(err)
			}
			took[i] = allocated(t, path, q.o)
			ops *= times
		}
		more := [2]float64{took[1] - took[0], took[2] - took[1]}
		perOp := [2]float64{more[0] / (shortest * (times - 1)), more[1] / (shortest * times * (times - 1))}
		t.Logf("%-13s %-20s %v %s: %.0f, then %.0f bytes an op", q.gen.Workload, q.gen.Isolation, q.o.Consistency, q.o.Model, perOp[0], perOp[1])
		if perOp[1] > 1.5*perOp[0]+100 {
			t.Errorf("%+v %+v: each op more allocates %.0f bytes, up to %d ops, and from there on %.0f", q.gen, q.o, perOp[0], shortest*times, perOp[1])
		}
	}
}

// allocated is how many bytes a judgement allocates, over its time.
func allocated(t *testing.T, path string, o Options) float64 {
	t.Helper()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := File(t.Context(), path, o); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	return float64(after.TotalAlloc - before.TotalAlloc)
}
