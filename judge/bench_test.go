package judge

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jepgo/jepgo/gen"
	"github.com/jepgo/jepgo/history/historytest"
)

// Limits of Porcupine, so that a run ends.
const (
	peerTime  = time.Minute
	peerBytes = 6 << 30
)

// patience is the length of a measurement that is not repeated.
const patience = 4 * time.Second

// load is a history to measure.
type load struct {
	name  string // of the row
	gen   gen.Options
	o     Options
	large bool
	peer  bool // Porcupine knows the model
}

// write generates the history, compressed by nothing, in a file.
func (l load) write(b *testing.B) (path string) {
	b.Helper()
	path = filepath.Join(b.TempDir(), "history.edn")
	file, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	defer file.Close()
	if err := gen.Write(b.Context(), file, l.gen); err != nil {
		b.Fatal(err)
	}
	return path
}

// measure is a sub-benchmark that runs the task as often as the benchmark's time
// says and keeps the run that took the least CPU time.
func measure(b *testing.B, name string, ops int, t task) (best figures, ok bool) {
	b.Run(name, func(b *testing.B) {
		if *profile != "" {
			t.Profile = filepath.Join(*profile, strings.ReplaceAll(b.Name(), "/", "_")+".pprof")
		}
		best, ok = figures{}, true
		for b.Loop() {
			if best.Wall > patience || best.GaveUp != "" {
				continue
			}
			f := run(b, t)
			if best.Verdict == "" || f.CPU+f.Take+f.Finish < best.CPU+best.Take+best.Finish {
				best = f
			}
		}
		b.ReportMetric(0, "ns/op") // of starting processes
		if t.What == "phases" {
			b.ReportMetric((best.Take + best.Finish).Seconds(), "cpu-s")
			b.ReportMetric(float64(ops)/(best.Take+best.Finish).Seconds(), "ops/s")
			return
		}
		b.ReportMetric(best.Wall.Seconds(), "s")
		b.ReportMetric(best.CPU.Seconds(), "cpu-s")
		b.ReportMetric(float64(ops)/best.Wall.Seconds(), "ops/s")
		b.ReportMetric(float64(best.Peak)/1e6, "peak-MB")
		if best.GaveUp != "" {
			b.Logf("%s", best.GaveUp)
		}
	})
	return best, ok
}

// idlePeak is the memory of judging nothing much: what is there before there is a
// history.
func idlePeak(b *testing.B) int64 {
	b.Helper()
	path := load{gen: gen.Options{Workload: "register", Ops: 1}}.write(b)
	return run(b, task{What: "judge", Paths: []string{path}}).Peak
}

// judgements measures each load: from the file to the verdict, the checker alone,
// and Porcupine.
func judgements(b *testing.B, name string, loads []load) {
	t := &table{name: name, header: []string{"history", "verdict", "end to end: s, CPU s", "ops/s", "peak MB", "B/op", "check alone: CPU s (take + search)", "ops/s"}}
	peers := slices.ContainsFunc(loads, func(l load) bool { return l.peer })
	if peers {
		t.header = append(t.header, "Porcupine, check alone: s, CPU s", "peak MB", "its CPU s / ours")
	}
	idle := idlePeak(b)
	gaveUp := make(map[string]bool)      // kinds of load, without their size
	shorter := make(map[string]measured) // by kind
	for _, l := range loads {
		if l.large && !*large {
			continue
		}
		l.name += ", " + size(l.gen.Ops)
		b.Run(strings.ReplaceAll(l.name, " ", "-"), func(b *testing.B) {
			l.gen.Seed = 1
			path := l.write(b)
			l.name += crashed(b, l, path)
			ops := l.gen.Ops
			all, ran := measure(b, "jepgo", ops, task{What: "judge", Paths: []string{path}, Options: l.o})
			alone, _ := measure(b, "check", ops, task{What: "phases", Paths: []string{path}, Options: l.o})
			cells := []string{
				l.name, said(all), seconds(all.Wall) + ", " + seconds(all.CPU), count(float64(ops) / all.Wall.Seconds()),
				megabytes(all.Peak), count(float64(all.Peak-idle) / float64(ops)),
				fmt.Sprintf("%s (%s + %s)", seconds(alone.Take+alone.Finish), seconds(alone.Take), seconds(alone.Finish)),
				count(float64(ops) / (alone.Take + alone.Finish).Seconds()),
			}
			if peers {
				cells = append(cells, l.porcupine(b, path, alone, gaveUp)...)
			}
			if !ran {
				return
			}
			t.add(cells...)
			now := measured{ops, all, alone}
			if before, ok := shorter[l.kind()]; ok && ops == 10_000_000 {
				t.add(now.extrapolated(before, 100_000_000)...)
			}
			shorter[l.kind()] = now
		})
	}
	t.publish(b)
}

