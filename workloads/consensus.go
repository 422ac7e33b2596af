package workloads

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jepgo/jepgo/client"
	"github.com/jepgo/jepgo/history"
)

const (
	consensusInterval = 500 * time.Millisecond // between questions to one node
	voteDepth         = 4                      // heights at and below the newest whose votes are asked for
	finalVotes        = 200                    // heights of each node in the end
)

// consensus is the workload of that name.
func consensus() Workload {
	return Workload{
		Name:  "consensus",
		Ops:   []string{"status", "validators", "votes"},
		Needs: Offers{Comet: true},
		Doc: "CometBFT on every node is asked, twice a second, for its status and peers, for the votes that decided one of the " +
			"newest blocks (round, proposer, and who signed for what), or for the validators of a height. At the end each node is " +
			"asked for the votes on every block of the run, of runs with more than 200 heights for the same 200.",
		New: newConsensus,
	}
}

// councils is the workload at work.
type councils struct {
	env    Env
	start  int64 // the lowest height of any node when the run began
	stride stride
}

func newConsensus(ctx context.Context, env Env) (Instance, error) {
	if len(env.Comet) == 0 || len(env.Comet) != len(env.Nodes) {
		return nil, fmt.Errorf("consensus workload has %d nodes with %d CometBFTs, want one for each", len(env.Nodes), len(env.Comet))
	}
	w := &councils{env: env, stride: stride{most: finalVotes}}
	for i, c := range env.Comet {
		s, err := c.Status(ctx)
		if err != nil {
			return nil, fmt.Errorf("consensus workload: %w", err)
		}
		if h := max(1, s.Height); i == 0 || h < w.start {
			w.start = h
		}
	}
	return w, nil
}

// Threads returns one reader for each node.
func (w *councils) Threads() []Thread {
	var out []Thread
	for _, c := range w.env.Comet {
		out = append(out, &councilReader{node: c, patience: w.env.OpTimeout, rng: w.env.split(), height: w.start})
	}
	return out
}

// Final returns nothing: what is read in the end is the chain as it then stands.
func (w *councils) Final() []Thread { return nil }

// Closing returns one thread for each node, which reads its status and
// validators, and then the votes of the run.
func (w *councils) Closing() []Thread {
	var out []Thread
	for _, c := range w.env.Comet {
		out = append(out, &councilSpan{councilReader: councilReader{node: c, patience: w.env.OpTimeout}, next: w.start, stride: &w.stride})
	}
	return out
}

// councilReader asks the CometBFT of one node.
type councilReader struct {
	node     *client.Comet
	patience time.Duration
	rng      *rand.Rand
	height   int64 // the newest that the node has told
}

// Interval is 500 ms.
func (r *councilReader) Interval() time.Duration { return consensusInterval }

// Next returns a :status, or what is known of one of the newest heights.
func (r *councilReader) Next() (history.Op, bool) {
	switch dice := r.rng.IntN(10); {
	case dice < 4:
		return r.op("status", 0), true
	case dice < 5:
		return r.op("validators", max(1, r.height-int64(pick(r.rng, voteDepth)))), true
	}
	return r.op("votes", max(1, r.height-int64(pick(r.rng, voteDepth)))), true
}

// op is an invocation; height 0 is none.
func (r *councilReader) op(f string, height int64) history.Op {
	o := history.Op{F: f, Node: r.node.Name()}
	if height > 0 {
		o.Value = history.Int(height)
	}
	return o
}

// Crash is never called: reads are not in doubt.
func (r *councilReader) Crash() error { return nil }

// Invoke performs a :status, :validators or :votes.
func (r *councilReader) Invoke(ctx context.Context, o history.Op) history.Op {
	ctx, cancel := context.WithTimeout(ctx, r.patience)
	defer cancel()
	height, _ := o.Value.Int()
	var v history.Value
	var err error
	switch o.F {
	case "status":
		v, err = r.status(ctx)
	case "validators":
		v, err = r.validators(ctx, height)
	default:
		v, err = r.votes(ctx, height)
	}
	if err != nil {
		return conclude(o, client.ReadOutcome(err))
	}
	o.Type, o.Value = history.OK, v
	return o
}

