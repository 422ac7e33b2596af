package format

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/jepgo/jepgo/history"
)

// sample is a history of one format, and the EDN that it means.
type sample struct{ name, text, edn string }

func samples() []sample {
	return []sample{
		{"edn", "; c\n[{:type :invoke, :process 0, :f :read}\n{:type :ok, :process 0, :f :read, :value 3}]",
			"{:type :invoke, :process 0, :f :read, :value nil}\n{:type :ok, :process 0, :f :read, :value 3}\n"},
		{"json", `[{"type":"invoke","f":"txn","process":0,"value":[["append",255,8],["r","x",null]],"time":5,"index":0},` + "\n" +
			` {"type":"info","f":"kill","process":"nemesis","value":{"n1":":killed","7":1.5},"error":["no-client","m"],"node":"n1","op-index":1}]`,
			"{:index 0, :time 5, :type :invoke, :process 0, :f :txn, :value [[:append 255 8] [:r \"x\" nil]]}\n" +
				"{:type :info, :process :nemesis, :f :kill, :value {:n1 :killed, 7 1.5}, :node \"n1\", :error [\"no-client\" \"m\"], :op-index 1}\n"},
		{"json", "{\"type\":\"invoke\",\"process\":0}\n\n{\"type\":\":ok\"\n,\"process\":0}{\"process\":\"1\",\"type\":\"sleep\"}",
			"{:type :invoke, :process 0, :value nil}\n{:type :ok, :process 0, :value nil}\n{:process 1, :value nil, :type \"sleep\"}\n"},
		{"jsonl", `{"process":136,"type":"INVOKE","value":0,"f":"READ","time":1.651553368714E12,"nemesis":false,"fail":false,"latency":0.0,"subIndex":0,"index":-1,"position":0}` + "\n" +
			`{"process":136,"type":"OK","value":0,"f":"READ","time":1.651553369035E12,"index":0}` + "\n" +
			`{"process":7,"type":"FAIL","value":3,"f":"WRITE","extra":1}`,
			"{:time 1651553368714000000, :type :invoke, :process 136, :f :read, :value nil}\n" +
				"{:time 1651553369035000000, :type :ok, :process 136, :f :read, :value 0}\n" +
				"{:type :fail, :process 7, :f :write, :value 3, :extra 1}\n"},
		{"history-txt", "1\t:invoke\t:txn\t[[:r 8 nil]]\n1\t:info\t:txn\t[[:r 8 nil]]\t:connection-error\n" +
			":nemesis\t:info\t[:a :start]\t) Foo\n:nemesis\t:info\t:kill\t\"n 1\"\tindeterminate: Refused (x)\n2\t:fail\t:read\tnil\t[:no-client m]\n",
			"{:type :invoke, :process 1, :f :txn, :value [[:r 8 nil]]}\n{:type :info, :process 1, :f :txn, :value [[:r 8 nil]], :error :connection-error}\n" +
				"{:type :info, :process :nemesis, :f [:a :start], :value \") Foo\"}\n{:type :info, :process :nemesis, :f :kill, :value \"n 1\", :error \"indeterminate: Refused (x)\"}\n" +
				"{:type :fail, :process 2, :f :read, :value nil, :error [:no-client m]}\n"},
		{"etcd-log", "INFO  jepsen.core - Starting\nINFO  jepsen.util - 1\t:invoke\t:cas\t[4 0]\nINFO  jepsen.util - 2\t:invoke\t:read\tnil\n\n" +
			"INFO  jepsen.util - 1\t:fail\t:cas\t[4 0]\nINFO  jepsen.util - 2\t:fail\t:read\t:timed-out\nINFO  jepsen.util - 3\t:info\t:write\t:timed-out\r\n" +
			"INFO  jepsen.util - 4\t:ok\t:read\tnil\nINFO  jepsen.util - 5\t:fail\t:cas\t:timed-out\nINFO  jepsen.util - :nemesis\t:info\t:start\t\"Cut off\"",
			"{:type :invoke, :process 1, :f :cas, :value [4 0]}\n{:type :invoke, :process 2, :f :read, :value nil}\n" +
				"{:type :ok, :process 1, :f :cas-miss, :value [4 0]}\n{:type :fail, :process 2, :f :read, :value nil, :error :timed-out}\n" +
				"{:type :info, :process 3, :f :write, :value nil, :error :timed-out}\n{:type :ok, :process 4, :f :read, :value nil}\n" +
				"{:type :fail, :process 5, :f :cas, :value nil, :error :timed-out}\n{:type :info, :process :nemesis, :f :start, :value \"Cut off\"}\n"},
		{"kv-log", "{:process 2, :type :invoke, :f :get, :key \"0\", :value nil}\n{:process 2, :type :ok, :f :get, :key \"0\", :value \"x 0 y\"}\n",
			"{:type :invoke, :process 2, :f :get, :value [\"0\" nil]}\n{:type :ok, :process 2, :f :get, :value [\"0\" \"x 0 y\"]}\n"},
		{"plume", "w(1,5,0,0)\nr(1,5,1,1)\n r( 2, 0, 0, 0 )\nw(1,6,1,-1)\nw(3,0,1,1)\nr(3,0,0,2)\n",
			"{:type :ok, :process 0, :f :txn, :value [[:w 1 5] [:r 2 nil]]}\n{:type :ok, :process 1, :f :txn, :value [[:r 1 5] [:w 3 0]]}\n" +
				"{:type :fail, :process 1, :f :txn, :value [[:w 1 6]]}\n{:type :ok, :process 0, :f :txn, :value [[:r 3 0]]}\n"},
		{"awdit", "-----\nw 0 0\nw 1 1\n=====\n\n======\nr 0 0\n---\nr 2 0",
			"{:type :ok, :process 0, :f :txn, :value [[:w 0 0] [:w 1 1]]}\n{:type :ok, :process 1, :f :txn, :value [[:r 0 0]]}\n{:type :ok, :process 1, :f :txn, :value [[:r 2 0]]}\n"},
		{"dbcop", "- - events:\n    - write: true\n      variable: 0\n      value: 1\n      success: true\n    - {write: true, variable: 0, value: 9, success: false}\n" +
			"    - {write: false, variable: 2, value: 0, success: true}\n    success: true\n  - events: []\n    success: true\n- - events:\n    - {write: true, variable: 2, value: 7, success: true}\n    success: false\n",
			"{:type :fail, :process 0, :f :txn, :value [[:w 0 9]]}\n{:type :ok, :process 0, :f :txn, :value [[:w 0 1] [:r 2 nil]]}\n" +
				"{:type :ok, :process 0, :f :txn, :value []}\n{:type :fail, :process 1, :f :txn, :value [[:w 2 7]]}\n"},
		{"dbcop", `{"params": {"id": 0, "n_node": 1}, "info": "events", "start": "x", "end": "y",` + "\n" + `"data": [[{"events": [{"Write": {"variable": "x", "version": 1}}, {"Read": {"variable": 3, "version": null}}, ["r", 3, 0], ["w", 3, 2]], "committed": true}]]}`,
			"{:type :ok, :process 0, :f :txn, :value [[:w \"x\" 1] [:r 3 nil] [:r 3 nil] [:w 3 2]]}\n"},
		{"dbcop", "[ [ {\"events\": [{\"write\": false, \"variable\": 1, \"value\": 4, \"success\": true}],\n \"success\": true } ] ]",
			"{:type :ok, :process 0, :f :txn, :value [[:r 1 4]]}\n"},
	}
}

