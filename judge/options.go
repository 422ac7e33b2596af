// Package judge finds out by which rules a history is to be judged, runs the
// checkers, and puts their results together. It reads nothing but the history.
//
// A history that jepgo recorded says itself what was claimed of the network. For
// any other one the rules are a model, named by the caller or recognised by its
// operations; where they fit several models, or none, that is the caller's
// fault and names the candidates. Nothing is guessed into a silent valid.
//
// A model's checker sees the events as they are read and keeps only what it
// needs; the checkers of jepgo's own histories hold all of the history.
package judge

import (
	"slices"
	"strings"
	"time"

	"github.com/jepgo/jepgo/claims"
	"github.com/jepgo/jepgo/history"
	"github.com/jepgo/jepgo/usage"
)

// Options say how a history is judged. The zero value finds everything out from
// the history itself, without limits.
type Options struct {
	Format    string   // file format, "" or auto to find out
	Model     string   // rules for a history that jepgo did not record, "" to find out
	Claim     string   // what a history of jepgo's own is held to, "" for what its network promises; see claims.Levels
	Workload  string   // a model with its usual checkers, in place of Model
	Checkers  []string // more checkers beside the model's, see Checkers
	Keyed     bool     // values are [key value]: each key is judged on its own
	Nil       string   // what a read of nil says: any (nothing) or absent (never written); "" for what is usual in the format
	Initial   string   // initial value as EDN, "" for nil
	GroupSize int      // long-fork: keys in a group, 0 for the default
	Queue     string   // queue: unordered or fifo; "" for unordered

	Consistency      []string // what is claimed: names of Elle's lattice; nil for the strictest
	Anomalies        []string // anomalies that are looked for besides; alone, only these
	Sequential       bool     // rw-register: each process meets the versions of a key in their order
	LinearizableKeys bool     // rw-register: each key is linearizable
	WritesFollow     bool     // rw-register: what a transaction writes of a key comes after what it read of it
	VersionOrder     string   // rw-register: file with the commit order, "" for none
	Negative         bool     // bank: negative balances are allowed
	LinearizableSet  bool     // set-full: an element is seen from the end of its add on

	sessions, initialTxn       bool // what the format says of transactions: see txn.Options
	nilOfFormat, keyedByFormat bool // Nil and Keyed are what the format says

	Explain string        // directory for counterexamples, "" for none
	Timeout time.Duration // for one file, 0 for none
	Memory  int64         // bytes for all files together, 0 for none
}

// leastMemory is below what the program itself and a few buffers take.
const leastMemory = 16 << 20

// Check reports the first option that cannot be used, as a usage error that names
// its flag.
func (o *Options) Check() error {
	if o.Workload != "" {
		if o.Model != "" && o.Model != o.Workload {
			return usage.Errorf("--workload %q and --model %q: want one of them", o.Workload, o.Model)
		}
		if _, ok := find(o.Workload); !ok {
			return usage.Errorf("--workload %q does not exist: %swant one of %s", o.Workload, usage.Meant(o.Workload, Models()), strings.Join(Models(), ", "))
		}
		o.Model = o.Workload
	}
	if o.Model != "" && o.Model != modelChain {
		if _, ok := find(o.Model); !ok {
			return usage.Errorf("--model %q does not exist: %swant one of %s", o.Model, usage.Meant(o.Model, Models()), strings.Join(Models(), ", "))
		}
	}
	if o.Claim != "" {
		if _, err := claims.ParseLevel(o.Claim); err != nil {
			return usage.Errorf("--claim: %w", err)
		}
	}
	for _, name := range o.Checkers {
		if !slices.Contains(Checkers(), name) {
			return usage.Errorf("--checker %q does not exist: %swant one of %s", name, usage.Meant(name, Checkers()), strings.Join(Checkers(), ", "))
		}
	}
	if o.Nil != "" && o.Nil != "any" && o.Nil != "absent" {
		return usage.Errorf("--nil %q: want any or absent", o.Nil)
	}
	if o.Queue != "" && o.Queue != "unordered" && o.Queue != "fifo" {
		return usage.Errorf("--queue-model %q: want unordered or fifo", o.Queue)
	}
	if o.GroupSize < 0 || o.GroupSize == 1 {
		return usage.Errorf("--group-size %d: want 2 or more", o.GroupSize)
	}
	if o.Timeout < 0 {
		return usage.Errorf("--timeout %s: want a duration of zero or more", o.Timeout)
	}
	if o.Memory < 0 || o.Memory > 0 && o.Memory < leastMemory {
		return usage.Errorf("--memory %d: want %d MiB or more, or 0 for no limit", o.Memory, leastMemory>>20)
	}
	if _, err := o.initial(); err != nil {
		return err
	}
	return nil
}

func (o *Options) initial() (history.Value, error) {
	if o.Initial == "" {
		return history.Value{}, nil
	}
	v, err := history.ParseValue(o.Initial)
	if err != nil {
		return v, usage.Errorf("--initial %q: %w", o.Initial, err)
	}
	return v, nil
}