// measured is what was measured of a load.
type measured struct {
	ops        int
	all, alone figures
}

// extrapolated is a row for more operations, on the line through two loads.
func (m measured) extrapolated(before measured, ops int) []string {
	line := func(a, b float64) float64 {
		slope := (b - a) / float64(m.ops-before.ops)
		return b + slope*float64(ops-m.ops)
	}
	wall := line(before.all.Wall.Seconds(), m.all.Wall.Seconds())
	cpu := line(before.all.CPU.Seconds(), m.all.CPU.Seconds())
	peak := line(float64(before.all.Peak), float64(m.all.Peak))
	return []string{fmt.Sprintf("*%s, not run: on the line through the two above*", size(ops)), "–", fmt.Sprintf("%.0f, %.0f", wall, cpu),
		count(float64(ops) / wall), megabytes(int64(peak)), count(peak / float64(ops)), "–", "–"}
}

// kind is what the load is, whatever its size.
func (l load) kind() string {
	l.gen.Ops = 0
	return fmt.Sprint(l.gen, l.o)
}

// crashed says how many operations of the history are in doubt.
func crashed(b *testing.B, l load, path string) string {
	if l.gen.Crash == 0 {
		return ""
	}
	text, err := os.ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	return fmt.Sprintf(", %d crashed", bytes.Count(text, []byte(":type :info")))
}

// said is the verdict and what was found.
func said(f figures) string { return strings.TrimSpace(f.Verdict + " " + f.Anomalies) }

// porcupine measures the peer on the same file, unless it gave up on a shorter
// history of that kind.
func (l load) porcupine(b *testing.B, path string, ours figures, gaveUp map[string]bool) []string {
	switch {
	case !l.peer:
		return []string{"–", "–", "–"}
	case gaveUp[l.kind()]:
		return []string{"not tried: gave up on fewer ops", "–", "–"}
	}
	f, ran := measure(b, "porcupine", l.gen.Ops, task{What: "porcupine", Paths: []string{path}, Options: l.o, PeerTime: peerTime, PeerBytes: peerBytes})
	if !ran {
		return []string{"–", "–", "–"}
	}
	ratio := fmt.Sprintf("%.3g", f.CPU.Seconds()/(ours.Take+ours.Finish).Seconds())
	if f.GaveUp != "" {
		gaveUp[l.kind()] = true
		return []string{f.GaveUp, megabytes(f.Peak), "> " + ratio}
	}
	if ours.Verdict != "" && f.Verdict != ours.Verdict {
		b.Errorf("Porcupine says %s, we say %s", f.Verdict, ours.Verdict)
	}
	return []string{seconds(f.Wall) + ", " + seconds(f.CPU), megabytes(f.Peak), ratio}
}

func BenchmarkUniqueRegister(b *testing.B) {
	var loads []load
	for _, ops := range []int{10_000, 100_000, 1_000_000, 10_000_000} {
		loads = append(loads, load{name: "c=20", gen: gen.Options{Workload: "register", Ops: ops, Clients: 20}, large: ops > 100_000, peer: true})
	}
	for _, clients := range []int{5, 100} {
		loads = append(loads, load{name: fmt.Sprintf("c=%d", clients), gen: gen.Options{Workload: "register", Ops: 1_000_000, Clients: clients}, large: true})
	}
	loads = append(loads, load{name: "c=20, one stale read", gen: gen.Options{Workload: "register", Ops: 1_000_000, Clients: 20, Plant: []string{"stale-read"}}, large: true})
	judgements(b, "unique-register", loads)
}

func BenchmarkCAS(b *testing.B) {
	var loads []load
	for _, clients := range []int{5, 10, 20, 40} {
		for _, ops := range []int{10_000, 100_000} {
			for _, stale := range []bool{false, true} {
				l := load{name: fmt.Sprintf("c=%d", clients), gen: gen.Options{Workload: "cas-register", Ops: ops, Clients: clients, Values: 5}, peer: true, large: ops > 10_000 || clients > 10}
				if stale {
					l.name += ", one stale read"
					l.gen.Plant = []string{"stale-read"}
				}
				loads = append(loads, l)
			}
		}
	}
	judgements(b, "cas", loads)
}

func BenchmarkCrashed(b *testing.B) {
	var loads []load
	for _, crash := range []float64{0.0032, 0.01} {
		for _, stale := range []bool{false, true} {
			l := load{name: fmt.Sprintf("c=10, %g %% crash", 100*crash), gen: gen.Options{Workload: "cas-register", Ops: 10_000, Clients: 10, Values: 5, Crash: crash}, peer: true, large: true}
			if stale {
				l.name += ", one stale read"
				l.gen.Plant = []string{"stale-read"}
			}
			loads = append(loads, l)
		}
	}
	judgements(b, "crashed", loads)
}

