package object

import (
	"fmt"
	"strconv"

	"github.com/jepgo/jepgo/history"
)

func isRead(op Op) bool { return op.F == "read" }

func describeInt(n int64) string { return strconv.FormatInt(n, 10) }

// counter returns the model of a counter: :add n, and :read, which returns the
// sum of what was added to initial. A nil read says 0.
func counter(initial history.Value) Model[int64] {
	start, unfit := initialInt(initial, 0, -mostSum)
	return Model[int64]{
		Name: "counter", Ops: []string{"add", "read"}, Init: start, Pure: isRead,
		Reject: func(op Op) string {
			switch {
			case op.F == "read" && (op.Type != history.OK || op.Result.IsNil()):
				return ""
			case op.F == "read":
				return notInteger("it returned", op.Result)
			}
			if why := notInteger("its value is", op.Arg); why != "" {
				return why
			}
			return notAcknowledged(op)
		},
		Step: func(sum int64, op Op) (int64, bool) {
			if op.F == "add" {
				n, ok := op.Arg.Int()
				return sum + n, ok
			}
			n, _ := op.Result.Int()
			return sum, op.Type != history.OK || n == sum
		},
		Describe: describeInt,
		Why: func(sum int64, op Op) string {
			return fmt.Sprintf("reads %s, but the counter is at %d", op.Result, sum)
		},
		traits: traits{start: start, unfit: unfit, monitor: monitorCounter, refuse: largeSums},
	}
}

// semaphore returns the model of a semaphore of so many permits, 1 by default:
// :acquire takes one, :release gives one back that is taken. With 1 it is a lock
// without owner.
func semaphore(initial history.Value) Model[int64] {
	permits, unfit := initialInt(initial, 1, 0)
	return Model[int64]{
		Name: "semaphore", Ops: []string{"acquire", "release"}, Init: permits,
		Step: func(free int64, op Op) (int64, bool) {
			if op.F == "acquire" {
				return free - 1, free > 0
			}
			return free + 1, free < permits
		},
		Pure: func(Op) bool { return false },
		Reject: func(op Op) string {
			if n, ok := op.Arg.Int(); ok && n != 1 {
				return fmt.Sprintf("its value is %d, want 1 or nil: one permit", n)
			}
			if done, ok := op.Result.Flag(); ok && !done {
				return "it returned false, want :type :fail where nothing was done"
			}
			return ""
		},
		Describe: func(free int64) string {
			return fmt.Sprintf("%d of %d permits free", free, permits)
		},
		Why: func(free int64, op Op) string {
			if op.F == "acquire" {
				return fmt.Sprintf("takes a permit, but all %d are taken", permits)
			}
			return "gives back a permit, but none is taken"
		},
		traits: traits{unfit: unfit},
	}
}

// The operations of a fetching counter, by their numbers.
const (
	fetchAndIncrement = iota
	incrementAndGet
	fetchRead
)

// fetching returns the model of a counter that answers: :fetch-and-increment
// returns what it was before, :increment-and-get what it is after, :read what it is.
func fetching(initial history.Value) Model[int64] {
	start, unfit := initialInt(initial, 0, -mostSum)
	return Model[int64]{
		Name: "fetch-and-increment", Ops: []string{"fetch-and-increment", "increment-and-get", "read"}, Init: start, Pure: isRead,
		Reject: func(op Op) string {
			if n, ok := op.Arg.Int(); ok && n != 1 && op.F != "read" && !op.Arg.Equal(op.Result) {
				return fmt.Sprintf("its value is %d, want nil or 1", n)
			}
			if op.Type != history.OK {
				return ""
			}
			return notInteger("it returned", op.Result)
		},
		Step: func(at int64, op Op) (int64, bool) {
			n, ok := op.Result.Int()
			if op.Type == history.Info {
				ok, n = true, at
				if op.F == "increment-and-get" {
					n++
				}
			}
			switch op.F {
			case "fetch-and-increment":
				return at + 1, ok && n == at
			case "increment-and-get":
				return at + 1, ok && n == at+1
			}
			return at, ok && n == at
		},
		Describe: describeInt,
		Why: func(at int64, op Op) string {
			return fmt.Sprintf("returns %s, but the counter is at %d", op.Result, at)
		},
		traits: traits{start: start, unfit: unfit, monitor: monitorFetching},
	}
}
