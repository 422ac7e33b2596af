package runner

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jepgo/jepgo/usage"
)

func good() Options {
	return Options{
		Workloads: []string{"register", "head"}, Nemesis: "partition", Time: time.Minute, Nodes: 4,
		Concurrency: "2n", Interval: 10 * time.Second, OpTimeout: 10 * time.Second, Store: "store", Name: "x",
	}
}

func TestGoodOptions(t *testing.T) {
	o := good()
	if err := o.Check(); err != nil {
		t.Fatal(err)
	}
	if o.threads != 8 {
		t.Errorf("2n of 4 nodes is %d threads, want 8", o.threads)
	}
}

// TestBadOptions: each message names the flag, quotes the value and comes
// before anything is started.
func TestBadOptions(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Options)
		want   []string
	}{
		"workload":    {func(o *Options) { o.Workloads = []string{"nope"} }, []string{"--workload", `"nope"`, "register"}},
		"no workload": {func(o *Options) { o.Workloads = nil }, []string{"--workload"}},
		"nemesis":     {func(o *Options) { o.Nemesis = "earthquake" }, []string{"--nemesis", `"earthquake"`, "partition"}},
		"nodes 0":     {func(o *Options) { o.Nodes = 0 }, []string{"--nodes 0", "1 to 32"}},
		"nodes 99":    {func(o *Options) { o.Nodes = 99 }, []string{"--nodes 99"}},
		"time":        {func(o *Options) { o.Time = 0 }, []string{"--time"}},
		"interval":    {func(o *Options) { o.Interval = -time.Second }, []string{"--nemesis-interval -1s"}},
		"rate":        {func(o *Options) { o.Rate = -1 }, []string{"--rate -1"}},
		"bug":         {func(o *Options) { o.Bug = "moth" }, []string{"--bug", `"moth"`, "lost-write"}},
		"claim":       {func(o *Options) { o.Claim = "everything" }, []string{"--claim", `"everything"`, "bft"}},
		"key":         {func(o *Options) { o.Key = "ab" }, []string{"--key", "--rpc"}},
		"name":        {func(o *Options) { o.Name = "../up" }, []string{"--name", `"../up"`}},
		"one node":    {func(o *Options) { o.Nodes = 1 }, []string{"--nemesis", "partition"}},
		"rpc":         {func(o *Options) { o.RPC = []string{"127.0.0.1:8545"} }, []string{"--rpc", `"127.0.0.1:8545"`, "http://"}},
		"rpc nemesis": {func(o *Options) { o.RPC = []string{"http://127.0.0.1:1"} }, []string{"--nemesis partition", "--rpc", "none"}},
		"rpc bug":     {func(o *Options) { o.RPC, o.Nemesis, o.Bug = []string{"http://127.0.0.1:1"}, "none", "fork" }, []string{"--bug fork"}},
		"rpc keep":    {func(o *Options) { o.RPC, o.Nemesis, o.Keep = []string{"http://127.0.0.1:1"}, "none", true }, []string{"--keep"}},
		"rpc sub": {func(o *Options) {
			o.RPC, o.Nemesis, o.Workloads = []string{"http://127.0.0.1:1"}, "none", []string{"sub"}
		}, []string{"--workload sub", "WebSocket", "--rpc"}},
		"rpc comet": {func(o *Options) {
			o.RPC, o.Nemesis, o.Workloads = []string{"http://127.0.0.1:1"}, "none", []string{"consensus"}
		}, []string{"--workload consensus", "CometBFT", "--comet"}},
		"ws without rpc": {func(o *Options) { o.WS = []string{"ws://127.0.0.1:1"} }, []string{"--ws", "--rpc"}},
		"ws of one": {func(o *Options) {
			o.RPC, o.Nemesis = []string{"http://127.0.0.1:1", "http://127.0.0.1:2"}, "none"
			o.WS = []string{"ws://127.0.0.1:3"}
		}, []string{"--ws", "1", "--rpc 2"}},
		"ws by http": {func(o *Options) {
			o.RPC, o.Nemesis, o.WS = []string{"http://127.0.0.1:1"}, "none", []string{"http://127.0.0.1:3"}
		}, []string{"--ws", `"http://127.0.0.1:3"`, "ws://"}},
		"comet twice": {func(o *Options) {
			o.RPC, o.Nemesis = []string{"http://127.0.0.1:1", "http://127.0.0.1:2"}, "none"
			o.Comet = []string{"http://127.0.0.1:3", "http://127.0.0.1:3/"}
		}, []string{"--comet", "given twice"}},
		"concurrency":  {func(o *Options) { o.Concurrency = "two" }, []string{"--concurrency", `"two"`, "2n"}},
		"concurrency0": {func(o *Options) { o.Concurrency = "0" }, []string{"--concurrency", `"0"`}},
		"concurrency∞": {func(o *Options) { o.Concurrency = "9999n" }, []string{"--concurrency", `"9999n"`}},
	} {
		t.Run(name, func(t *testing.T) {
			o := good()
			c.change(&o)
			err := o.Check()
			var fault *usage.Error
			if !errors.As(err, &fault) {
				t.Fatalf("error %v, want a usage error", err)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q lacks %q", err, want)
				}
			}
		})
	}
}

func TestConcurrency(t *testing.T) {
	for text, want := range map[string]int{"8": 8, "n": 4, "1n": 4, "5n": 20} {
		if got, err := parseConcurrency(text, 4); err != nil || got != want {
			t.Errorf("%q of 4 nodes = %d, %v, want %d", text, got, err, want)
		}
	}
}
