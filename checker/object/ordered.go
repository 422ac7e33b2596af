package object

import "github.com/jepgo/jepgo/history"

// ordered is a collection whose state tells which element is taken next.
type ordered struct {
	*numbers
	puts, takes string                             // the operations
	at          func(state string, elem int32) int // where an element is put
	next        func(size int) int                 // which of so many is taken
	where       string                             // that one is
	end         string                             // of a state as people see it
	monitor     func(*part) (finding, bool)
}

// model returns the model of that collection: takes returns an element, or nil when
// there is none. Whatever was taken in doubt was the next.
func (o ordered) model(name string) Model[string] {
	return Model[string]{
		Name: name, Ops: []string{o.puts, o.takes}, Reject: noElement,
		Pure: func(op Op) bool { return op.F == o.takes && foundNone(op) },
		Step: func(state string, op Op) (string, bool) {
			switch {
			case op.F == o.puts:
				elem := o.number(op.Arg)
				return insert(state, o.at(state, elem), elem), true
			case state == "":
				return state, op.Type == history.Info || op.Result.IsNil()
			}
			next := o.next(len(state) / 4)
			if op.Type == history.Info || !op.Result.IsNil() && unpack(state, next) == o.number(op.Result) {
				return cut(state, next), true
			}
			return state, false
		},
		Describe: func(state string) string { return o.list(state, "[", o.end) },
		Why: func(state string, op Op) string {
			return whyNotTaken(o.numbers, state, op, o.next(len(state)/4), o.where)
		},
		traits: traits{elements: true, monitor: o.monitor, needless: untaken(o.puts, o.takes)},
	}
}

func atEnd(state string, _ int32) int { return len(state) / 4 }

func first(int) int { return 0 }

func last(size int) int { return size - 1 }

// fifo returns the model of a first-in-first-out queue.
func fifo() Model[string] {
	return ordered{
		numbers: &numbers{}, puts: "enqueue", takes: "dequeue",
		at: atEnd, next: first, where: "at the head", end: "]", monitor: monitorFIFO,
	}.model("fifo-queue")
}

// stack returns the model of a last-in-first-out stack.
func stack() Model[string] {
	return ordered{
		numbers: &numbers{}, puts: "push", takes: "pop",
		at: atEnd, next: last, where: "on top", end: "] (top last)", monitor: monitorStack,
	}.model("stack")
}

// priorityQueue returns the model of a queue of integers of which the least is
// taken next.
func priorityQueue() Model[string] {
	elems := &numbers{}
	rank := func(elem int32) int64 {
		n, _ := elems.value(elem).Int()
		return n
	}
	m := ordered{
		numbers: elems, puts: "enqueue", takes: "dequeue",
		at: func(state string, elem int32) int {
			at := 0
			for at < len(state)/4 {
				other := unpack(state, at)
				if rank(elem) < rank(other) || rank(elem) == rank(other) && elem <= other {
					break
				}
				at++
			}
			return at
		},
		next: first, where: "the least", end: "]", monitor: monitorPriority,
	}.model("priority-queue")
	m.Reject = func(op Op) string {
		switch {
		case op.F == "enqueue" && notInteger("its value is", op.Arg) != "":
			return notInteger("its value is", op.Arg)
		case op.F == "dequeue" && op.Type == history.OK && !op.Result.IsNil():
			return notInteger("it returned", op.Result)
		}
		return noElement(op)
	}
	return m
}