// BenchmarkKeyed is for time, and for memory as a history grows.
func BenchmarkKeyed(b *testing.B) {
	keyed := Options{Keyed: true}
	cas := func(ops, keys, clients int, big, peer bool) load {
		return load{name: fmt.Sprintf("cas, 5 values, %d keys, c=%d", keys, clients),
			gen: gen.Options{Workload: "cas-register", Ops: ops, Keys: keys, Clients: clients, Values: 5}, o: keyed, large: big, peer: peer}
	}
	loads := []load{cas(100_000, 100, 50, false, true), cas(1_000_000, 100, 50, true, true)}
	for _, ops := range []int{1_000_000, 3_000_000, 10_000_000} {
		loads = append(loads, cas(ops, 1000, 50, true, false))
	}
	for _, ops := range []int{1_000_000, 3_000_000, 10_000_000} {
		loads = append(loads, load{name: "unique writes, 1000 keys, c=50", gen: gen.Options{Workload: "register", Ops: ops, Keys: 1000, Clients: 50}, o: keyed, large: true})
	}
	judgements(b, "keyed", loads)
}

func BenchmarkAppend(b *testing.B) {
	var loads []load
	for _, ops := range []int{10_000, 100_000, 1_000_000} {
		loads = append(loads, load{name: "strict-serializable store, c=20", gen: gen.Options{Workload: "append", Ops: ops, Clients: 20}, large: ops > 100_000})
	}
	all := gen.Anomalies("append")
	for _, l := range []load{
		{name: "the same with every anomaly planted", gen: gen.Options{Workload: "append", Ops: 1_000_000, Plant: all}},
		{name: "serializable store", gen: gen.Options{Workload: "append", Ops: 1_000_000, Isolation: "serializable"}},
		{name: "snapshot-isolation store", gen: gen.Options{Workload: "append", Ops: 100_000, Isolation: "snapshot-isolation"}},
		{name: "read-committed store", gen: gen.Options{Workload: "append", Ops: 100_000, Isolation: "read-committed"}},
		{name: "read-uncommitted store", gen: gen.Options{Workload: "append", Ops: 100_000, Isolation: "read-uncommitted"}},
	} {
		l.gen.Clients, l.large = 20, true
		loads = append(loads, l)
	}
	judgements(b, "append", loads)
}

func BenchmarkRW(b *testing.B) {
	var loads []load
	for _, level := range []string{"read-committed", "read-atomic", "causal"} {
		for _, ops := range []int{100_000, 1_000_000} {
			loads = append(loads, load{name: level + ", c=20", gen: gen.Options{Workload: "rw", Ops: ops, Clients: 20}, o: Options{Consistency: []string{level}}, large: ops > 100_000})
		}
	}
	for _, l := range []load{
		{name: "causal, 8 micro-ops a txn, c=50", gen: gen.Options{Workload: "rw", Ops: 1_000_000, Clients: 50, Shortest: 8, Longest: 8}, o: Options{Consistency: []string{"causal"}}},
		{name: "strict-serializable (the default), c=20", gen: gen.Options{Workload: "rw", Ops: 1_000_000, Clients: 20}},
	} {
		l.large = true
		loads = append(loads, l)
	}
	judgements(b, "rw", loads)
}

// BenchmarkScan reads files and does nothing with what they hold.
func BenchmarkScan(b *testing.B) {
	t := &table{name: "scan", header: []string{"text", "MB", "1 worker: MB/s, MB/CPU s", "2 workers: MB/s, MB/CPU s", "events/s, 2 workers", "speedup"}}
	ops := 100_000
	if *large {
		ops = 1_000_000
	}
	register := load{gen: gen.Options{Workload: "register", Ops: ops, Keys: 10, Clients: 20}}
	lists := load{gen: gen.Options{Workload: "append", Ops: ops, Clients: 20}}
	for _, c := range []struct {
		name string
		load load
		from string // in each line
		to   string
	}{
		{"list-append", lists, "", ""},
		{"registers", register, "", ""},
		{"list-append, as records #jepsen.history.Op{…}", lists, "{:index", "#jepsen.history.Op{:index"},
		{"list-append, each op with a double", lists, "{:index", "{:latency 1.5, :index"},
	} {
		b.Run(c.name, func(b *testing.B) {
			path := c.load.write(b)
			if c.from != "" {
				replace(b, path, c.from, c.to)
			}
			one, _ := measure(b, "workers=1", 2*ops, task{What: "scan", Paths: []string{path}, Workers: 1})
			two, ran := measure(b, "workers=2", 2*ops, task{What: "scan", Paths: []string{path}, Workers: 2})
			speed := func(f figures) string {
				mb := float64(f.Bytes) / 1e6
				return fmt.Sprintf("%.0f, %.0f", mb/f.Wall.Seconds(), mb/f.CPU.Seconds())
			}
			if ran {
				t.add(c.name, megabytes(two.Bytes), speed(one), speed(two), count(float64(two.Events)/two.Wall.Seconds()), fmt.Sprintf("%.2f", one.Wall.Seconds()/two.Wall.Seconds()))
			}
		})
	}
	t.publish(b)
}

