// Package gen writes histories of simulated systems: any workload that the
// checkers know, at a chosen isolation level, with crashes, failures and planted
// anomalies. They are for measuring checkers and for testing them, as the right
// verdict is known.
//
// A simulation is a number of clients of which a random one moves at each step:
// it invokes, its operation takes effect, it completes. About two thirds of the
// clients have an operation open at any time. The same Options give the same
// bytes. Memory grows with the keys in use and the values that they hold, not
// with the history.
package gen

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/jepgo/jepgo/usage"
)

// Options say what to write. The zero value of a field is its default.
type Options struct {
	Workload  string   // see Workloads; append by default
	Ops       int      // operations that are invoked, 10,000 by default
	Clients   int      // 10 by default
	Keys      int      // keys in use at a time, 10 by default for transactions and 1 for objects
	Isolation string   // of transactions, see Isolations; strict-serializable by default
	Writes    int      // transactions: writes of a key before another takes its place, 32 by default
	Shortest  int      // transactions: least micro-operations, 1 by default
	Longest   int      // transactions: most micro-operations, 4 by default
	Values    int      // registers: different values that are written; 0 for a new one each time
	Reads     float64  // share of reads, 0.5 by default
	Crash     float64  // share of operations that end in doubt, half of them done
	Fail      float64  // share of operations that fail, and are not done
	Plant     []string // anomalies, see Anomalies
	Reorg     float64  // chain: share of blocks that take back one or two before them
	Seed      uint64
}

// workload is a kind of history.
type workload struct {
	name  string
	doc   string
	begin func(o *Options, r *rand.Rand) system
	// plants are the anomalies that can be planted, by name.
	plants func() []script
	faults []string // anomalies that the system itself plants
}

// system is what clients talk to. Its methods are called for one client at a time.
type system interface {
	// draw chooses the next operation of a and returns its :f.
	draw(a *actor) (f string)
	// step lets the operation take its next effect; done says that it has its result.
	step(a *actor) (done bool)
	// value appends the operation's value as EDN: of the invocation, or with its
	// result.
	value(dst []byte, a *actor, result bool) []byte
	// ended tells that the operation completed.
	ended(a *actor)
}

// finisher is a system that is looked at when all clients are done: last returns
// the :f of another operation of client a, "" when there is nothing more to do.
type finisher interface {
	last(a *actor) (f string)
}

// actor is one client.
type actor struct {
	slot    int
	process int64
	phase   phase
	f       string
	fate    fate
	failed  bool // the system refused: an aborted transaction, a cas that found another value
	op      op
}

type phase uint8

const (
	idle phase = iota
	invoked
	finished
)

// fate is how an operation will end, drawn when it begins.
type fate uint8

const (
	fine fate = iota
	fails
	crashes // done, but nobody is told
	vanishes
)

func workloads() []workload {
	list := append(transactions(), objects()...)
	return append(list, workload{name: "chain", doc: "nodes of one chain: heads, bodies, receipts, logs, calls and final reads", faults: chainFaults})
}

// Workloads lists the workloads.
func Workloads() []string {
	var names []string
	for _, w := range workloads() {
		names = append(names, w.name)
	}
	return names
}

// Describe returns one line about a workload.
func Describe(name string) string {
	for _, w := range workloads() {
		if w.name == name {
			return w.doc
		}
	}
	return ""
}

// Anomalies lists what can be planted in a workload.
func Anomalies(name string) []string {
	var names []string
	for _, w := range workloads() {
		if w.name != name {
			continue
		}
		names = append(names, w.faults...)
		if w.plants != nil {
			for _, s := range w.plants() {
				names = append(names, s.name)
			}
		}
	}
	return names
}

// Check fills in the defaults and returns an error that names the first option
// that cannot be used.
func (o *Options) Check() error {
	if o.Workload == "" {
		o.Workload = "append"
	}
	if !slices.Contains(Workloads(), o.Workload) {
		return fmt.Errorf("workload %q does not exist: %swant one of %s", o.Workload, usage.Meant(o.Workload, Workloads()), strings.Join(Workloads(), ", "))
	}
	if o.Isolation == "" {
		o.Isolation = isolations[0]
	}
	if !slices.Contains(isolations, o.Isolation) {
		return fmt.Errorf("isolation %q does not exist: %swant one of %s", o.Isolation, usage.Meant(o.Isolation, isolations), strings.Join(isolations, ", "))
	}
	for _, name := range o.Plant {
		if known := Anomalies(o.Workload); !slices.Contains(known, name) {
			return fmt.Errorf("anomaly %q cannot be planted in workload %s: %swant one of %s", name, o.Workload, usage.Meant(name, known), strings.Join(known, ", "))
		}
	}
	for _, n := range []struct {
		name   string
		n      *int
		normal int
	}{
		{"ops", &o.Ops, 10_000}, {"clients", &o.Clients, 10}, {"keys", &o.Keys, defaultKeys(o.Workload)}, {"writes", &o.Writes, 32},
		{"shortest", &o.Shortest, 1}, {"longest", &o.Longest, max(4, o.Shortest)},
	} {
		if *n.n < 0 {
			return fmt.Errorf("%s %d: want a number above zero", n.name, *n.n)
		}
		if *n.n == 0 {
			*n.n = n.normal
		}
	}
	if o.Workload != "append" && o.Workload != "rw" && o.Isolation != isolations[0] {
		return fmt.Errorf("isolation %q is for transactions, workload %s has none", o.Isolation, o.Workload)
	}
	if o.Longest < o.Shortest {
		return fmt.Errorf("longest %d is below shortest %d", o.Longest, o.Shortest)
	}
	if o.Reads == 0 {
		o.Reads = 0.5
	}
	if o.Values < 0 {
		return fmt.Errorf("values %d: want a number of zero or more", o.Values)
	}
	if o.Reads < 0 || o.Reads > 1 || o.Crash < 0 || o.Fail < 0 || o.Reorg < 0 || o.Reorg > 1 || o.Crash+o.Fail > 1 {
		return fmt.Errorf("shares of reads %g, crashes %g and failures %g: want each from 0 to 1, and the last two together", o.Reads, o.Crash, o.Fail)
	}
	return nil
}

func defaultKeys(name string) int {
	for _, w := range transactions() {
		if w.name == name {
			return 10
		}
	}
	return 1
}

// Write writes the history as EDN, one op a line.
func Write(ctx context.Context, w io.Writer, o Options) error {
	if err := o.Check(); err != nil {
		return err
	}
	r := rand.New(rand.NewPCG(o.Seed, 0x6a65706f))
	i := slices.IndexFunc(workloads(), func(w workload) bool { return w.name == o.Workload })
	kind := workloads()[i]
	out := &journal{w: bufio.NewWriterSize(w, 1<<20)}
	if kind.begin == nil {
		if err := writeChain(ctx, &o, r, out); err != nil {
			return err
		}
		return out.w.Flush()
	}
	run := &simulation{o: &o, r: r, out: out, system: kind.begin(&o, r)}
	if kind.plants != nil {
		for _, s := range kind.plants() {
			if slices.Contains(o.Plant, s.name) {
				run.plant(s)
			}
		}
	}
	if err := run.run(ctx); err != nil {
		return err
	}
	return out.w.Flush()
}
