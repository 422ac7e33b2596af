package object_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/jepgo/jepgo/checker/object"
	"github.com/jepgo/jepgo/history"
)

// A maximum register keeps the greatest value that was written: a model is its
// initial state and what each operation does to it.
func ExampleCheck() {
	max := object.Model[int64]{
		Name: "max-register",
		Step: func(state int64, op object.Op) (int64, bool) {
			if op.F == "write" {
				n, _ := op.Arg.Int()
				return max(state, n), true
			}
			n, _ := op.Result.Int()
			return state, n == state
		},
		Pure: func(op object.Op) bool { return op.F == "read" },
		Why: func(state int64, op object.Op) string {
			return fmt.Sprintf("reads %v, but the greatest is %d", op.Result, state)
		},
	}
	h, err := history.ReadAll(strings.NewReader(`
		{:process 0 :type :invoke :f :write :value 7}
		{:process 1 :type :invoke :f :write :value 3}
		{:process 0 :type :ok     :f :write :value 7}
		{:process 1 :type :ok     :f :write :value 3}
		{:process 0 :type :invoke :f :read  :value nil}
		{:process 0 :type :ok     :f :read  :value 3}`), history.EDN())
	if err != nil {
		fmt.Println(err)
		return
	}
	r := object.Check(context.Background(), max, h, object.Options{})
	fmt.Println(r.Verdict, "because", r.Reason)
	fmt.Println("state", r.Anomalies[0].State)
	fmt.Println(r.Anomalies[0].Blocked[0].Why)
	// Output:
	// invalid because max-register is not linearizable: no order has a place for read → 3 by process 0 (ops 4 and 5)
	// state 7
	// reads 3, but the greatest is 7
}

func ExampleModels() {
	for _, m := range object.Models() {
		fmt.Printf("%-20s %s\n", m.Name, m.About)
	}
	// Output:
	// counter              a sum: :add n, :read
	// fetch-and-increment  a counter that answers: :fetch-and-increment, :increment-and-get, :read
	// fifo-queue           first in, first out: :enqueue x, :dequeue, nil when empty
	// kv                   texts by key: :put [k text], :append [k text], :get [k text]
	// multi-register       registers that a :txn reads and writes at one instant: [[:read k v] [:write k v]]
	// priority-queue       least integer first: :enqueue n, :dequeue, nil when empty
	// semaphore            permits: :acquire, :release
	// set                  elements: :add x, :remove x, :contains [x true], :read #{x y}
	// stack                last in, first out: :push x, :pop, nil when empty
	// unordered-queue      elements in no order: :enqueue x, :dequeue, nil when empty
}
