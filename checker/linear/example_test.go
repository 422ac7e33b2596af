package linear_test

import (
	"context"
	"fmt"

	"github.com/jepgo/jepgo/checker/linear"
	"github.com/jepgo/jepgo/history"
)

// Two clients on one register: the read began after the write of 2 had ended.
func ExampleRegister() {
	op := func(process int64, t history.Type, f string, v history.Value) history.Op {
		return history.Op{Index: history.Absent, Time: history.Absent, Process: history.Client(process), Type: t, F: f, Value: v}
	}
	h := &history.History{Ops: []history.Op{
		op(0, history.Invoke, "write", history.Int(1)), op(0, history.OK, "write", history.Int(1)),
		op(0, history.Invoke, "write", history.Int(2)), op(0, history.OK, "write", history.Int(2)),
		op(1, history.Invoke, "read", history.Value{}), op(1, history.OK, "read", history.Int(1)),
	}}
	r := linear.Register(linear.Options{}).Check(context.Background(), h)
	fmt.Println(r.Verdict)
	for _, b := range r.Anomalies[0].Blocked {
		fmt.Println("op", b.Index, b.Why)
	}
	// Output:
	// invalid
	// op 5 reads 1, but the register holds 2
}
