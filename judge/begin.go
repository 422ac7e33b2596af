package judge

import (
	"slices"
	"strings"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/checker/linear"
	"github.com/jepgo/jepgo/checker/object"
	"github.com/jepgo/jepgo/checker/txn"
	"github.com/jepgo/jepgo/usage"
)

func registers(o *Options) (checker.Stream, error) {
	lo, err := o.linear()
	if err != nil {
		return nil, err
	}
	switch {
	case len(o.Consistency) == 0, slices.Equal(o.Consistency, []string{"linearizable"}):
		return linear.RegisterStream(lo), nil
	case slices.Equal(o.Consistency, []string{"sequential"}):
		return linear.SequentialStream(lo), nil
	}
	return nil, usage.Errorf("--consistency-model %s: a register is held to linearizable or sequential; other models are those of transactions", strings.Join(o.Consistency, ","))
}

func mutex(o *Options) (checker.Stream, error) {
	lo, err := o.linear()
	if err != nil {
		return nil, err
	}
	return linear.MutexStream(lo), nil
}

func (o *Options) linear() (linear.Options, error) {
	initial, err := o.initial()
	return linear.Options{
		Keyed: o.Keyed, NilAny: o.Nil != "absent", Initial: initial, Memory: o.Memory,
		// Clients that tried and never succeeded have seen nothing go wrong, as
		// Knossos sees it.
		EmptyValid: true,
	}, err
}

func listAppend(o *Options) (checker.Stream, error) {
	to, err := o.txn()
	if err != nil {
		return nil, err
	}
	return txn.ListAppend(to), nil
}

// txn says what transactions are held to.
func (o *Options) txn() (txn.Options, error) {
	to := txn.Options{
		Models: slices.Clone(o.Consistency), Anomalies: o.Anomalies,
		SequentialKeys: o.Sequential, LinearizableKeys: o.LinearizableKeys, WFRKeys: o.WritesFollow,
		Sessions: o.sessions, InitialTxn: o.initialTxn,
		Memory: o.Memory,
	}
	for i, name := range to.Models {
		// The lattice has causal for single objects, and another name for transactions.
		if name == "causal" {
			to.Models[i] = "causal-cerone"
		}
	}
	if err := to.Check(); err != nil {
		return to, usage.Errorf("%w", err)
	}
	return to, nil
}

func rwRegister(o *Options) (checker.Stream, error) {
	to, err := o.txn()
	if err != nil {
		return nil, err
	}
	if o.VersionOrder != "" {
		if err := to.ReadOrder(o.VersionOrder); err != nil {
			return nil, usage.Errorf("--version-order: %w", err)
		}
	}
	return txn.RWRegister(to), nil
}

// objects begins a model of package object.
func objects(name string) func(o *Options) (checker.Stream, error) {
	return func(o *Options) (checker.Stream, error) {
		initial, err := o.initial()
		if err != nil {
			return nil, err
		}
		all := object.Models()
		m := all[slices.IndexFunc(all, func(m object.Named) bool { return m.Name == name })]
		return m.Begin(object.Options{
			Keyed: o.Keyed, NilAny: o.Nil != "absent", Initial: initial, Memory: o.Memory, EmptyValid: true,
		}), nil
	}
}

// small begins a checker without options of its own, one for each key where there
// are keys.
func small(name string, begin func() checker.Stream) func(o *Options) (checker.Stream, error) {
	return func(o *Options) (checker.Stream, error) { return o.perKey(name, begin), nil }
}

func (o *Options) perKey(name string, begin func() checker.Stream) checker.Stream {
	if o.Keyed {
		return checker.Independent(name, begin)
	}
	return begin()
}

func longFork(o *Options) (checker.Stream, error) {
	return o.perKey("long-fork", func() checker.Stream {
		return checker.LongFork(checker.LongForkOptions{GroupSize: o.GroupSize})
	}), nil
}

func setFull(o *Options) (checker.Stream, error) {
	return o.perKey("set-full", func() checker.Stream {
		return checker.SetFull(checker.SetFullOptions{Linearizable: o.LinearizableSet})
	}), nil
}

func queue(o *Options) (checker.Stream, error) {
	return o.perKey("queue", func() checker.Stream {
		return checker.Queue(checker.QueueOptions{FIFO: o.Queue == "fifo"})
	}), nil
}

func bank(o *Options) (checker.Stream, error) {
	return o.perKey("bank", func() checker.Stream {
		return checker.Bank(checker.BankOptions{NegativeBalances: o.Negative})
	}), nil
}

func counter(o *Options) (checker.Stream, error) {
	initial, err := o.initial()
	if err != nil {
		return nil, err
	}
	n, ok := initial.Int()
	if !ok && !initial.IsNil() {
		return nil, usage.Errorf("--initial %s: a counter begins with an integer", initial)
	}
	return o.perKey("counter", func() checker.Stream {
		return checker.Counter(checker.CounterOptions{Initial: n})
	}), nil
}

func kafka(o *Options) (checker.Stream, error) {
	return o.perKey("kafka", func() checker.Stream { return checker.Kafka(checker.KafkaOptions{}) }), nil
}
