package judge_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/jepgo/jepgo/history"
	"github.com/jepgo/jepgo/judge"
)

// A history in memory is judged by what its operations look like.
func ExampleHistory() {
	h, err := history.ReadAll(strings.NewReader(`
		{:process 0, :type :invoke, :f :write, :value 1}
		{:process 0, :type :ok, :f :write, :value 1}
		{:process 1, :type :invoke, :f :read, :value nil}
		{:process 1, :type :ok, :f :read, :value 2}`), history.EDN())
	if err != nil {
		fmt.Println(err)
		return
	}
	j, err := judge.History(context.Background(), h, judge.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(j.Model, j.Verdict)
	for _, r := range j.Results {
		for _, a := range r.Anomalies {
			fmt.Println(a.Name)
		}
	}
	// Output:
	// register invalid
	// nonlinearizable
}
