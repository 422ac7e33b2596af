package checker_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history"
)

// Sets of many keys are judged key by key.
func ExampleIndependent() {
	h, err := history.ReadAll(strings.NewReader(`
		{:process 0, :type :invoke, :f :add,  :value [:x 1]}
		{:process 0, :type :ok,     :f :add,  :value [:x 1]}
		{:process 0, :type :invoke, :f :add,  :value [:y 2]}
		{:process 0, :type :ok,     :f :add,  :value [:y 2]}
		{:process 1, :type :invoke, :f :read, :value [:x nil]}
		{:process 1, :type :ok,     :f :read, :value [:x #{1}]}
		{:process 1, :type :invoke, :f :read, :value [:y nil]}
		{:process 1, :type :ok,     :f :read, :value [:y #{}]}`), history.EDN())
	if err != nil {
		panic(err)
	}
	sets := checker.Streamed(func() checker.Stream {
		return checker.Independent("sets", func() checker.Stream { return checker.SetFull(checker.SetFullOptions{}) })
	})
	r := sets.Check(context.Background(), h)
	fmt.Println(r.Verdict, "-", r.Reason)
	fmt.Println(r.Anomalies[0].Name, "-", r.Anomalies[0].Message)
	// Output:
	// invalid - 1 of 2 keys fail: [:y]
	// lost - Key :y: 2 was known to be in the set (op 3), but a read that began later (op 6) does not hold it, nor does any that began after.
}
