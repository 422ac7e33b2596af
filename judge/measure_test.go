package judge

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/pprof"
	"testing"
	"time"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history"
	"github.com/jepgo/jepgo/history/format"
	"github.com/jepgo/jepgo/report"
)

// What is measured runs in a process of its own, so that its CPU time and its
// memory are its own: this test binary, started with a task in its environment.
const taskVariable = "JEPGO_BENCH_TASK"

func TestMain(m *testing.M) {
	if text := os.Getenv(taskVariable); text != "" {
		os.Exit(child(text))
	}
	os.Exit(m.Run())
}

// task is something to measure.
type task struct {
	What      string   // a key of tasks
	Paths     []string // of the histories
	Options   Options
	Workers   int           // scan: goroutines that parse, 0 for GOMAXPROCS
	PeerTime  time.Duration // porcupine: time until it is stopped
	PeerBytes int64         // porcupine: memory at which it is stopped
	Profile   string        // file for a CPU profile, "" for none
}

// figures are what was measured. Times are wall and CPU (user and system, of all
// cores) of what the task says.
type figures struct {
	Wall, CPU         time.Duration
	Take, Finish      time.Duration // phases: CPU of the stream's two parts
	FinishWall        time.Duration
	Peak              int64 // bytes, resident set of the process
	Bytes             int64 // scan: size of the text
	Events            int
	Verdict           string
	Anomalies, Reason string
	GaveUp            string // porcupine: why there is no verdict
}

func child(text string) int {
	var t task
	if err := json.Unmarshal([]byte(text), &t); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if t.Profile != "" {
		file, err := os.Create(t.Profile)
		if err == nil {
			err = pprof.StartCPUProfile(file)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer file.Close()
		defer pprof.StopCPUProfile()
	}
	f, err := tasks()[t.What](t)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err := tell(f); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// tell gives the figures to the parent.
func tell(f figures) error {
	f.Peak = peakMemory()
	return json.NewEncoder(os.Stdout).Encode(f)
}

// run does the task in a process of its own.
func run(b testing.TB, t task) figures {
	b.Helper()
	exe, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	text, err := json.Marshal(t)
	if err != nil {
		b.Fatal(err)
	}
	var out, problems bytes.Buffer
	cmd := exec.CommandContext(b.Context(), exe)
	cmd.Env = append(os.Environ(), taskVariable+"="+string(text))
	cmd.Stdout, cmd.Stderr = &out, &problems
	if err := cmd.Run(); err != nil {
		b.Fatalf("%s of %v: %v\n%s", t.What, t.Paths, err, problems.Bytes())
	}
	var f figures
	if err := json.Unmarshal(out.Bytes(), &f); err != nil {
		b.Fatalf("%s of %v: %v\n%s", t.What, t.Paths, err, out.Bytes())
	}
	return f
}

func tasks() map[string]func(task) (figures, error) {
	return map[string]func(task) (figures, error){
		"judge": judgeTask, "phases": phasesTask, "scan": scanTask, "porcupine": porcupineTask,
	}
}

// judgeTask is everything from the files to the judgements.
func judgeTask(t task) (f figures, err error) {
	start, cpu := time.Now(), processCPU()
	err = Files(context.Background(), t.Paths, t.Options, func(Progress) {}, func(_ string, j *report.Judgement, err error) error {
		if err != nil {
			return err
		}
		f.Events += j.Ops
		f.Verdict, f.Reason = j.Verdict.String(), j.Reason()
		f.Anomalies = names(j.Results)
		return nil
	})
	f.Wall, f.CPU = time.Since(start), processCPU()-cpu
	return f, err
}

// names lists the kinds of anomalies, in the order in which they were reported.
func names(results []checker.Result) string {
	var text []byte
	seen := make(map[string]bool)
	for _, r := range results {
		for _, a := range r.Anomalies {
			if !seen[a.Name] {
				seen[a.Name] = true
				text = append(append(text, ' '), a.Name...)
			}
		}
	}
	return string(bytes.TrimSpace(text))
}

// phasesTask is what the checker takes, without reading: the CPU time of taking
// the events, on one thread, and that of the judgement, on all. What of the
// garbage collector runs beside the taking is not in the first, but in CPU, which
// is for everything.
func phasesTask(t task) (f figures, err error) {
	o := t.Options
	hugePages(texts(t.Paths))
	for _, path := range t.Paths {
		in, err := format.Open(path, o.Format)
		if err != nil {
			return f, err
		}
		defer in.Close()
		o.adapt(in.Traits())
		p, err := choose(look(in, o.Keyed), &o, &report.Judgement{})
		if err != nil {
			return f, err
		}
		pass := checker.NewPass(p.streams...)
		if err := f.take(in, pass); err != nil {
			return f, err
		}
		start, cpu := time.Now(), processCPU()
		results, verdict := pass.Finish(context.Background(), in.Source())
		f.FinishWall += time.Since(start)
		f.Finish += processCPU() - cpu
		f.Verdict, f.Anomalies = verdict.String(), names(results)
	}
	return f, nil
}

// take gives all events of in to the pass, some thousands at a time, and adds up
// the CPU time of only that.
func (f *figures) take(in *format.File, pass *checker.Pass) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var kept [4096]history.Event
	var tape history.Tape
	n := 0
	give := func() {
		cpu := threadCPU()
		for i := range kept[:n] {
			pass.Take(&kept[i])
		}
		f.Take += threadCPU() - cpu
		f.Events += n
		n = 0
		tape.Reset()
	}
	err := in.Each(context.Background(), func(e *history.Event) error {
		kept[n] = *e
		kept[n].Value = e.Value.CopyTo(&tape)
		if n++; n == len(kept) {
			give()
		}
		return nil
	})
	give()
	return err
}

// scanTask reads a history as EDN and does nothing with it.
func scanTask(t task) (f figures, err error) {
	for _, path := range t.Paths {
		info, err := os.Stat(path)
		if err != nil {
			return f, err
		}
		f.Bytes += info.Size()
		start, cpu := time.Now(), processCPU()
		s, err := history.OpenScan(path, history.ScanOptions{Workers: t.Workers})
		if err != nil {
			return f, err
		}
		defer s.Close()
		if err := s.Each(context.Background(), func(*history.Event) error { return nil }); err != nil {
			return f, err
		}
		f.Wall += time.Since(start)
		f.CPU += processCPU() - cpu
		f.Events += s.Count()
	}
	return f, nil
}
