package graph_test

import (
	"context"
	"fmt"

	"github.com/jepgo/jepgo/checker/txn/graph"
)

// Transaction 2 began after 0 had completed, but does not see what 0 wrote.
func Example() {
	b := graph.NewBuilder(3)
	b.Add(2, 0, graph.RW)
	b.Add(0, 1, graph.WR)
	b.Times([]int32{0, 1, 4}, []int32{2, 3, 5})

	report := b.Graph().Search(context.Background(), graph.Options{})
	for _, cycle := range report.Cycles {
		fmt.Println(cycle.Class)
		for _, s := range cycle.Steps {
			fmt.Println(s.From, s.Rel, s.To)
		}
	}
	// Output:
	// G-single-item-realtime
	// 2 rw 0
	// 0 realtime 2
}
