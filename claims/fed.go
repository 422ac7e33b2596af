package claims

import (
	"slices"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/checker/chain"
)

// fed are checkers of what several workloads tell together: each is fair when all
// workloads of one of its lists ran, and has nothing to compare otherwise. An empty
// list is that of what jepgo itself records in every run.
func fed() []feed {
	return []feed{
		{[][]string{{"block"}, {"head"}}, func(r *chain.Reader, o chain.Options) checker.Stream { return r.Fork(o.FinalTag) }},
		{[][]string{{"block"}, {"head"}, {"register"}, {"counter"}, {"set"}, {"bank"}}, func(r *chain.Reader, _ chain.Options) checker.Stream { return r.StateAgree() }},
		{[][]string{{"head"}}, func(r *chain.Reader, o chain.Options) checker.Stream { return r.ReorgDepth(o) }},
		{[][]string{{"head"}}, func(r *chain.Reader, o chain.Options) checker.Stream { return r.HeadRegress(o) }},
		{[][]string{{"head"}, {"block"}}, func(r *chain.Reader, _ chain.Options) checker.Stream { return r.ChainTime() }},
		{[][]string{{"sub"}}, func(r *chain.Reader, o chain.Options) checker.Stream { return r.Sub(o) }},
		{[][]string{{"consensus"}}, func(r *chain.Reader, _ chain.Options) checker.Stream { return r.Equivocation() }},
		{[][]string{{"consensus"}}, func(r *chain.Reader, _ chain.Options) checker.Stream { return r.Participation() }},
		{[][]string{{"head"}}, func(r *chain.Reader, o chain.Options) checker.Stream { return r.Liveness(o) }},
		{with("block", "transfer", "bank", "register", "counter", "set", "append", "log", "call-at", "pool"), func(r *chain.Reader, o chain.Options) checker.Stream { return r.Lifecycle(o) }},
		{[][]string{{}}, func(r *chain.Reader, _ chain.Options) checker.Stream { return r.CrashLog() }},
		{[][]string{{}}, func(r *chain.Reader, _ chain.Options) checker.Stream { return r.ResourceSlope() }},
		{[][]string{{"call-at"}}, func(r *chain.Reader, _ chain.Options) checker.Stream { return r.CallAt() }},
		{[][]string{{"receipt"}, {"block"}, {"log"}}, func(r *chain.Reader, _ chain.Options) checker.Stream { return r.Immutable() }},
		{with("block", "receipt", "transfer", "bank", "register", "counter", "set", "append", "log", "call-at"), func(r *chain.Reader, o chain.Options) checker.Stream { return r.Index(o) }},
		{[][]string{{"log"}}, func(r *chain.Reader, o chain.Options) checker.Stream { return r.Logs(o) }},
		{with("block", "transfer", "bank", "register", "counter", "set", "append", "log", "call-at", "pool"), func(r *chain.Reader, o chain.Options) checker.Stream { return r.Durability(o) }},
		{with("block", "transfer", "bank", "register", "counter", "set", "append", "log", "call-at", "pool"), func(r *chain.Reader, o chain.Options) checker.Stream { return r.Nonce(o) }},
		{[][]string{{"block"}, {"set"}, {"log"}}, func(r *chain.Reader, o chain.Options) checker.Stream { return r.ExactlyOnce(o) }},
		{[][]string{{"counter"}, {"set"}, {"bank"}, {"append"}, {"call-at"}}, func(r *chain.Reader, _ chain.Options) checker.Stream { return r.Replay() }},
		{[][]string{{"counter"}, {"set"}, {"bank"}}, func(r *chain.Reader, _ chain.Options) checker.Stream { return r.Session() }},
		{[][]string{{"counter"}, {"set"}, {"bank"}}, func(r *chain.Reader, _ chain.Options) checker.Stream { return r.Staleness() }},
	}
}

type feed struct {
	by    [][]string
	begin func(r *chain.Reader, o chain.Options) checker.Stream
}

// with pairs a workload with each of the others.
func with(one string, others ...string) (pairs [][]string) {
	for _, other := range others {
		pairs = append(pairs, []string{one, other})
	}
	return pairs
}

// feeds begins those of fed that such workloads feed.
func feeds(workloads []string, p Profile, info checker.TestInfo, r *chain.Reader) (streams []checker.Stream) {
	o := chain.Options{FinalTag: p.FinalTag, Depth: int64(p.Depth), BlockTime: info.Bounds.BlockTime}
	if info.Bounds.Known {
		o.Depth = info.Bounds.ReorgDepth
	}
	o.Odd = p.FinalTag != latest && !info.Bounds.Known
	ran := func(name string) bool { return slices.Contains(workloads, name) }
	for _, f := range fed() {
		if slices.ContainsFunc(f.by, func(list []string) bool { return !slices.ContainsFunc(list, func(n string) bool { return !ran(n) }) }) {
			streams = append(streams, f.begin(r, o))
		}
	}
	return streams
}