func (r *councilReader) status(ctx context.Context) (history.Value, error) {
	s, err := r.node.Status(ctx)
	if err != nil {
		return history.Value{}, err
	}
	r.height = s.Height
	fields := []history.Value{
		history.Keyword("n"), history.Int(s.Height),
		history.Keyword("h"), history.Text(s.Hash),
		history.Keyword("app"), history.Text(s.App),
		history.Keyword("ts"), history.Int(s.Time.UnixNano()),
		history.Keyword("catching-up"), history.Flag(s.CatchingUp),
	}
	if peers, err := r.node.Peers(ctx); err == nil {
		fields = append(fields, history.Keyword("peers"), history.Int(peers))
	}
	return history.MapOf(fields...), nil
}

func (r *councilReader) validators(ctx context.Context, height int64) (history.Value, error) {
	set, err := r.node.Validators(ctx, height)
	if err != nil {
		return history.Value{}, err
	}
	rows := make([]history.Value, len(set))
	for i, v := range set {
		rows[i] = history.Vec(history.Text(v.Address), history.Int(v.Power))
	}
	return history.MapOf(history.Keyword("n"), history.Int(height), history.Keyword("set"), history.Vec(rows...)), nil
}

// votes reads the commit of a height. Absent votes are without a name in it; the
// validators of the height have one, in the same order.
func (r *councilReader) votes(ctx context.Context, height int64) (history.Value, error) {
	commit, err := r.node.Commit(ctx, height)
	if err != nil {
		return history.Value{}, err
	}
	set, err := r.node.Validators(ctx, height)
	if err != nil {
		return history.Value{}, err
	}
	rows := make([]history.Value, len(commit.Votes))
	for i, v := range commit.Votes {
		var block, ts history.Value
		who := v.Address
		switch v.Vote {
		case client.VoteAbsent:
			if len(set) == len(rows) {
				who = set[i].Address
			}
		case client.VoteFor:
			block = history.Text(commit.Hash)
			fallthrough
		default:
			ts = history.Int(v.Time.UnixNano())
		}
		rows[i] = history.Vec(history.Text(who), history.Keyword(v.Vote), block, ts)
	}
	return history.MapOf(
		history.Keyword("n"), history.Int(height),
		history.Keyword("h"), history.Text(commit.Hash),
		history.Keyword("round"), history.Int(commit.Round),
		history.Keyword("proposer"), history.Text(commit.Proposer),
		history.Keyword("canonical"), history.Flag(commit.Canonical),
		history.Keyword("signed"), history.Vec(rows...)), nil
}

// councilSpan reads the votes of the run from one node.
type councilSpan struct {
	councilReader
	next, last int64
	begun      int // how many of the first ops are done
	failures   int // in a row
	asked      int
	stride     *stride
}

// Interval is as quick as the node.
func (r *councilSpan) Interval() time.Duration { return time.Nanosecond }

// Next returns a :status, the :validators of the first height, and then the :votes
// of each height up to the one that the status told.
func (r *councilSpan) Next() (history.Op, bool) {
	r.begun++
	switch {
	case r.failures >= enoughFailures:
		return history.Op{}, false
	case r.begun == 1:
		return r.op("status", 0), true
	case r.begun == 2:
		r.last = r.height
		return r.op("validators", r.next), true
	case r.next > r.last || r.asked >= 2*r.stride.most:
		return history.Op{}, false
	}
	n := r.next
	r.next += int64(min(r.stride.over(uint64(r.last-n+1)), 1<<62))
	r.asked++
	return r.op("votes", n), true
}

// Invoke counts the failures in a row.
func (r *councilSpan) Invoke(ctx context.Context, o history.Op) history.Op {
	done := r.councilReader.Invoke(ctx, o)
	if r.failures++; done.Type == history.OK {
		r.failures = 0
	}
	return done
}
