package history

import (
	"testing"
)

// FuzzScan reads anything in chunks, by one to three goroutines, and wants what a
// serial reading gives: ops, skipped ops, cut, error and its place.
func FuzzScan(f *testing.F) {
	for _, seed := range []string{
		"{:index 0, :time 12, :type :invoke, :process 3, :f :write, :value [7 12], :node \"n4\"}\n{:type :ok}\n",
		"[{:type :ok}\n {:type :info, :process :nemesis, :value #{1 2 3}}\n {:value {:a 1 :a 2}}]\n; }{\n",
		"({:value \"a\n{\\\"\"}\n#a.B{:f :read}, ^{:m 1} {:x 1}\n)",
		"{:index 0 :value {:weird key 1}}\n{:index 1}\n{:index 2, :val",
		"\ufeff{:value [1 [2 (3 #{4}) {5 6}] nil true false]}\r\n#_ {} {:time 1.5 :value 12345678901234567890}",
	} {
		f.Add([]byte(seed), uint8(1), uint8(7))
		f.Add([]byte(seed), uint8(2), uint8(200))
	}
	f.Fuzz(func(t *testing.T, text []byte, workers, size uint8) {
		if err := checkScan(text, 1+int(workers%3), 1+int(size)); err != nil {
			t.Fatalf("%v in\n%q", err, text)
		}
	})
}
