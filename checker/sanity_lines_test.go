package checker_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history"
	"github.com/jepgo/jepgo/history/format"
)

// TestSanityOfLines holds that no line of a file disappears in silence: each stands
// behind a write that makes sense.
func TestSanityOfLines(t *testing.T) {
	const (
		edn = `{:process 0 :type :invoke :f :write :value 1}
{:process 0 :type :ok :f :write :value 1}
`
		txt = "0\t:invoke\t:write\t1\n0\t:ok\t:write\t1\n"
	)
	for _, c := range []struct{ name, line, says string }{
		{"history.edn", `{:process "0" :type :ok :f :read :value 3}`, "no-process: 1 line"},
		{"history.edn", `{:process [0] :type :ok :f :read :value 3}`, "no-process: 1 line"},
		{"history.edn", `{:process -0.5 :type :ok :f :read :value 3}`, "no-process: 1 line"},
		{"history.edn", `{:process true :type :ok :f :read :value 3}`, "no-process: 1 line"},
		{"history.edn", `{:process 9223372036854775808 :type :ok :f :read :value 3}`, "no-process: 1 line"},
		{"history.edn", `{:process nil :type :ok :f :read :value 3}`, "no-process: 1 line"},
		{"history.edn", `{:type :ok :f :read :value 3}`, "no-process: 1 line"},
		{"history.edn", `{:process 0 :type :bogus :f :read :value 3}`, "no-type: 1 line"},
		{"history.edn", `{:process 0 :type :OK :f :read :value 3}`, "no-type: 1 line"},
		{"history.edn", `{:process 0 :f :read :value 3}`, "no-type: 1 line"},
		{"history.edn", `{:f :read :value 3}`, "no-type: 1 line"},
		{"history.edn", `{:process "0" :f :read :value 3}`, "no-type: 1 line"},
		{"history.edn", `{:process :nemesis :type :info :f :start}`, ""},
		{"history.edn", `{:process :nemesis :f :start}`, ""},
		{"history.edn", `{:process "reader" :type :info :f :start}`, ""},
		{"history.edn", `{:start 5}`, ""},
		{"history.edn", `{:process 0 :type :ok :f :read :value 1}`, ""},
		{"history.txt", "\"0\"\t:ok\t:read\t3", "no-process: 1 line"},
		{"history.txt", "9223372036854775808\t:ok\t:read\t3", "no-process: 1 line"},
		{"history.txt", "nil\t:ok\t:read\t3", "no-process: 1 line"},
		{"history.txt", "[0]\t:ok\t:read\t3", "no-process: 1 line"},
		{"history.txt", ":nemesis\t:info\t:start\tnil", ""},
	} {
		t.Run(c.name+" "+c.line, func(t *testing.T) {
			text := edn
			if c.name == "history.txt" {
				text = txt
			}
			path := filepath.Join(t.TempDir(), c.name)
			if err := os.WriteFile(path, []byte(text+c.line+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			f, err := format.Open(path, format.Auto)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			stream := checker.Sanity(checker.SanityOptions{})
			if err := f.Each(context.Background(), func(e *history.Event) error { stream.Take(e); return nil }); err != nil {
				t.Fatal(err)
			}
			r := stream.Finish(context.Background(), f.Source())
			if want := map[bool]checker.Verdict{true: checker.Valid, false: checker.Unknown}[c.says == ""]; r.Verdict != want {
				t.Errorf("says %v (%s), want %v", r.Verdict, r.Reason, want)
			}
			if c.says != "" && (!strings.HasPrefix(r.Reason, c.says) || !strings.HasSuffix(r.Reason, "such as op 2")) {
				t.Errorf("says %q, want %q of op 2", r.Reason, c.says)
			}
		})
	}
}
