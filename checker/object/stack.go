package object

import (
	"github.com/jepgo/jepgo/history"
)

// stack returns the model of a last-in-first-out stack: :push x, and :pop, which
// returns an element, or nil when there is none.
func stack() Model[string] {
	elems := &numbers{}
	return Model[string]{
		Name: "stack", Ops: []string{"push", "pop"},
		Pure:   func(op Op) bool { return op.F == "pop" && emptyAnswer(op) },
		Reject: noElement,
		Step: func(state string, op Op) (string, bool) {
			top := len(state)/4 - 1
			switch {
			case op.F == "push":
				return state + pack(elems.number(op.Arg)), true
			case op.Type == history.Info:
				if top < 0 {
					return state, true
				}
				return state[:4*top], true
			case op.Result.IsNil():
				return state, state == ""
			}
			if top < 0 || unpack(state, top) != elems.number(op.Result) {
				return state, false
			}
			return state[:4*top], true
		},
		Describe: func(state string) string { return elems.list(state, "[", "] (top last)") },
		Why: func(state string, op Op) string {
			return whyNotTaken(elems, state, op, len(state)/4-1, "on top")
		},
		traits: traits{elements: true, monitor: monitorStack, needless: untaken("push", "pop")},
	}
}

// priorityQueue returns the model of a queue of integers of which :dequeue
// returns the least, or nil when there is none.
func priorityQueue() Model[string] {
	elems := &numbers{}
	rank := func(state string, i int) int64 {
		n, _ := elems.value(unpack(state, i)).Int()
		return n
	}
	return Model[string]{
		Name: "priority-queue", Ops: queueOps(), Pure: isEmptyDequeue,
		Reject: func(op Op) string {
			switch {
			case op.F == "enqueue" && notInteger("its value is", op.Arg) != "":
				return notInteger("its value is", op.Arg)
			case op.F == "dequeue" && op.Type == history.OK && !op.Result.IsNil():
				return notInteger("it returned", op.Result)
			}
			return noElement(op)
		},
		Step: func(state string, op Op) (string, bool) {
			switch {
			case op.F == "enqueue":
				id := elems.number(op.Arg)
				added := pack(id)
				at := 0
				for at < len(state)/4 && (rank(state, at) < rank(added, 0) ||
					rank(state, at) == rank(added, 0) && unpack(state, at) < id) {
					at++
				}
				return insert(state, at, id), true
			case op.Type == history.Info:
				if state == "" {
					return state, true
				}
				return state[4:], true
			case op.Result.IsNil():
				return state, state == ""
			}
			if state == "" || unpack(state, 0) != elems.number(op.Result) {
				return state, false
			}
			return state[4:], true
		},
		Describe: func(state string) string { return elems.list(state, "[", "]") },
		Why: func(state string, op Op) string {
			return whyNotTaken(elems, state, op, 0, "the least")
		},
		traits: traits{elements: true, monitor: monitorPriority, needless: untaken("enqueue", "dequeue")},
	}
}
