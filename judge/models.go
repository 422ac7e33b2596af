package judge

import (
	"slices"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/checker/linear"
	"github.com/jepgo/jepgo/checker/txn"
	"github.com/jepgo/jepgo/usage"
)

// modelChain is the model of jepgo's own histories: their first op says what
// was claimed.
const modelChain = "chain"

// model is a set of rules for histories that jepgo did not record.
type model struct {
	name string
	doc  string // one line for help
	// fits reports whether operations look like this model's; nil for a model that
	// has to be asked for.
	fits func(s *sight) bool
	// shared: other models with the same operations judge by other rules, so that
	// none of them is taken unasked.
	shared bool
	// begin returns the checker of one history.
	begin func(o *Options) (checker.Stream, error)
}

// models lists the models; of several that fit the first is taken. To add one,
// add it here.
func models() []model {
	return []model{
		{name: "register", doc: "reads and writes of one value, linearizable",
			fits:  func(s *sight) bool { return s.only("read", "write") && !s.readsList && !s.readsMap && s.plain },
			begin: registers},
		{name: "cas-register", doc: "register with compare-and-set",
			fits: func(s *sight) bool {
				return s.only("read", "write", "cas", "cas-miss") && !s.readsList && !s.readsMap && s.plain
			},
			begin: registers},
		{name: "list-append", doc: "transactions of [:append k v] and [:r k list]",
			fits: func(s *sight) bool { return s.transactions("append", "r") && s.micro["append"] }, begin: listAppend},
		{name: "rw-register", doc: "transactions of [:w k v] and [:r k v]",
			fits: func(s *sight) bool {
				return s.transactions("w", "r") && !s.only("read", "write")
			}, begin: rwRegister},
		{name: "mutex", doc: "a lock without owner: :acquire and :release",
			fits: func(s *sight) bool { return s.only("acquire", "release") }, begin: mutex},
	}
}

// Models lists what --model takes.
func Models() []string {
	names := []string{modelChain}
	for _, m := range models() {
		names = append(names, m.name)
	}
	return names
}

// Describe returns one line about the model of that name, "" when there is none.
func Describe(name string) string {
	if name == modelChain {
		return "a network that jepgo tested: its first op says what was claimed"
	}
	m, _ := find(name)
	return m.doc
}

func find(name string) (model, bool) {
	all := models()
	i := slices.IndexFunc(all, func(m model) bool { return m.name == name })
	if i < 0 {
		return model{}, false
	}
	return all[i], true
}

func registers(o *Options) (checker.Stream, error) {
	lo, err := o.linear()
	if err != nil {
		return nil, err
	}
	return linear.RegisterStream(lo), nil
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
