package object

import (
	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history"
)

// Named is a model that comes with the package.
type Named struct {
	Name   string
	About  string                       // one sentence: its operations
	Ops    []string                     // their names
	Begin  func(Options) checker.Stream // a checker of one history
	Starts bool                         // Options.Initial is looked at
}

// Models returns the models of the package, by name.
func Models() []Named {
	return []Named{
		{"counter", "a sum: :add n, :read", counter(history.Value{}).Ops,
			func(o Options) checker.Stream { return Stream(counter(o.Initial), o) }, true},
		{"fetch-and-increment", "a counter that answers: :fetch-and-increment, :increment-and-get, :read", fetching(history.Value{}).Ops,
			func(o Options) checker.Stream { return Stream(fetching(o.Initial), o) }, true},
		{"fifo-queue", "first in, first out: :enqueue x, :dequeue, nil when empty", queueOps(),
			func(o Options) checker.Stream { return Stream(fifo(), o) }, false},
		{"kv", "texts by key: :put [k text], :append [k text], :get [k text]", kvOps(),
			func(o Options) checker.Stream {
				if o.Whole {
					return Stream(kvWhole(), o)
				}
				return Stream(kvCell(), o)
			}, false},
		{"multi-register", "registers that a :txn reads and writes at one instant: [[:read k v] [:write k v]]", []string{"txn"},
			func(o Options) checker.Stream { return Stream(multiRegister(o.Initial, o.NilAny), o) }, true},
		{"priority-queue", "least integer first: :enqueue n, :dequeue, nil when empty", queueOps(),
			func(o Options) checker.Stream { return Stream(priorityQueue(), o) }, false},
		{"semaphore", "permits: :acquire, :release", semaphore(history.Value{}).Ops,
			func(o Options) checker.Stream { return Stream(semaphore(o.Initial), o) }, true},
		{"set", "elements: :add x, :remove x, :contains [x true], :read #{x y}", setOps(),
			func(o Options) checker.Stream { return Stream(setModel(), o) }, false},
		{"stack", "last in, first out: :push x, :pop, nil when empty", stack().Ops,
			func(o Options) checker.Stream { return Stream(stack(), o) }, false},
		{"unordered-queue", "elements in no order: :enqueue x, :dequeue, nil when empty", queueOps(),
			func(o Options) checker.Stream { return Stream(bag(), o) }, false},
	}
}
