package runner

import (
	"runtime"
	"time"

	"github.com/jepgo/jepgo/devnet"
	"github.com/jepgo/jepgo/history"
	"github.com/jepgo/jepgo/nemesis"
)

// describe is the first op of the history: what a judgement needs to know.
func (t *test) describe() history.Value {
	claim, bug := history.Value{}, history.Value{}
	if t.o.Claim != "" {
		claim = history.Keyword(t.o.Claim)
	}
	if t.o.Bug != "" {
		bug = history.Keyword(t.o.Bug)
	}
	var faults []history.Value
	for _, f := range t.o.faults {
		faults = append(faults, history.Text(f.Name()))
	}
	var nodes []history.Value
	for _, n := range t.net.Nodes() {
		nodes = append(nodes, history.Text(n.Name))
	}
	return history.MapOf(
		history.Keyword("version"), history.Text(t.o.Version),
		history.Keyword("seed"), history.Int(int64(t.o.Seed)),
		history.Keyword("profile"), history.Keyword(t.profile.Name),
		history.Keyword("workloads"), keywords(t.o.Workloads),
		history.Keyword("nodes"), history.Vec(nodes...),
		// The kinds as they were asked for, all among them: a kind that was named
		// must be injected, while some of all may find no time.
		history.Keyword("nemesis"), keywords(nemesis.Asked(t.o.Nemesis)),
		history.Keyword("faults"), history.Vec(faults...),
		history.Keyword("quorum"), history.Keyword(t.quorum()),
		history.Keyword("processes"), history.Int(int64(len(t.threads))),
		history.Keyword("claim"), claim,
		history.Keyword("bug"), bug,
		history.Keyword("profile-bounds"), t.bounds(),
	)
}

// bounds are what a devnet file says beside its profile, and the block time as it
// is where it says nothing; nil for neither.
func (t *test) bounds() history.Value {
	var kvs []history.Value
	if f := t.o.file; f != nil {
		if f.ReorgDepth > 0 {
			kvs = append(kvs, history.Keyword("reorg-depth"), history.Int(int64(f.ReorgDepth)))
		}
	}
	if t.blockTime > 0 {
		kvs = append(kvs, history.Keyword("block-time"), history.Int(int64(t.blockTime)))
	}
	if len(kvs) == 0 {
		return history.Value{}
	}
	return history.MapOf(kvs...)
}

// quorum is whom faults may hit together.
func (t *test) quorum() string {
	if t.o.Quorum == "" {
		return string(nemesis.QuorumAny)
	}
	return t.o.Quorum
}

func keywords(names []string) history.Value {
	vs := make([]history.Value, len(names))
	for i, n := range names {
		vs[i] = history.Keyword(n)
	}
	return history.Vec(vs...)
}

// testRecord is test.json: everything that says how the run came about.
type testRecord struct {
	Version     string    `json:"version"`
	Go          string    `json:"go"`
	Platform    string    `json:"platform"`
	Command     string    `json:"command"` // repeats the run
	Start       time.Time `json:"start"`
	Seed        uint64    `json:"seed"`
	Workloads   []string  `json:"workloads"`
	Nemesis     string    `json:"nemesis"`
	Interval    string    `json:"nemesis_interval"`
	Time        string    `json:"time"`
	OpTimeout   string    `json:"op_timeout"`
	Concurrency int       `json:"concurrency"`
	Rate        float64   `json:"rate"`
	Profile     string    `json:"profile"`
	Claim       string    `json:"claim,omitempty"`
	Bug         string    `json:"bug,omitempty"`
	Link        string    `json:"link,omitempty"`
	Devnet      string    `json:"devnet,omitempty"` // devnet file, absolute
	Quorum      string    `json:"quorum,omitempty"`
	// Irreversible says that faults were allowed to destroy data.
	Irreversible bool          `json:"allow_irreversible,omitempty"`
	Attached     bool          `json:"attached"`
	Nodes        []devnet.Node `json:"nodes"`
}

// devnetPath is where the devnet file is, "" without one.
func (t *test) devnetPath() string {
	if t.o.file == nil {
		return ""
	}
	return t.o.file.Path()
}

func (t *test) record() testRecord {
	return testRecord{
		Version: t.o.Version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		Command: t.o.Command, Start: t.run.Start, Seed: t.o.Seed,
		Workloads: t.o.Workloads, Nemesis: t.o.Nemesis, Interval: t.o.Interval.String(),
		Time: t.o.Time.String(), OpTimeout: t.o.OpTimeout.String(),
		Concurrency: t.o.threads, Rate: t.o.Rate, Profile: t.profile.Name, Claim: t.o.Claim, Bug: t.o.Bug,
		Link: t.o.Link, Quorum: t.quorum(), Irreversible: t.o.Irreversible,
		Attached: t.net.own == nil, Devnet: t.devnetPath(), Nodes: t.net.Nodes(),
	}
}