// replace puts text into every line of a file.
func replace(b *testing.B, path, from, to string) {
	b.Helper()
	in, err := os.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer in.Close()
	out, err := os.Create(path + ".new")
	if err != nil {
		b.Fatal(err)
	}
	defer out.Close()
	w := bufio.NewWriter(out)
	for r := bufio.NewReader(in); ; {
		line, err := r.ReadString('\n')
		if _, err := w.WriteString(strings.Replace(line, from, to, 1)); err != nil {
			b.Fatal(err)
		}
		if err == io.EOF {
			break
		} else if err != nil {
			b.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		b.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkEtcdLogs judges the logs of etcd that Porcupine has for tests.
func BenchmarkEtcdLogs(b *testing.B) {
	var paths []string
	for _, row := range historytest.Rows(b) {
		if row.Format == "porcupine-etcd-log" && row.Expected != "-" && !slices.Contains(paths, row.Path) {
			paths = append(paths, row.Path)
		}
	}
	if len(paths) == 0 {
		b.Skip("SKIPPED: the corpus holds no log of etcd")
	}
	all, _ := measure(b, "jepgo", len(paths), task{What: "judge", Paths: paths})
	alone, ran := measure(b, "check", len(paths), task{What: "phases", Paths: paths})
	peer, _ := measure(b, "porcupine", len(paths), task{What: "porcupine", Paths: paths, PeerTime: peerTime, PeerBytes: peerBytes})
	if !ran {
		return
	}
	t := &table{name: "etcd", header: []string{"files", "jepgo, end to end: s, CPU s", "peak MB", "check alone: CPU s", "Porcupine, check alone: s, CPU s", "peak MB"}}
	t.add(fmt.Sprint(len(paths)), seconds(all.Wall)+", "+seconds(all.CPU), megabytes(all.Peak), seconds(alone.Take+alone.Finish),
		seconds(peer.Wall)+", "+seconds(peer.CPU), megabytes(peer.Peak))
	t.publish(b)
}

// BenchmarkStart is how long the small binary takes for a small history, from
// exec to exit.
func BenchmarkStart(b *testing.B) {
	binary := filepath.Join(b.TempDir(), "jepgo-check")
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", binary, "../cmd/jepgo-check")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("go build: %v\n%s", err, out)
	}
	info, err := os.Stat(binary)
	if err != nil {
		b.Fatal(err)
	}
	t := &table{name: "start", header: []string{"history of 1k ops", "ms, median", "fastest", "CPU ms, median", "least", "binary, MB"}}
	for _, l := range []load{
		{name: "register", gen: gen.Options{Workload: "register", Ops: 1000}},
		{name: "cas-register", gen: gen.Options{Workload: "cas-register", Ops: 1000, Values: 5}},
		{name: "append", gen: gen.Options{Workload: "append", Ops: 1000}},
		{name: "append, snapshot-isolation store (invalid)", gen: gen.Options{Workload: "append", Ops: 1000, Isolation: "snapshot-isolation"}},
	} {
		path := l.write(b)
		var wall, cpu []time.Duration
		b.Run(l.name, func(b *testing.B) {
			for b.Loop() {
				for range 20 {
					cmd := exec.CommandContext(b.Context(), binary, path)
					start := time.Now()
					_ = cmd.Run() // invalid is an exit code
					wall = append(wall, time.Since(start))
					cpu = append(cpu, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
					if code := cmd.ProcessState.ExitCode(); code < 0 || code > 2 {
						b.Fatalf("%s: exit code %d", l.name, code)
					}
				}
			}
		})
		if len(wall) == 0 {
			continue
		}
		slices.Sort(wall)
		slices.Sort(cpu)
		ms := func(d time.Duration) string { return fmt.Sprintf("%.1f", d.Seconds()*1000) }
		t.add(l.name, ms(wall[len(wall)/2]), ms(wall[0]), ms(cpu[len(cpu)/2]), ms(cpu[0]), fmt.Sprintf("%.1f", float64(info.Size())/1e6))
	}
	t.publish(b)
}
