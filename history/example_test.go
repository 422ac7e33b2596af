package history_test

import (
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
