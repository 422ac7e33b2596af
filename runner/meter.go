package runner

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/jepgo/jepgo/history"
	"github.com/jepgo/jepgo/nemesis"
)

// meter counts what goes by in the journal, for the person who watches.
type meter struct {
	mu      sync.Mutex
	start   time.Time
	stage   string
	counts  [4]int          // by history.Type - 1
	done    int64           // completions of clients
	doneBy  map[int64]int64 // by the process that the thread began as
	threads int64           // processes at the start; a crashed one goes on so many further
	heads   map[string]int64
	nodes   []string
	inForce string // fault that was started and not stopped yet
}

// noFault is the name of none.
const noFault = "none"

func newMeter() *meter {
	return &meter{start: time.Now(), stage: "setup", heads: map[string]int64{}, inForce: noFault}
}

func (m *meter) phase(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stage = name
}

func (m *meter) see(op *history.Op) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if op.Process == history.Nemesis() {
		m.seeFault(op)
		return
	}
	if !op.Process.IsClient() {
		return
	}
	m.counts[op.Type-1]++
	if op.Type != history.Invoke {
		m.done++
		if n, _ := op.Process.Client(); m.threads > 0 {
			m.doneBy[n%m.threads]++
		}
	}
	if op.F != "head" || op.Type != history.OK {
		return
	}
	if latest, ok := op.Value.Field("latest"); ok {
		if n, ok := latest.Field("n"); ok {
			if height, ok := n.Int(); ok {
				m.heads[op.Node] = height
			}
		}
	}
}

// completed is how many operations the process, and those that took its place,
// have completed; all processes together when it is below 0.
func (m *meter) completed(process int64) int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	if process < 0 {
		return m.done
	}
	return m.doneBy[process]
}

// begin says how many client processes the main phase starts with.
func (m *meter) begin(threads int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.threads, m.done, m.doneBy = int64(threads), 0, make(map[int64]int64)
}

// seeFault follows the starts and stops of faults.
func (m *meter) seeFault(op *history.Op) {
	for _, e := range nemesis.Registry() {
		switch op.F {
		case e.Start:
			m.inForce = e.Name
			if targets, done := op.Value.Field("targets"); done && targets.IsNil() {
				m.inForce = noFault // nobody was there to hit
			}
		case e.Stop:
			if _, done := op.Value.Field("requested"); done {
				m.inForce = noFault
			}
		}
	}
}

// fault is the kind of the fault that is in force, or noFault.
func (m *meter) fault() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.inForce
}

// line is the state of the run in one line.
func (m *meter) line() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	heads := ""
	for _, n := range m.nodes {
		heads += fmt.Sprintf(" %s:%d", n, m.heads[n])
	}
	return fmt.Sprintf("%5.0fs %-7s ok %d fail %d info %d  heads%s  fault %s",
		time.Since(m.start).Seconds(), m.stage, m.counts[history.OK-1], m.counts[history.Fail-1], m.counts[history.Info-1], heads, m.inForce)
}

// show writes the line until ctx ends: redrawn in place on a terminal, else a
// new one every ten seconds.
func (m *meter) show(ctx context.Context, w io.Writer, terminal bool) {
	interval, start, end := 10*time.Second, "", "\n"
	if terminal {
		interval, start, end = 500*time.Millisecond, "\r\x1b[K", ""
	}
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			if terminal {
				fmt.Fprint(w, start)
			}
			return
		case <-tick.C:
			fmt.Fprint(w, start+m.line()+end)
		}
	}
}
