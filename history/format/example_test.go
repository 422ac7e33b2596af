package format_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/jepgo/jepgo/history"
	"github.com/jepgo/jepgo/history/format"
)

// write puts text into a file; the name of the file says nothing.
func write(text string) string {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	path := filepath.Join(dir, "history")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		panic(err)
	}
	return path
}

// A log of 2015 is told by what it holds, and becomes ops like any others.
func ExampleOpen() {
	path := write("INFO  jepsen.util - 0\t:invoke\t:cas\t[1 2]\nINFO  jepsen.util - 0\t:fail\t:cas\t[1 2]\n")
	defer os.RemoveAll(filepath.Dir(path))

	f, err := format.Open(path, format.Auto)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer f.Close()
	fmt.Println(f.Format(), f.Traits().Model)
	err = f.Each(context.Background(), func(e *history.Event) error {
		fmt.Println(e.Position, e.Process, e.Type, e.F, e.Value.Value())
		return nil
	})
	fmt.Println(err)
	// Output:
	// etcd-log cas-register
	// 0 0 invoke cas [1 2]
	// 1 0 ok cas-miss [1 2]
	// <nil>
}

func ExampleConvert() {
	path := write("{:process 0, :type :invoke, :f :txn, :value [[:append 8 1] [:r 8 nil]]}\n")
	defer os.RemoveAll(filepath.Dir(path))

	f, err := format.Open(path, format.Auto)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer f.Close()
	if err := format.Convert(context.Background(), f, "json", os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output: [{"type":"invoke","process":0,"f":"txn","value":[["append",8,1],["r",8,null]]}]
}
