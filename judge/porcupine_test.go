package judge

import (
	"context"
	"fmt"
	"math"
	"os"
	"runtime/debug"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/jepgo/jepgo/history"
	"github.com/jepgo/jepgo/history/format"
)

// call is an operation on registers as a user of Porcupine would write it down.
type call struct {
	key  int64
	kind callKind
	a, b int64 // what is written or read; a cas: from, to
}

type callKind uint8

const (
	readCall callKind = iota
	writeCall
	casCall
	casMissCall // a cas that found something else than a
	casMayCall  // a cas in doubt: every operation has to come somewhere, so it may also do nothing
)

// absent is the value of a register that was never written.
const absent = math.MinInt64

func registerModel() porcupine.Model {
	return porcupine.Model{
		Partition: func(all []porcupine.Operation) [][]porcupine.Operation {
			at := make(map[int64]int)
			var parts [][]porcupine.Operation
			for _, o := range all {
				key := o.Input.(call).key
				i, ok := at[key]
				if !ok {
					i = len(parts)
					at[key] = i
					parts = append(parts, nil)
				}
				parts[i] = append(parts[i], o)
			}
			return parts
		},
		Init: func() any { return int64(absent) },
		Step: func(state, input, _ any) (bool, any) {
			now, c := state.(int64), input.(call)
			switch c.kind {
			case readCall:
				return now == c.a, now
			case writeCall:
				return true, c.a
			case casMissCall:
				return now != c.a, now
			case casMayCall:
				if now == c.a {
					return true, c.b
				}
				return true, now
			}
			return now == c.a, c.b
		},
	}
}

// porcupineTask asks Porcupine about histories of registers. Reading them is ours,
// and is not counted.
func porcupineTask(t task) (f figures, err error) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(t.PeerBytes)) // makes its garbage collector try harder
	for _, path := range t.Paths {
		ops, err := calls(path, t.Options)
		if err != nil {
			return f, err
		}
		start, cpu := time.Now(), processCPU()
		done := make(chan struct{})
		go giveUp(t, f, start, done)
		verdict := porcupine.CheckOperationsTimeout(registerModel(), ops, t.PeerTime)
		close(done)
		f.Wall += time.Since(start)
		f.CPU += processCPU() - cpu
		f.Events += 2 * len(ops)
		f.Verdict = map[porcupine.CheckResult]string{porcupine.Ok: "valid", porcupine.Illegal: "invalid"}[verdict]
		if verdict == porcupine.Unknown {
			f.GaveUp = fmt.Sprintf("gave up after %v", t.PeerTime)
		}
	}
	return f, nil
}

// giveUp ends the process when it takes more memory than the task allows.
func giveUp(t task, f figures, start time.Time, done chan struct{}) {
	cpu := processCPU()
	tick := time.NewTicker(memoryPeriod)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return
		case <-tick.C:
		}
		if used() > int64(t.PeerBytes) {
			f.Wall, f.CPU = time.Since(start), processCPU()-cpu
			f.GaveUp = fmt.Sprintf("gave up at %d GiB after %.0f s", t.PeerBytes>>30, f.Wall.Seconds())
			if err := tell(f); err != nil {
				os.Exit(1)
			}
			os.Exit(0)
		}
	}
}

// calls reads the operations of a history of registers with integers: those that
// failed did not happen, reads in doubt say nothing, and what else is in doubt
// never returns.
func calls(path string, o Options) ([]porcupine.Operation, error) {
	in, err := format.Open(path, o.Format)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	var ops []porcupine.Operation
	open := make(map[int64]int) // by process
	err = in.Each(context.Background(), func(e *history.Event) error {
		process, ok := e.Process.Client()
		if !ok {
			return nil
		}
		if e.Type == history.Invoke {
			open[process] = len(ops)
			ops = append(ops, porcupine.Operation{ClientId: int(process), Input: callOf(e, o.Keyed), Call: int64(e.Position), Return: math.MaxInt64})
			return nil
		}
		at := open[process]
		delete(open, process)
		switch {
		case e.Type == history.Fail:
			ops[at].Input = nil
		case e.Type == history.OK:
			ops[at].Input, ops[at].Return = callOf(e, o.Keyed), int64(e.Position)
		}
		return nil
	})
	kept := ops[:0]
	for _, op := range ops {
		c, happened := op.Input.(call)
		doubt := op.Return == math.MaxInt64
		if !happened || doubt && c.kind == readCall {
			continue
		}
		if doubt && c.kind == casCall {
			c.kind = casMayCall
			op.Input = c
		}
		kept = append(kept, op)
	}
	return kept, err
}

func callOf(e *history.Event, keyed bool) call {
	v := e.Value
	var c call
	if keyed {
		key, inner, _ := v.Pair()
		c.key, _ = key.Int()
		v = inner
	}
	number := func(v history.View) int64 {
		if n, ok := v.Int(); ok {
			return n
		}
		return absent
	}
	switch e.F {
	case "read":
		c.a = number(v)
	case "write":
		c.kind, c.a = writeCall, number(v)
	case "cas", "cas-miss":
		from, to, _ := v.Pair()
		c.kind, c.a, c.b = casCall, number(from), number(to)
		if e.F == "cas-miss" {
			c.kind = casMissCall
		}
	}
	return c
}