// TestFormats reads a sample of each format by its content, by its name and packed,
// in every way a File offers.
func TestFormats(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range samples() {
		seen[s.name] = true
		for _, name := range []string{Auto, s.name} {
			for how, text := range packed(t, s.text) {
				f := opened(t, text, name)
				if f.Format() != s.name {
					t.Errorf("%s, %s: taken for %s", s.name, how, f.Format())
					continue
				}
				h, err := f.History()
				if err != nil || f.Cut() != nil {
					t.Errorf("%s, %s: %v, cut %v", s.name, how, err, f.Cut())
				}
				if got := edn(h.Ops); got != s.edn {
					t.Errorf("%s, %s: read\n%swant\n%s", s.name, how, got, s.edn)
					continue
				}
				agree(t, f, h)
			}
		}
	}
	for _, name := range Names() {
		if !seen[name] {
			t.Errorf("no sample of %s", name)
		}
	}
}

// agree holds every view of f to the history in it.
func agree(t *testing.T, f *File, h *history.History) {
	t.Helper()
	for range 2 {
		var events []string
		err := f.Each(context.Background(), func(e *history.Event) error {
			op := history.Op{Index: e.Index, Time: e.Time, Type: e.Type, Process: e.Process, F: e.F, Value: e.Value.Value()}
			if e.Position != len(events) {
				t.Errorf("event %d says it is %d", len(events), e.Position)
			}
			events = append(events, op.String())
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		for _, op := range h.Ops {
			op.Node, op.Tag, op.Error, op.Extra = "", "", history.Value{}, nil
			want = append(want, op.String())
		}
		if !slices.Equal(events, want) {
			t.Errorf("events\n%s\nof\n%s", strings.Join(events, "\n"), strings.Join(want, "\n"))
		}
	}
	last := len(h.Ops) - 1
	ops, err := f.Source().Ops([]int{last, 0, last})
	if err != nil || edn(ops) != edn([]history.Op{h.Ops[last], h.Ops[0], h.Ops[last]}) {
		t.Errorf("source gives %v, %v", ops, err)
	}
	for _, at := range []int{-1, last + 1} {
		if _, err := f.Source().Ops([]int{0, at}); err == nil || !strings.Contains(err.Error(), "outside") {
			t.Errorf("source at %d of %d: %v", at, last+1, err)
		}
	}
	stop := errors.New("enough")
	if err := f.Each(context.Background(), func(*history.Event) error { return stop }); err != stop {
		t.Errorf("error of the taker came back as %v", err)
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if err := f.Each(ended, func(*history.Event) error { return nil }); err != context.Canceled {
		t.Errorf("ended context came back as %v", err)
	}
}

func edn(ops []history.Op) string {
	var text []byte
	for i := range ops {
		text = history.EDN().Append(text, &ops[i])
	}
	return string(text)
}

// packed returns text as it is, and as it is in files.
func packed(t testing.TB, text string) map[string]string {
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	if _, err := w.Write([]byte(text)); err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	encoder, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer encoder.Close()
	return map[string]string{
		"plain": text, "gzip": zipped.String(), "zstd": string(encoder.EncodeAll([]byte(text), nil)), "with a mark": "\ufeff" + text,
	}
}

func TestOpenFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "plainly.wrong.suffix")
	for _, s := range samples() {
		if err := os.WriteFile(path, []byte(s.text), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := Open(path, Auto)
		if err != nil {
			t.Fatal(err)
		}
		h, err := f.History()
		if err != nil || edn(h.Ops) != s.edn {
			t.Errorf("%s: %v, read\n%s", s.name, err, edn(h.Ops))
		}
		agree(t, f, h)
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
	for _, c := range []struct{ path, name, want string }{
		{path, "xml", "edn, json, jsonl, history-txt, etcd-log, kv-log, plume, awdit, dbcop"},
		{dir, Auto, "is a directory"},
		{filepath.Join(dir, "none"), Auto, "no such file"},
	} {
		if _, err := Open(c.path, c.name); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s as %s: %v, want %q", c.path, c.name, err, c.want)
		}
	}
}

func TestTraits(t *testing.T) {
	for _, s := range samples() {
		got := opened(t, s.text, Auto).Traits()
		want := map[string]Traits{
			"edn": {}, "json": {}, "history-txt": {},
			"jsonl":    {Model: "register"},
			"etcd-log": {Model: "cas-register", NilAbsent: true},
			"kv-log":   {Model: "kv", Keyed: true},
		}[s.name]
		if slices.Contains([]string{"plume", "awdit", "dbcop"}, s.name) {
			want = Traits{Model: "rw-register", NoRealtime: true}
		}
		if got != want {
			t.Errorf("%s: %+v, want %+v", s.name, got, want)
		}
	}
	for text, initial := range map[string]bool{
		"w(1,0,0,0)\nw(2,7,0,0)\nr(1,0,1,1)\nw(2,8,1,1)\n": true,
		"w(1,0,0,0)\nr(1,0,1,1)\nw(2,8,1,1)\n":             false, // a key that it did not write
		"w(1,7,0,0)\nr(1,0,1,1)\n":                         false, // somebody read what was before
		"w(1,0,0,0)\nr(1,0,1,1)\nr(1,0,0,2)\n":             false, // its session goes on
		"w(1,0,0,0)\n":                                     false, // nothing follows
		"w(1,0,0,-1)\nw(1,3,1,1)\n":                        false,
		"r(1,0,0,0)\nw(1,3,1,1)\n":                         false,
	} {
		if got := opened(t, text, Auto).Traits().InitialTxn; got != initial {
			t.Errorf("first transaction is initial: %t in\n%s", got, text)
		}
	}
}

// TestEmpty: an empty file is an empty history of any format.
func TestEmpty(t *testing.T) {
	for _, name := range append(Names(), Auto) {
		for _, text := range []string{"", "\n \n", "\ufeff"} {
			f, err := open("-", name, strings.NewReader(text))
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if h, err := f.History(); err != nil || len(h.Ops) != 0 || h.Cut != nil {
				t.Errorf("%s of %q: %d ops, %v, cut %v", name, text, len(h.Ops), err, h.Cut)
			}
			f.Close()
		}
	}
}

// TestUnknown: what cannot be told is an error that says what was seen.
func TestUnknown(t *testing.T) {
	for text, want := range map[string]string{
		"hello, world\n":     `it starts with "hello, world"`,
		"JEPSEN\x00\x00\x01": "give the history.edn beside it",
		"\x01\x02\x00":       "is no text",
		`{"tick":"1","type":2300,"db":"x","tid":"1","data":{"_key":"1","rwAttr":1}}`: `"tick", "type", "db", "tid", "data" and no "type" of an op`,
		"x(1,2,3,4)\n":                "format is not known",
		"1 :invoke :read nil\n":       "format is not known",
		"events: [1]\n":               "format is not known",
		"INFO  jepsen.core - hello\n": "format is not known",
	} {
		_, err := open("-", Auto, strings.NewReader(text))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "--format") || !strings.Contains(err.Error(), `history "standard input"`) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}
