package history_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/jepgo/jepgo/history"
)

func ExampleReadAll() {
	const text = `{:index 0, :type :invoke, :process 0, :f :write, :value [7 12]}
{:index 1, :type :info, :process :nemesis, :f :start-partition}
{:index 2, :type :info, :process 0, :f :write, :value [7 12], :error [:timeout "5s"]}
{:index 3, :type :inv`
	h, err := history.ReadAll(strings.NewReader(text), history.EDN())
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, pair := range h.Pairs() {
		call, answer := &h.Ops[pair.Invoke], &h.Ops[pair.Complete]
		fmt.Println(call.F, call.Value, "ended as", answer.Type, answer.Error)
	}
	fmt.Println(h.Cut)
	// Output:
	// write [7 12] ended as info [:timeout "5s"]
	// history ends in the middle of a form that starts at byte 214; everything before it was kept
}

func ExampleScan() {
	const text = `{:type :invoke, :process 0, :f :txn, :value [[:append 3 1] [:r 3 nil]]}
{:type :ok, :process 0, :f :txn, :value [[:append 3 1] [:r 3 [1]]]}
{:type :invoke, :process 1, :f :txn, :value [[:append 4 7]]}`
	scan, err := history.NewScan(strings.NewReader(text), history.ScanOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer scan.Close()

	appends, last := 0, 0
	err = scan.Each(context.Background(), func(e *history.Event) error {
		for op := range e.Value.Elems() {
			if e.Type == history.Invoke && op.Len() == 3 && op.First().Is("append") {
				appends, last = appends+1, e.Position
			}
		}
		return nil
	})
	if err != nil || scan.Cut() != nil || scan.Skipped() != nil {
		fmt.Println(err, scan.Cut(), scan.Skipped())
		return
	}
	ops, err := scan.Ops([]int{last})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(appends, "appends, the last one in", ops[0].String())
	// Output:
	// 2 appends, the last one in {:type :invoke, :process 1, :f :txn, :value [[:append 4 7]]}
}

func ExampleRecorder() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	recorder, err := history.Create(filepath.Join(dir, "history.edn"))
	if err != nil {
		fmt.Println(err)
		return
	}
	call, err := recorder.Record(history.Op{Type: history.Invoke, Process: history.Client(0), F: "read", Node: "n1"})
	fmt.Println(call.Index, err)
	fmt.Println(recorder.Close())
	// Output:
	// 0 <nil>
	// <nil>
}
